-- The claim whose values name groups. Null: signing in changes no groups.
alter table identity_issuer add column groups_claim text;

-- Of a membership that a sign-in gave: where. A later sign-in at that issuer takes it again. Null: any other membership.
alter table directory_member add column identity_issuer_id uuid;
alter table directory_member add constraint directory_member_of_issuer foreign key (account_id, identity_issuer_id)
  references identity_issuer on delete set null (identity_issuer_id);
-- Serves: the deletion of an issuer.
create index directory_member_by_issuer on directory_member (account_id, identity_issuer_id)
  where identity_issuer_id is not null;
