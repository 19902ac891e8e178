-- Terminology
--   instance    one running process of an agent, named by itself; which of them are heard of tells the agent's status
--   generation  of an agent's secret: a token names the one that it was given for, and is refused once there is a newer one
--   allowlist   the places for which a restricted agent may be used

alter table agent
  add column track_name text not null default 'current',
  add column enable_auto_updates boolean not null default false,
  add column restricted_access boolean not null default false,
  -- Whether it is to be given no work, whatever its status: an agent that is silent, or not started, stays paused when it comes.
  add column paused boolean not null default false,
  add column paused_until timestamptz,
  -- Of the instance that said hello last.
  add column agent_version text not null default '',
  -- Null for an agent of before, whose secret was never kept.
  add column secret_sealed bytea,
  add column secret_generation integer not null default 0,
  add column version bigint not null default 1,
  add constraint agent_track_known check (track_name in ('current', 'stable')),
  drop column last_seen_at;

-- Serves: the sweep for agents that are silent, and for those that have nothing left to do.
create index agent_alive on agent (account_id, agent_id) where status in ('running', 'pausing', 'paused', 'stopping');
-- Serves: the sweep for agents whose pause is over.
create index agent_paused on agent (account_id, agent_id) where paused;
-- Serves: the sweep for work that its agent may not run.
create index agent_restricted on agent (account_id, agent_id) where restricted_access;

-- Filled to the half, so that a sign of life finds room beside itself and changes no index.
create table agent_instance (
  account_id uuid not null,
  agent_id uuid not null,
  instance_id uuid not null,
  agent_version text not null,
  -- Null: it never said; it is given work of every kind.
  abilities text[],
  concurrency integer,
  stopping boolean not null default false,
  restart_requested boolean not null default false,
  connected_at timestamptz not null,
  last_seen_at timestamptz not null,
  constraint agent_instance_key primary key (account_id, agent_id, instance_id),
  constraint agent_instance_of_agent foreign key (account_id, agent_id) references agent on delete cascade
) with (fillfactor = 50);

-- A project, or one environment of it, for which a restricted agent may be used.
create table agent_allowed_place (
  account_id uuid not null,
  agent_id uuid not null,
  project_id uuid not null,
  -- Null: every environment.
  environment_name text collate "C",
  constraint agent_allowed_place_once unique nulls not distinct (account_id, agent_id, project_id, environment_name),
  constraint agent_allowed_place_of_agent foreign key (account_id, agent_id) references agent on delete cascade,
  constraint agent_allowed_place_in_project foreign key (account_id, project_id) references project on delete cascade,
  constraint agent_allowed_place_in_environment foreign key (account_id, project_id, environment_name)
    references environment on delete cascade
);

-- Serves: the deletion of a project or an environment.
create index agent_allowed_place_by_project on agent_allowed_place (account_id, project_id, environment_name);
