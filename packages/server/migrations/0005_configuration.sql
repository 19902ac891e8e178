-- Rotation with overlap: the secret before the current one gets tokens until it is over.
alter table credential
  add column previous_secret_digest bytea,
  add column previous_secret_until timestamptz,
  add column last_used_at timestamptz;

-- Serves: the list of credentials, newest first.
create index credential_newest on credential (account_id, created_at desc, credential_id desc);

-- An answer that shows a secret is kept sealed.
alter table idempotency_record add column body_sealed bytea;

create table connection (
  account_id uuid not null,
  project_id uuid not null,
  name text collate "C" not null,
  connection_id uuid not null,
  platform_connection_type text not null,
  auth_provider text not null,
  auth_type text not null,
  -- {connectionProperties?, description?, secretsLocation?}, or null; references to secrets, never secrets
  details jsonb,
  version bigint not null,
  created_by uuid not null,
  created_at timestamptz not null,
  constraint connection_name_taken primary key (account_id, project_id, name),
  constraint connection_of_project foreign key (account_id, project_id) references project on delete cascade
);

create table connection_override (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text collate "C" not null,
  connection_name text collate "C" not null,
  -- {connectionProperties, secretsLocation?}
  overrides jsonb not null,
  created_by uuid not null,
  created_at timestamptz not null,
  constraint connection_override_key primary key (account_id, project_id, environment_name, connection_name),
  constraint connection_override_of_connection foreign key (account_id, project_id, connection_name)
    references connection on delete cascade,
  constraint connection_override_in_environment foreign key (account_id, project_id, environment_name)
    references environment on delete cascade
);

-- Serves: the deletion of a connection.
create index connection_override_by_connection on connection_override (account_id, project_id, connection_name);

-- Serve: the deletion of a project and of an environment, which look for what refers to them.
create index work_by_project on work (account_id, project_id);
create index role_grant_by_project on role_grant (account_id, project_id, environment_name);
create index environment_by_default_agent on environment (account_id, default_agent_id) where default_agent_id is not null;

-- Work knows its environment, so that the end of an environment can end it.
alter table work add column environment_name text collate "C" not null default '';
alter table work alter column environment_name drop default;
