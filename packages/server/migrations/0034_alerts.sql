-- Alert rules of projects, and the alerts that they raised (docs/adr/0061).
--
-- Terminology
--   cause   what raised an alert, such as an execution: a rule raises one alert for a cause

create table alert_rule (
  account_id uuid not null,
  alert_rule_id uuid not null,
  project_id uuid not null,
  name text not null,
  condition_type text not null,
  minutes integer,
  factor double precision,
  environment_name text collate "C",
  pipeline_name text,
  -- No foreign key: without its schedule the rule raises nothing.
  schedule_id uuid,
  webhook_ids uuid[] not null,
  enabled boolean not null,
  -- What happened before raises no alert.
  active_since timestamptz not null,
  last_raised_at timestamptz,
  version bigint not null,
  created_at timestamptz not null,
  constraint alert_rule_key primary key (account_id, alert_rule_id),
  constraint alert_rule_name_taken unique (account_id, project_id, name),
  constraint alert_rule_of_project foreign key (account_id, project_id) references project on delete cascade,
  constraint alert_rule_in_environment foreign key (account_id, project_id, environment_name) references environment on delete cascade
);

-- Serves: the deletion of an environment.
create index alert_rule_by_environment on alert_rule (account_id, project_id, environment_name) where environment_name is not null;
-- Serves: whether an account has rules to judge.
create index alert_rule_enabled on alert_rule (account_id, alert_rule_id) where enabled;
-- Serves: the rules whose conditions come true with time.
create index alert_rule_of_time on alert_rule (account_id, project_id)
  where enabled and condition_type in ('LONGER_THAN', 'LONGER_THAN_USUAL', 'NOT_STARTED');

create table alert (
  account_id uuid not null,
  alert_rule_id uuid not null,
  alert_id uuid not null,
  cause text not null,
  reason text not null,
  environment_name text not null,
  pipeline_name text not null,
  execution_id uuid,
  schedule_id uuid,
  raised_at timestamptz not null,
  -- Serves also retention: its order is that of time.
  constraint alert_key primary key (account_id, alert_id),
  constraint alert_once unique (account_id, alert_rule_id, cause),
  constraint alert_of_rule foreign key (account_id, alert_rule_id) references alert_rule on delete cascade
);

-- Serves: the alerts of a rule, newest first.
create index alert_by_rule on alert (account_id, alert_rule_id, alert_id);

-- How far the rules of an account have read the event log.
create table alert_position (
  account_id uuid not null,
  position bigint not null,
  constraint alert_position_key primary key (account_id)
);

-- Serves: runs that take long or do not start.
create index pipeline_execution_unended on pipeline_execution (account_id, project_id, execution_id)
  where status in ('RUNNING', 'CANCELLING', 'UNKNOWN');
