create table test_execution (
  account_id uuid not null,
  test_execution_id uuid not null,
  project_id uuid not null,
  environment_name text collate "C" not null,
  scope text not null,
  version_name text not null,
  manifest_digest text not null,
  agent_id uuid not null,
  status execution_status not null,
  execution_tag text,
  -- The tag while the tests run, as in pipeline_execution.
  running_tag text,
  shared_artifacts jsonb,
  user_name text,
  message text,
  started_at timestamptz not null,
  finished_at timestamptz,
  constraint test_execution_key primary key (account_id, test_execution_id),
  constraint test_execution_in_project foreign key (account_id, project_id) references project on delete cascade
) with (fillfactor = 70);

-- Serves: the deletion of a project.
create index test_execution_by_project on test_execution (account_id, project_id, test_execution_id);
-- Keeps: an execution tag of tests runs once at a time in an environment.
create unique index test_execution_tag_running
  on test_execution (account_id, project_id, environment_name, running_tag)
  where running_tag is not null;

-- At most a thousand of one execution. `status` is null until the test has ended.
create table test_execution_result (
  account_id uuid not null,
  test_execution_id uuid not null,
  -- The order in which the tests run, from 0.
  ordinal integer not null,
  test_name text not null,
  pipeline_name text not null,
  status text,
  message text,
  expected text,
  actual text,
  duration_ms bigint,
  constraint test_execution_result_key primary key (account_id, test_execution_id, ordinal),
  constraint test_execution_result_of_execution foreign key (account_id, test_execution_id) references test_execution on delete cascade,
  constraint test_execution_result_status_known check (status in ('PASSED', 'FAILED', 'ERRORED', 'CANCELLED'))
) with (fillfactor = 70);
