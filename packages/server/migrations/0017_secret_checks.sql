-- Whether secrets are there, asked of the agents: one check a request, and one part of it for each agent. Places of secrets, never their values.
create table secret_check (
  account_id uuid not null,
  check_id uuid not null,
  project_id uuid not null,
  -- The results but for what the agents find.
  planned jsonb not null,
  created_at timestamptz not null,
  constraint secret_check_key primary key (account_id, check_id),
  constraint secret_check_of_project foreign key (account_id, project_id) references project on delete cascade
);

-- Serves: the deletion of a project.
create index secret_check_by_project on secret_check (account_id, project_id);
-- Serves: the removal of old ones, which come in the order of their making.
create index secret_check_by_age on secret_check using brin (created_at);

create table secret_check_part (
  account_id uuid not null,
  work_id uuid not null,
  check_id uuid not null,
  agent_id uuid not null,
  -- What the agent is asked, and what it finds, in the same order.
  secrets jsonb not null,
  findings jsonb,
  message text,
  state text not null,
  constraint secret_check_part_key primary key (account_id, work_id),
  constraint secret_check_part_of_check foreign key (account_id, check_id) references secret_check on delete cascade,
  constraint secret_check_part_state_known check (state in ('PENDING', 'ANSWERED', 'FAILED', 'FORBIDDEN'))
);

-- Serves: the answer to a request.
create index secret_check_part_by_check on secret_check_part (account_id, check_id);
