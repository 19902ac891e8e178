create type execution_status as enum
  ('RUNNING', 'SUCCESS', 'FAILED', 'CANCELLING', 'CANCELLED', 'FORBIDDEN', 'SKIPPED', 'UNKNOWN');

create table pipeline_execution (
  account_id uuid not null,
  execution_id uuid not null,
  project_id uuid not null,
  environment_name text collate "C" not null,
  pipeline_name text not null,
  pipeline_type text not null,
  version_name text not null,
  manifest_digest text not null,
  agent_id uuid not null,
  status execution_status not null,
  trigger text not null,
  execution_tag text,
  -- The tag while the execution runs. A column, because a predicate over finished_at would make every end an update of all indices.
  running_tag text,
  scalar_variables jsonb not null,
  grid_variables jsonb not null,
  user_name text,
  message text,
  started_at timestamptz not null,
  finished_at timestamptz,
  -- Its order is the time of the start: execution ids are UUIDs of version 7.
  constraint pipeline_execution_key primary key (account_id, execution_id),
  constraint pipeline_execution_in_project foreign key (account_id, project_id) references project on delete cascade
) with (fillfactor = 70);

-- Serves: the executions of one project, newest first.
create index pipeline_execution_by_project on pipeline_execution (account_id, project_id, execution_id);
-- Keeps: an execution tag runs once at a time in an environment.
create unique index pipeline_execution_tag_running
  on pipeline_execution (account_id, project_id, environment_name, running_tag)
  where running_tag is not null;

create table execution_step (
  account_id uuid not null,
  execution_id uuid not null,
  step_id uuid not null,
  -- In the order in which steps are first told, which tells apart those that began in the same millisecond.
  ordinal bigint generated always as identity,
  pipeline_run_id uuid not null,
  name text not null,
  component_type text not null,
  status text not null,
  message text,
  row_count bigint,
  child_pipeline_id uuid,
  child_pipeline_name text,
  started_at timestamptz not null,
  finished_at timestamptz,
  constraint execution_step_key primary key (account_id, execution_id, step_id),
  constraint execution_step_of_execution foreign key (account_id, execution_id) references pipeline_execution on delete cascade
);

-- Serves: the steps of a pipeline or of a child pipeline, in the order of their start.
create index execution_step_by_run on execution_step (account_id, pipeline_run_id, started_at, ordinal);
