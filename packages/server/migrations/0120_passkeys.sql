-- Keys of WebAuthn with which a user signs in.
create table passkey (
  account_id uuid not null,
  passkey_id uuid not null,
  user_id uuid not null,
  name text not null,
  -- As the authenticator names it.
  credential_id bytea not null,
  -- COSE.
  public_key bytea not null,
  sign_count bigint not null,
  transports text[] not null,
  -- Whether other devices of its owner have it too.
  is_synced boolean not null,
  -- When the challenge of its last sign-in was made: only a later one is accepted.
  challenge_at timestamptz,
  created_at timestamptz not null,
  last_used_at timestamptz,
  constraint passkey_key primary key (account_id, passkey_id),
  constraint passkey_credential_taken unique (credential_id),
  constraint passkey_of_user foreign key (account_id, user_id) references directory_user on delete cascade
);
create index passkey_by_user on passkey (account_id, user_id, passkey_id desc);

alter table sign_in_session drop constraint sign_in_session_method_known;
alter table sign_in_session add constraint sign_in_session_method_known check (method in ('LINK', 'ISSUER', 'PASSKEY'));
