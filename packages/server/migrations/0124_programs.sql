-- A session of a program, such as the command line, in which a person signed in. `secret_digest` is then of its current
-- refresh token.
alter table sign_in_session add column client_id text;

-- A program that asks to act as a person: by a device code (RFC 8628), or by an authorization code (RFC 6749).
create table program_authorization (
  authorization_id uuid not null,
  kind text not null,
  client_id text not null,
  status text not null,
  -- Of the device code or the authorization code.
  code_digest bytea not null,
  user_code_digest bytea,
  redirect_uri text,
  code_challenge text,
  -- Of the program.
  address text not null,
  user_agent text not null,
  interval_seconds integer not null,
  last_polled_at timestamptz,
  -- Who approved it, and in which session of a browser.
  account_id uuid,
  user_id uuid,
  browser_session_id uuid,
  -- The session that the program got.
  session_id uuid,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint program_authorization_key primary key (authorization_id),
  constraint program_authorization_code_taken unique (code_digest),
  constraint program_authorization_user_code_taken unique (user_code_digest),
  constraint program_authorization_kind_known check (kind in ('DEVICE', 'CODE')),
  constraint program_authorization_status_known check (status in ('PENDING', 'APPROVED', 'DENIED', 'USED')),
  constraint program_authorization_of_user foreign key (account_id, user_id) references directory_user on delete cascade
);
-- Counts the requests of an address that wait.
create index program_authorization_by_address on program_authorization (address, expires_at) where status = 'PENDING';
-- Retention.
create index program_authorization_by_end on program_authorization (expires_at);
-- Deletes those of a user.
create index program_authorization_by_user on program_authorization (account_id, user_id) where user_id is not null;
