-- What ended runs, tests and turns of AI tasks used, in their own transactions. A periodic job moves these rows into `consumption`.
-- No foreign key: a check of the account would make all ends of runs lock its row.
create table consumption_entry (
  entry_id bigint generated always as identity,
  account_id uuid not null,
  -- Midnight UTC.
  day timestamptz not null,
  project_id uuid not null,
  project_name text not null,
  -- Empty for what belongs to no environment, or to no pipeline.
  environment_name text not null,
  pipeline_name text not null,
  kind text not null,
  runs bigint not null,
  milliseconds bigint not null,
  row_count bigint not null,
  byte_count bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  -- Who started it; null for a schedule.
  user_name text,
  constraint consumption_entry_key primary key (entry_id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- No foreign key to the project: what a deleted project used remains.
create table consumption (
  account_id uuid not null references account on delete cascade,
  day timestamptz not null,
  project_id uuid not null,
  environment_name text not null,
  pipeline_name text not null,
  kind text not null,
  runs bigint not null,
  milliseconds bigint not null,
  row_count bigint not null,
  byte_count bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  -- By the prices at the time of counting.
  credits numeric not null,
  -- Also the order of the list.
  constraint consumption_key primary key (account_id, day, project_id, environment_name, pipeline_name, kind)
) with (fillfactor = 70);

-- The sum of a project in a month, for its budget, and its last name.
create table consumption_month (
  account_id uuid not null references account on delete cascade,
  -- Midnight UTC of the first day.
  month timestamptz not null,
  project_id uuid not null,
  project_name text not null,
  credits numeric not null,
  constraint consumption_month_key primary key (account_id, month, project_id)
) with (fillfactor = 70);

create table consumption_user (
  account_id uuid not null references account on delete cascade,
  day timestamptz not null,
  user_name text not null,
  constraint consumption_user_key primary key (account_id, day, user_name)
);

create table budget (
  account_id uuid not null,
  project_id uuid not null,
  budget_id uuid not null,
  monthly_credits double precision not null,
  -- Parts of `monthly_credits`. Without `stop_at` nothing is stopped.
  warn_at double precision not null,
  stop_at double precision,
  lifted_until timestamptz,
  -- The last month for which the event was written.
  warned_month timestamptz,
  exceeded_month timestamptz,
  version bigint not null,
  constraint budget_key primary key (account_id, project_id),
  constraint budget_of_project foreign key (account_id, project_id) references project on delete cascade,
  constraint budget_order check (stop_at >= warn_at)
);
