-- Schedules and their runs (docs/adr/0058).
--
-- Terminology
--   tick      a time at which a schedule is due; the logical time of the run that it causes
--   timetable the cron expression or interval with its time zone and first time: which ticks there are
--   problem   why the last tick could not run

create table schedule (
  account_id uuid not null,
  -- Its order is the order of creation: ids are UUIDs of version 7.
  schedule_id uuid not null,
  project_id uuid not null,
  environment_name text collate "C" not null,
  name text not null,
  -- With its extension.
  pipeline_name text not null,
  -- Null: the newest enabled version at each tick.
  version_name text,
  -- Null: the default agent of the environment at each tick. No foreign key: the schedule outlives the agent and says so.
  agent_id uuid,
  cron_expression text,
  interval_length integer,
  interval_unit text,
  cron_timezone text not null,
  effective_from timestamptz,
  enabled boolean not null,
  allows_concurrent boolean not null,
  scalar_variables jsonb not null,
  grid_variables jsonb not null,
  -- The principal with whose rights it runs.
  written_by uuid not null,
  -- Null while it is disabled, and after its last tick.
  next_tick_at timestamptz,
  -- The newest tick that was handled. Ticks only move forward, also when a clock is set back.
  last_tick_at timestamptz,
  -- The start of its newest run.
  last_run_at timestamptz,
  problem_code text,
  problem_detail text,
  problem_since timestamptz,
  -- Counts writes, not ticks.
  version bigint not null,
  created_at timestamptz not null,
  constraint schedule_key primary key (account_id, schedule_id),
  constraint schedule_name_taken unique (account_id, project_id, name),
  constraint schedule_of_project foreign key (account_id, project_id) references project on delete cascade,
  constraint schedule_in_environment foreign key (account_id, project_id, environment_name)
    references environment on delete cascade,
  constraint schedule_of_one_expression check (num_nonnulls(cron_expression, interval_length) = 1),
  constraint schedule_interval_whole check ((interval_length is null) = (interval_unit is null)),
  constraint schedule_problem_whole check (num_nonnulls(problem_code, problem_detail, problem_since) in (0, 3))
  -- Each tick is an update of all indices, so there are few. The one of the names serves also the list of a project and the deletion of an
  -- environment: a project has a limited number of schedules.
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- Serves: the schedules whose tick has come.
create index schedule_due on schedule (next_tick_at) where next_tick_at is not null;

-- Their runs. `schedule_tick`: the tick, or null for a run that somebody started. `backfill_id`: null unless a backfill started it.
-- No foreign keys: runs outlive their schedule.
alter table pipeline_execution
  add column schedule_id uuid,
  add column schedule_tick timestamptz,
  add column backfill_id uuid;

-- Serves: the newest runs of a schedule with each status, and whether one has not ended.
create index pipeline_execution_by_schedule
  on pipeline_execution (account_id, schedule_id, status, execution_id) where schedule_id is not null;
