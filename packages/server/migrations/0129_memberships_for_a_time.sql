-- Who added a member, when and why, and when the membership ends. Null for memberships from before, and for no end.
alter table directory_member add column added_by uuid;
alter table directory_member add column added_at timestamptz;
alter table directory_member add column expires_at timestamptz;
alter table directory_member add column reason text;

-- Serves: the groups of a user, and with them the user's rights.
drop index directory_member_by_user;
create index directory_member_by_user on directory_member (account_id, user_id, group_id) include (expires_at);
-- Serves: the removal of ended memberships.
create index directory_member_by_end on directory_member (expires_at) where expires_at is not null;

alter table role_grant add column added_by uuid;
alter table role_grant add column added_at timestamptz;
