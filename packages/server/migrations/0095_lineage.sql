-- Names the environment in lineage, where another one of the same name, created later, is another environment.
alter table environment add column environment_id uuid not null default gen_random_uuid();
alter table deleted_environment add column environment_id uuid;

-- What steps read and wrote, as their agent reported it, until the run of their pipeline ends.
create table step_lineage (
  account_id uuid not null,
  execution_id uuid not null,
  step_id uuid not null,
  pipeline_run_id uuid not null,
  ordinal bigint not null generated always as identity,
  -- A StepLineage without the ids.
  lineage jsonb not null,
  characters integer not null,
  constraint step_lineage_key primary key (account_id, execution_id, step_id),
  constraint step_lineage_of_execution foreign key (account_id, execution_id) references pipeline_execution on delete cascade
);

-- The start and the end of each run of a pipeline. Like events, they outlive their project.
create table lineage_event (
  account_id uuid not null,
  generated_at timestamptz not null,
  sequence bigint not null generated always as identity,
  run_id uuid not null,
  event_type text not null constraint lineage_event_type check (event_type in ('START', 'COMPLETE', 'FAIL', 'ABORT')),
  -- A LineageRecord.
  record jsonb not null,
  -- A successful run whose lineage is not in the graph yet.
  is_new boolean not null,
  -- The key is also the order of the list.
  constraint lineage_event_key primary key (account_id, generated_at, sequence)
);
-- One start and one end.
create unique index lineage_event_once on lineage_event (account_id, run_id, (event_type = 'START'));
-- Serves: the runs for the graph, oldest first.
create index lineage_event_new on lineage_event (sequence) where is_new;

-- The graph: the latest successful run of each pipeline in an environment. Names of pipelines, datasets and columns may be longer than an
-- index takes, so their digests are in the keys.
create table pipeline_lineage (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  pipeline_name text collate "C" not null,
  pipeline_key text collate "C" not null generated always as (md5(pipeline_name)) stored,
  run_id uuid not null,
  -- The execution of which the run is a part.
  execution_id uuid not null,
  version_name text not null,
  finished_at timestamptz not null,
  -- Of what is in the two tables below, without numbers of rows.
  digest text not null,
  constraint pipeline_lineage_key primary key (account_id, project_id, environment_name, pipeline_key),
  constraint pipeline_lineage_in_environment foreign key (account_id, project_id, environment_name) references environment on delete cascade
);

-- A dataset that a pipeline reads or writes.
create table dataset_use (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  pipeline_key text collate "C" not null,
  is_write boolean not null,
  -- The kind and the name, such as warehouse:sales.orders.
  dataset text collate "C" not null,
  dataset_key text collate "C" not null generated always as (md5(dataset)) stored,
  -- All columns of the dataset as DatasetFields, or null if they are not known.
  fields jsonb,
  row_count bigint,
  constraint dataset_use_key primary key (account_id, project_id, environment_name, pipeline_key, is_write, dataset_key),
  constraint dataset_use_of_pipeline foreign key (account_id, project_id, environment_name, pipeline_key)
    references pipeline_lineage on delete cascade
);
-- Serves: who reads or writes a dataset; the list of datasets.
create index dataset_use_by_dataset on dataset_use (account_id, project_id, environment_name, dataset_key, is_write, pipeline_key);

-- A column from which a pipeline derives another one, or with which it decides which rows of a dataset it writes.
create table column_use (
  account_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  pipeline_key text collate "C" not null,
  dataset text collate "C" not null,
  field text collate "C" not null,
  dataset_key text collate "C" not null generated always as (md5(dataset)) stored,
  field_key text collate "C" not null generated always as (md5(field)) stored,
  to_dataset text collate "C" not null,
  -- Null if the column decides about rows.
  to_field text collate "C",
  to_dataset_key text collate "C" not null generated always as (md5(to_dataset)) stored,
  to_field_key text collate "C" generated always as (md5(to_field)) stored,
  -- Null if the column decides about rows.
  transformation text,
  constraint column_use_of_pipeline foreign key (account_id, project_id, environment_name, pipeline_key)
    references pipeline_lineage on delete cascade
);
create index column_use_by_pipeline on column_use (account_id, project_id, environment_name, pipeline_key);
-- Serve: what a column leads to, and where it comes from.
create index column_use_by_source on column_use (account_id, project_id, environment_name, dataset_key, field_key);
create index column_use_by_target on column_use (account_id, project_id, environment_name, to_dataset_key, to_field_key);

-- OpenLineage events.
alter table webhook drop constraint webhook_format,
  add constraint webhook_format check (format in ('json', 'slack', 'teams', 'openlineage'));
-- Serves: whether lineage is forwarded.
create index webhook_of_lineage on webhook (account_id) where format = 'openlineage';
