-- Definitions of streaming pipelines. No version runs them yet.

create table streaming_pipeline (
  account_id uuid not null,
  project_id uuid not null,
  -- Its order is the order of creation: ids are UUIDs of version 7.
  streaming_pipeline_id uuid not null,
  name text not null,
  -- No foreign key: the definition outlives the agent and says so.
  agent_id uuid,
  -- As in responses.
  source jsonb not null,
  target jsonb not null,
  advanced_properties jsonb,
  status text not null,
  -- Counts writes of the definition.
  version bigint not null,
  created_at timestamptz not null,
  -- Serves also the list of a project.
  constraint streaming_pipeline_key primary key (account_id, project_id, streaming_pipeline_id),
  constraint streaming_pipeline_name_taken unique (account_id, project_id, name),
  constraint streaming_pipeline_of_project foreign key (account_id, project_id) references project on delete cascade,
  constraint streaming_pipeline_status_known check (status in ('stopped', 'running'))
);
