-- Connector profiles of accounts, OAuth configurations of projects, and tests of endpoints.

create table connector_profile (
  account_id uuid not null references account on delete cascade,
  kind text not null,
  -- Its order is the order of creation: ids are UUIDs of version 7.
  profile_id uuid not null,
  alternate_id text not null,
  name text not null,
  -- JSON as it was written, without the members that the server sets. Text, because jsonb would order its members.
  profile text not null,
  -- Of `profile` in UTF-8.
  bytes integer not null,
  -- The OAuth configurations that it names.
  oauth_names text[] not null,
  -- Counts writes.
  version bigint not null,
  last_modified timestamptz not null,
  deleted_at timestamptz,
  -- Serves also the list.
  constraint connector_profile_key primary key (account_id, kind, profile_id),
  constraint connector_profile_kind_known check (kind in ('flex', 'custom'))
);
-- A deleted profile leaves its names to others.
create unique index connector_profile_name_taken on connector_profile (account_id, kind, name)
  where deleted_at is null;
create unique index connector_profile_alternate_id_taken on connector_profile (account_id, kind, alternate_id)
  where deleted_at is null;

create table connector_oauth (
  account_id uuid not null,
  project_id uuid not null,
  -- Its order is the order of creation, in which the list shows them.
  connector_oauth_id uuid not null,
  name text not null,
  grant_type text not null,
  authorization_url text,
  token_url text not null,
  scopes text[] not null,
  -- The public id of the client.
  client_id text,
  -- Names of secret references. No foreign keys: a reference may be deleted by force, and the configuration outlives it.
  client_secret_reference text,
  token_secret_reference text,
  agent_id uuid,
  additional_parameters jsonb,
  state text not null,
  authorized_at timestamptz,
  -- Why an agent could not get a token.
  problem text,
  created_by uuid not null,
  created_at timestamptz not null,
  constraint connector_oauth_key primary key (account_id, project_id, connector_oauth_id),
  constraint connector_oauth_taken unique (account_id, project_id, name),
  constraint connector_oauth_of_project foreign key (account_id, project_id) references project on delete cascade,
  constraint connector_oauth_grant_known check (grant_type in ('CLIENT_CREDENTIALS', 'AUTHORIZATION_CODE')),
  constraint connector_oauth_state_known check (state in ('PENDING', 'AUTHORIZED'))
);

-- An authorization under way: at most one for each configuration.
create table connector_authorization (
  account_id uuid not null,
  project_id uuid not null,
  connector_oauth_id uuid not null,
  -- SHA-256 of the state in the address, which is in no table.
  state_digest bytea not null,
  -- The verifier of PKCE, and the code once the provider has sent it; sealed by the master key.
  sealed_grant bytea not null,
  -- The caller that began it. Checked again when the browser comes back.
  principal_id uuid not null,
  user_credential_id uuid,
  -- The exchange by an agent; null until the browser comes back.
  work_id uuid,
  expires_at timestamptz not null,
  constraint connector_authorization_key primary key (account_id, project_id, connector_oauth_id),
  constraint connector_authorization_of_oauth foreign key (account_id, project_id, connector_oauth_id)
    references connector_oauth on delete cascade,
  constraint connector_authorization_state unique (state_digest)
);
-- Serves: the claim and the end of the exchange.
create unique index connector_authorization_by_work on connector_authorization (account_id, work_id)
  where work_id is not null;
-- Serves: the removal of those that expired.
create index connector_authorization_by_age on connector_authorization (expires_at);

-- Tests of endpoints, asked of agents. Names of secrets, never their values.
create table connector_test (
  account_id uuid not null,
  work_id uuid not null,
  project_id uuid not null,
  profile_name text not null,
  -- What the agent is sent, a ConnectorTestWork as JSON.
  request text not null,
  state text not null,
  -- What the agent answered, a ConnectorTestResult as JSON. Text, because jsonb takes no NUL.
  result text,
  message text,
  created_at timestamptz not null,
  constraint connector_test_key primary key (account_id, work_id),
  constraint connector_test_of_project foreign key (account_id, project_id) references project on delete cascade,
  constraint connector_test_state_known check (state in ('PENDING', 'ANSWERED', 'FAILED', 'FORBIDDEN'))
);
-- Serves: the deletion of a project.
create index connector_test_by_project on connector_test (account_id, project_id);
-- Serves: the removal of old ones, which come in the order of their making.
create index connector_test_by_age on connector_test using brin (created_at);
