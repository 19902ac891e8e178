-- The kernel: who there is, who may what, what happened, what is under way.
--
-- Terminology
--   account    a tenant; every table of an account carries account_id in its keys and foreign keys, so that no row crosses accounts
--   actor      who acts: a credential (a program or person) or an agent
--   standing   what an actor is to a project: see rights()
--   work       something that an agent is to do, held by a lease with an epoch

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

-- What happened. It outlives what it is about: no foreign key but to the account.
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
  constraint event_key primary key (account_id, occurred_at, event_id),
  constraint event_of_account foreign key (account_id) references account on delete cascade
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

create table work (
  account_id uuid not null,
  work_id uuid not null,
  project_id uuid not null,
  agent_id uuid not null,
  kind text not null,
  state text not null,
  epoch integer not null default 0,
  instance_id uuid,
  report_sequence integer not null default 0,
  lease_expires_at timestamptz,
  silent_since timestamptz,
  command text,
  command_bound timestamptz,
  run_bound timestamptz,
  created_at timestamptz not null,
  queued_at timestamptz not null,
  ended_at timestamptz,
  constraint work_key primary key (account_id, work_id),
  constraint work_in_project foreign key (account_id, project_id) references project on delete cascade,
  constraint work_for_agent foreign key (account_id, agent_id) references agent (account_id, agent_id) on delete cascade,
  constraint work_state_known check (state in ('queued', 'held', 'silent', 'ended')),
  constraint work_command_known check (command in ('cancel', 'force-cancel'))
) with (fillfactor = 70);

-- Serves: an agent's claim, oldest first.
create index work_queued on work (account_id, agent_id, created_at, work_id) where state = 'queued';
-- Serves: the sweep for leases that ran out, graces and bounds that passed; what is under way is little.
create index work_under_way on work (lease_expires_at) where state in ('held', 'silent');
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

-- The first statement of every write: refuses it by an error, so that what is already queued behind it in the pipeline does nothing.
-- The project may still be deleted before the commit: the foreign keys of what is written, or its row locks, order the two.
-- Errors: HG401 inactive, HG404 unknown project, HG403 forbidden, HG409 the key is in use, HG200 the key has an answer to be replayed.
create function enter_write(
  for_account uuid, for_credential uuid, in_project uuid, in_environment text,
  account_roles text[], project_roles text[], environment_roles text[], at timestamptz, key bytea
) returns text
language plpgsql as $$
declare
  found_standing text;
  found_role text;
begin
  select r.standing, r.account_role into found_standing, found_role
  from rights(for_account, for_credential, in_project, in_environment, account_roles, project_roles, environment_roles, at) r;
  if found_standing <> 'permitted' then
    raise exception using
      errcode = case found_standing when 'inactive' then 'HG401' when 'unknown' then 'HG404' else 'HG403' end,
      message = found_standing;
  end if;
  if key is not null then
    if not pg_try_advisory_xact_lock(hashtextextended(encode(key, 'hex'), 0)) then
      raise exception using errcode = 'HG409', message = 'idempotency key in use';
    end if;
    if exists (select from idempotency_record i where i.account_id = for_account and i.key_digest = key and i.expires_at > at) then
      raise exception using errcode = 'HG200', message = 'idempotency key has an answer';
    end if;
  end if;
  return found_role;
end $$;
