-- Executions that continue where another one ended, and attempts of components.

-- `restart`: what a restart needs to know of the step.
alter table execution_step add column attempt integer, add column restart jsonb;

-- `restart`: the plan with which the agent continues. `agent_lost`: the agent did not report the end, so steps may have run that are not known.
alter table pipeline_execution
  add column restart_of uuid,
  add column restart jsonb,
  add column agent_lost boolean not null default false;

-- What an instance must be able to do beside the kind of the work; null if nothing.
alter table work add column ability text;

-- Keeps: an execution is restarted once, so that the record of what ran is one chain.
create unique index pipeline_execution_restarted_once on pipeline_execution (account_id, restart_of) where restart_of is not null;
