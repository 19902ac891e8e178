-- Runs explain themselves: the log, the variables, the statements and the progress of steps, and who started and cancelled.

-- The statements as they were run, with secrets masked, and how far a running step is.
alter table execution_step add column sql text, add column progress jsonb;

-- What the steps of an execution print.
create table execution_log_line (
  account_id uuid not null,
  execution_id uuid not null,
  -- Numbered by the agent in the order of printing.
  sequence integer not null,
  step_id uuid not null,
  pipeline_run_id uuid not null,
  stream text not null,
  printed_at timestamptz not null,
  line text not null,
  constraint execution_log_line_key primary key (account_id, execution_id, sequence),
  constraint execution_log_line_of_execution foreign key (account_id, execution_id) references pipeline_execution on delete cascade
);

-- The variables with which each pipeline of an execution started.
create table execution_variables (
  account_id uuid not null,
  execution_id uuid not null,
  pipeline_run_id uuid not null,
  -- Sorted by name.
  variables jsonb not null,
  constraint execution_variables_key primary key (account_id, execution_id, pipeline_run_id),
  constraint execution_variables_of_execution foreign key (account_id, execution_id) references pipeline_execution on delete cascade
);

-- The credential that asked for the work, which must still have the permission when an agent claims it; null if that is not checked.
alter table work add column requested_by uuid;
-- The name of the caller that sent the command.
alter table work add column command_by text;

-- Serves: the newest executions of each pipeline in each environment with each status, and so every filter of the list: the distinct places are
-- few, and each is one lookup. Also the deletion of a project.
create index pipeline_execution_by_place
  on pipeline_execution (account_id, project_id, environment_name, pipeline_name, status, execution_id);
drop index pipeline_execution_by_project;
