-- Git: a project's repository, delivery from its branches, and migrations to another host.
--
-- Terminology
--   repository  where a project's files are kept: hosted here (provider 'headgate'), or on another host
--   credential  what the server shows to the other host; sealed, and bound to the origin it was made for
--   rule        a branch whose pushes are published in an environment
--   migration   the move of a repository to another address; server work with a lease and an epoch

create table enterprise_oauth (
  account_id uuid not null references account on delete cascade,
  enterprise_oauth_id uuid not null,
  name text not null,
  provider text not null,
  -- Null: the operator's address of the provider.
  base_url text,
  client_id text not null,
  tenant_id text,
  installation_id text,
  -- The client secret and the private key.
  sealed_secrets bytea not null,
  version bigint not null,
  created_by uuid not null,
  created_at timestamptz not null,
  constraint enterprise_oauth_key primary key (account_id, enterprise_oauth_id),
  constraint enterprise_oauth_name unique (account_id, name),
  constraint enterprise_oauth_provider check (provider in ('github', 'gitlab', 'azure-devops'))
);

create table repository (
  account_id uuid not null,
  project_id uuid not null,
  provider text not null,
  repository_name text not null,
  -- Null for a repository that is hosted here.
  clone_url text,
  provider_parameters jsonb not null,
  -- Null until it is known.
  default_branch text,
  protected_branches text[],
  enterprise_oauth_id uuid,
  sealed_credential bytea,
  -- Scheme, host and port that the credential may be sent to.
  credential_origin text,
  credential_expires_at timestamptz,
  sealed_hook_secret bytea,
  version bigint not null,
  created_by uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint repository_key primary key (account_id, project_id),
  constraint repository_project foreign key (account_id, project_id) references project on delete cascade,
  constraint repository_oauth foreign key (account_id, enterprise_oauth_id) references enterprise_oauth,
  constraint repository_provider check (provider in ('github', 'gitlab', 'azure-devops', 'git', 'headgate')),
  constraint repository_address check ((provider = 'headgate') = (clone_url is null))
);

-- Serves: the deletion of a connection, which names the projects that use it.
create index repository_of_oauth on repository (account_id, enterprise_oauth_id) where enterprise_oauth_id is not null;

-- A hosted repository whose association or project was deleted; its folder is kept for 30 days.
-- No foreign key: it outlives its project.
create table dropped_repository (
  account_id uuid not null,
  project_id uuid not null,
  folder text not null,
  repository_name text not null,
  dropped_at timestamptz not null,
  constraint dropped_repository_key primary key (folder)
);

-- Serves: retention.
create index dropped_repository_age on dropped_repository (dropped_at);

create table delivery_rule (
  account_id uuid not null,
  project_id uuid not null,
  branch_name text not null,
  environment_name text not null,
  -- The principal that wrote it last. No foreign key: the rule outlives it, and then says that it publishes nothing.
  written_by uuid not null,
  written_at timestamptz not null,
  -- The commit that was last published, or refused.
  commit_hash text,
  published_at timestamptz,
  version_name text,
  problem text,
  -- When a server looks at the branch again, and who is doing it now.
  due_at timestamptz not null,
  -- Who pushed to a hosted branch; the publication has this principal's rights.
  pushed_by uuid,
  lease_until timestamptz,
  epoch bigint not null default 0,
  constraint delivery_rule_key primary key (account_id, project_id, branch_name, environment_name),
  constraint delivery_rule_repository foreign key (account_id, project_id) references repository on delete cascade
);

-- Serves: the rules that are due.
create index delivery_rule_due on delivery_rule (due_at);

-- Deliveries of providers' webhooks, so that one cannot be replayed.
create table git_hook_delivery (
  account_id uuid not null,
  project_id uuid not null,
  delivery_id text not null,
  received_at timestamptz not null,
  constraint git_hook_delivery_key primary key (account_id, project_id, delivery_id),
  constraint git_hook_delivery_repository foreign key (account_id, project_id) references repository on delete cascade
);

-- Serves: retention.
create index git_hook_delivery_age on git_hook_delivery (received_at);

create table repository_migration (
  account_id uuid not null,
  project_id uuid not null,
  migration_id uuid not null,
  mode text not null,
  status text not null,
  phase text not null,
  target_provider text not null,
  target_name text not null,
  target_clone_url text not null,
  provider_parameters jsonb not null,
  enterprise_oauth_id uuid,
  overwrite boolean not null,
  -- The token of the target, as it was given or, once it was rotated, the new one.
  sealed_token bytea,
  token_rotation text,
  token_expires_at timestamptz,
  percent smallint not null default 0,
  bytes bigint not null default 0,
  detail text,
  code text,
  report jsonb,
  requested_by uuid not null,
  created_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz,
  epoch bigint not null default 0,
  lease_until timestamptz,
  constraint repository_migration_key primary key (account_id, project_id, migration_id),
  constraint repository_migration_project foreign key (account_id, project_id) references project on delete cascade,
  constraint repository_migration_mode check (mode in ('MIRROR_PUSH', 'RECONFIGURE')),
  constraint repository_migration_status check (status in ('IN_PROGRESS', 'COMPLETED', 'FAILED')),
  constraint repository_migration_rotation check (token_rotation in ('rotating', 'rotated', 'stored'))
);

-- The lock: one migration a project.
create unique index repository_migration_lock on repository_migration (account_id, project_id) where status = 'IN_PROGRESS';

-- Serves: migrations that wait, and those of a server that died.
create index repository_migration_due on repository_migration (lease_until nulls first) where status = 'IN_PROGRESS';

-- Fingerprints of tokens that were used up: a second use would revoke the whole family at the provider.
create table git_token_seen (
  account_id uuid not null references account on delete cascade,
  fingerprint bytea not null,
  seen_at timestamptz not null,
  constraint git_token_seen_key primary key (account_id, fingerprint)
);

-- Serves: retention.
create index git_token_seen_age on git_token_seen (seen_at);
