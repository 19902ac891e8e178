-- The kernel: who there is, who may what, what happened, what is under way.
--
-- Terminology
--   account    a tenant; every table of an account carries account_id in its keys and foreign keys, so that no row crosses accounts
--   actor      who acts: a credential (a program or person) or an agent
--   standing   what an actor is to a project: see rights()
--   work       something that an agent is to do, held by a lease with an epoch
--
-- The words of a column that requests write all the time are an enum type, not a CHECK, whose text PostgreSQL would read anew for each
-- statement (docs/adr/0014).

create table account (
  account_id uuid not null,
  name text not null,
  created_at timestamptz not null,
  constraint account_key primary key (account_id),
  constraint account_name_taken unique (name)
);

create table credential (
  account_id uuid not null,
  credential_id uuid not null,
  name text not null,
  client_id text not null,
  secret_digest bytea not null,
  account_role text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  constraint credential_key primary key (account_id, credential_id),
  constraint credential_client_id_taken unique (client_id),
  constraint credential_of_account foreign key (account_id) references account on delete cascade,
  constraint credential_account_role_known check (account_role in ('SUPER_ADMIN', 'ADMIN', 'BILLING_ADMIN', 'MEMBER', 'DIRECTORY'))
);

create table signing_key (
  key_id text not null,
  public_key jsonb not null,
  private_key_sealed bytea not null,
  created_at timestamptz not null,
  constraint signing_key_key primary key (key_id)
);

create table agent (
  account_id uuid not null,
  agent_id uuid not null,
  name text not null,
  description text not null,
  agent_type text not null,
  cloud_provider text not null,
  deployment text not null,
  status text not null,
  client_id text not null,
  secret_digest bytea not null,
  last_seen_at timestamptz,
  created_at timestamptz not null,
  constraint agent_key primary key (account_id, agent_id),
  constraint agent_name_taken unique (account_id, name),
  constraint agent_client_id_taken unique (client_id),
  constraint agent_of_account foreign key (account_id) references account on delete cascade,
  constraint agent_status_known check (status in ('pending', 'running', 'unknown', 'stopping', 'stopped', 'pausing', 'paused'))
);

create table project (
  account_id uuid not null,
  project_id uuid not null,
  name text not null,
  description text,
  warehouse text not null,
  agent_deployment_type text not null,
  version bigint not null,
  created_at timestamptz not null,
  constraint project_key primary key (account_id, project_id),
  constraint project_name_taken unique (account_id, name),
  constraint project_of_account foreign key (account_id) references account on delete cascade
);

create table environment (
  account_id uuid not null,
  project_id uuid not null,
  name text collate "C" not null,
  display_name text,
  description text,
  default_agent_id uuid,
  default_user_access_level text not null,
  version bigint not null,
  created_at timestamptz not null,
  constraint environment_key primary key (account_id, project_id, name),
  constraint environment_of_project foreign key (account_id, project_id) references project on delete cascade,
  constraint environment_default_agent foreign key (account_id, default_agent_id) references agent (account_id, agent_id)
    on delete set null (default_agent_id)
);

-- A role of a credential in a project, or in one environment of it.
create table role_grant (
  account_id uuid not null,
  credential_id uuid not null,
  project_id uuid not null,
  environment_name text collate "C",
  role text not null,
  constraint role_grant_once unique nulls not distinct (account_id, credential_id, project_id, environment_name, role),
  constraint role_grant_of_credential foreign key (account_id, credential_id) references credential on delete cascade,
  constraint role_grant_in_project foreign key (account_id, project_id) references project on delete cascade,
  constraint role_grant_in_environment foreign key (account_id, project_id, environment_name)
    references environment on delete cascade,
  constraint role_grant_role_known check (role in ('OWNER', 'CONTRIBUTOR', 'VIEWER', 'OPERATOR')),
  constraint role_grant_operator_in_environment check (role <> 'OPERATOR' or environment_name is not null)
);

-- How many rows a project has of a kind, spread over slots so that writers do not queue for one row.
create table project_counter (
  account_id uuid not null,
  project_id uuid not null,
  kind text not null,
  slot smallint not null,
  count bigint not null,
  constraint project_counter_key primary key (account_id, project_id, kind, slot),
  constraint project_counter_of_project foreign key (account_id, project_id) references project on delete cascade
) with (fillfactor = 50);

-- What happened. It outlives what it is about, so it has no foreign keys; that to the account, which is never deleted, would lock the
-- account's row for every write (docs/adr/0014).
create table event (
  account_id uuid not null,
  occurred_at timestamptz not null,
  event_id uuid not null,
  transaction_id xid8 not null default pg_current_xact_id(),
  name text not null,
  actor_id uuid,
  actor_kind text not null,
  request_id uuid,
  project_id uuid,
  subject_type text not null,
  subject_id text not null,
  subject_name text,
  state_before jsonb,
  state_after jsonb,
  constraint event_key primary key (account_id, occurred_at, event_id)
);

-- The committed answer to a POST that carried an Idempotency-Key; digests are keyed, so the table tells nothing about requests.
create table idempotency_record (
  account_id uuid not null,
  key_digest bytea not null,
  request_digest bytea not null,
  status smallint not null,
  headers jsonb not null,
  body text,
  expires_at timestamptz not null,
  constraint idempotency_record_key primary key (account_id, key_digest)
);

-- Serves: the removal of expired records. They come in the order of their expiry: block ranges say enough, and cost a write nothing.
create index idempotency_record_by_expiry on idempotency_record using brin (expires_at);

create type work_state as enum ('queued', 'held', 'silent', 'ended');
create type work_command as enum ('cancel', 'force-cancel');

create table work (
  account_id uuid not null,
  work_id uuid not null,
  project_id uuid not null,
  agent_id uuid not null,
  kind text not null,
  -- What it is about, as its events name it: a pipeline.
  name text not null,
  state work_state not null,
  epoch integer not null default 0,
  instance_id uuid,
  report_sequence integer not null default 0,
  lease_expires_at timestamptz,
  silent_since timestamptz,
  command work_command,
  command_bound timestamptz,
  run_bound timestamptz,
  created_at timestamptz not null,
  queued_at timestamptz not null,
  ended_at timestamptz,
  constraint work_key primary key (account_id, work_id),
  constraint work_in_project foreign key (account_id, project_id) references project on delete cascade,
  constraint work_for_agent foreign key (account_id, agent_id) references agent (account_id, agent_id) on delete cascade
) with (fillfactor = 70);

-- Serves: an agent's claim, oldest first.
create index work_queued on work (account_id, agent_id, created_at, work_id) where state = 'queued';
-- Serves: the sweep for leases that ran out, graces and bounds that passed. What is under way is little; with the lease in it, each sign
-- of life would be an update of all indices.
create index work_under_way on work (account_id, work_id) where state in ('held', 'silent');
-- Serves: the commands for an agent.
create index work_commanded on work (account_id, agent_id) where command is not null and state in ('held', 'silent');
-- Serves: the removal of ended work.
create index work_ended on work (ended_at) where state = 'ended';

-- What an actor is to a project, for one operation whose permission is given as three lists of roles.
-- standing: 'inactive' (no such actor any more), 'unknown' (no such project, or no role in it), 'forbidden', 'permitted'.
-- Without a project only the account role counts. Without an environment a role in any environment is enough: the operation checks each.
-- Plain SQL, so that the planner inlines it into the one statement of a read.
create function rights(
  for_account uuid, for_credential uuid, in_project uuid, in_environment text,
  account_roles text[], project_roles text[], environment_roles text[], at timestamptz
) returns table (standing text, account_role text)
language sql stable as $$
  select
    case
      when actor.account_role is null then 'inactive'
      when in_project is null then
        case when actor.account_role = any (account_roles) then 'permitted' else 'forbidden' end
      when not exists (select from project where project.account_id = for_account and project.project_id = in_project) then 'unknown'
      when actor.account_role = any (account_roles) then 'permitted'
      when exists (
        select from role_grant g
        where g.account_id = for_account and g.credential_id = for_credential and g.project_id = in_project
          and case when g.environment_name is null then g.role = any (project_roles)
                   else g.role = any (environment_roles) and (in_environment is null or g.environment_name = in_environment) end
      ) then 'permitted'
      when actor.account_role = 'SUPER_ADMIN' or exists (
        select from role_grant g
        where g.account_id = for_account and g.credential_id = for_credential and g.project_id = in_project
      ) then 'forbidden'
      else 'unknown'
    end,
    actor.account_role
  from (select) as one
  left join credential actor
    on actor.account_id = for_account and actor.credential_id = for_credential
    and actor.revoked_at is null and (actor.expires_at is null or actor.expires_at > at)
$$;

-- Ends a transaction with the SQLSTATE, so that what is already queued behind in the pipeline does nothing.
create function refuse(sqlstate_told text) returns text
language plpgsql volatile as $$
begin
  raise exception using errcode = sqlstate_told, message = 'refused';
end $$;
