-- Bearer tokens that users make for their programs. The token is shown once.
create table personal_token (
  account_id uuid not null,
  personal_token_id uuid not null,
  user_id uuid not null,
  name text not null,
  secret_digest bytea not null,
  -- Null: the token is not narrowed; it has all rights of its user.
  account_role text,
  -- Roles in projects and environments: [{"projectId", "environmentName", "role"}]. They count only with account_role.
  roles jsonb not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  last_used_at timestamptz,
  constraint personal_token_key primary key (account_id, personal_token_id),
  constraint personal_token_secret_taken unique (secret_digest),
  constraint personal_token_of_user foreign key (account_id, user_id) references directory_user on delete cascade
);
-- Lists the tokens of a user.
create index personal_token_by_user on personal_token (account_id, user_id, personal_token_id desc);
-- To refuse the deletion of a custom role that a token names.
create index personal_token_by_role on personal_token using gin (roles jsonb_path_ops);
