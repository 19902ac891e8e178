-- AI tasks.
--
-- Terminology
--   task     durable work of servers: one server at a time holds it, by an epoch and a lease
--   turn     one request to the model, and its answer; a row before the request and after the answer
--   call     one use of a tool that an answer asked for; a row before the tool runs and after
--   grant    a tool that runs without a decision
--   sender   the principal whose message or decision is behind a turn or a call

create table ai_task (
  account_id uuid not null,
  project_id uuid not null,
  task_id uuid not null,
  status text not null,
  agent_config jsonb not null,
  description text not null,
  -- Null for none. It becomes null when the environment is deleted, which ends the task.
  environment_name text,
  branch_name text,
  -- No foreign keys: a task outlives its people, and then may do nothing.
  creator_id uuid not null,
  creator_credential_id uuid,
  -- Of the last message.
  sender_id uuid not null,
  sender_credential_id uuid,
  -- When a server takes the task: the time limit of the decisions while it waits for some, null when it is stopped.
  due_at timestamptz,
  -- While a server has it.
  lease_until timestamptz,
  epoch bigint not null default 0,
  -- Counts what people send, so that the server that has the task does not miss any of it.
  news bigint not null default 0,
  -- When a stop was requested.
  stop_at timestamptz,
  -- There is something for the model to answer, once all calls have ended.
  wants_turn boolean not null,
  last_position bigint not null default 0,
  turns integer not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  -- Millionths of the unit of the prices.
  cost bigint not null default 0,
  milliseconds bigint not null default 0,
  created_at timestamptz not null,
  modified_at timestamptz not null,
  constraint ai_task_key primary key (account_id, task_id),
  constraint ai_task_of_project foreign key (account_id, project_id) references project on delete cascade,
  constraint ai_task_environment foreign key (account_id, project_id, environment_name)
    references environment on delete set null (environment_name),
  constraint ai_task_status check (status in ('RUNNING', 'STOPPING', 'STOPPED', 'ERRORED')),
  constraint ai_task_due check ((due_at is null) = (status in ('STOPPED', 'ERRORED')))
);

-- Serves: the tasks that a server may take.
create index ai_task_due on ai_task (due_at) where due_at is not null;
-- Serves: lists, the last modified first; the deletion of a project and of an environment.
create index ai_task_of_project on ai_task (account_id, project_id, modified_at desc);

-- A task without its environment is taken at once, and ended.
create function end_ai_task_without_environment() returns trigger
language plpgsql as $$
begin
  if new.status in ('RUNNING', 'STOPPING') then new.due_at := 'epoch'; end if;
  return new;
end $$;
create trigger ai_task_environment_deleted before update of environment_name on ai_task
for each row when (old.environment_name is not null and new.environment_name is null)
execute function end_ai_task_without_environment();

create table ai_message (
  account_id uuid not null,
  task_id uuid not null,
  position bigint not null,
  group_id uuid not null,
  written_at timestamptz not null,
  data jsonb not null,
  constraint ai_message_key primary key (account_id, task_id, position),
  constraint ai_message_task foreign key (account_id, task_id) references ai_task on delete cascade
);

create table ai_turn (
  account_id uuid not null,
  task_id uuid not null,
  turn integer not null,
  group_id uuid not null,
  status text not null,
  -- The last message that the model got.
  through_position bigint not null,
  sender_id uuid not null,
  sender_credential_id uuid,
  attempts integer not null,
  -- The text so far, for readers on other servers.
  text_so_far text,
  started_at timestamptz not null,
  ended_at timestamptz,
  constraint ai_turn_key primary key (account_id, task_id, turn),
  constraint ai_turn_task foreign key (account_id, task_id) references ai_task on delete cascade,
  constraint ai_turn_status check (status in ('ASKED', 'ANSWERED', 'FAILED'))
);

create table ai_call (
  account_id uuid not null,
  task_id uuid not null,
  call_id uuid not null,
  turn integer not null,
  -- Its place in the answer.
  number integer not null,
  group_id uuid not null,
  tool_name text not null,
  -- As the model wrote it, which is what the digest is of.
  input text not null,
  input_digest bytea not null,
  -- Of the tool as it was when the call was proposed.
  schema_digest bytea,
  status text not null,
  outcome text,
  sender_id uuid not null,
  sender_credential_id uuid,
  attempts integer not null default 0,
  -- What people are asked.
  permission_message jsonb,
  -- What a person decided; the sender is that person then.
  decision text,
  reason text,
  answers jsonb,
  -- When a call that waits is given up.
  expires_at timestamptz,
  started_at timestamptz,
  ended_at timestamptz,
  constraint ai_call_key primary key (account_id, task_id, call_id),
  constraint ai_call_task foreign key (account_id, task_id) references ai_task on delete cascade,
  constraint ai_call_number unique (account_id, task_id, turn, number),
  constraint ai_call_status check (status in ('PROPOSED', 'WAITING', 'ALLOWED', 'RUNNING', 'ENDED')),
  constraint ai_call_outcome check (
    (outcome is not null) = (status = 'ENDED') and outcome in ('DONE', 'FAILED', 'DENIED', 'TIMED_OUT', 'STOPPED'))
);

-- Serves: the calls that have not ended.
create index ai_call_open on ai_call (account_id, task_id) where status <> 'ENDED';

create table ai_grant (
  account_id uuid not null,
  task_id uuid not null,
  number integer not null,
  tool_name text not null,
  -- As it was written; the next columns are what is checked.
  grant_as_written jsonb not null,
  arguments_digest bytea,
  schema_digest bytea,
  uses_left integer,
  expires_at timestamptz,
  granted_by uuid not null,
  granted_at timestamptz not null,
  constraint ai_grant_key primary key (account_id, task_id, number),
  constraint ai_grant_task foreign key (account_id, task_id) references ai_task on delete cascade
);

-- What the tasks of an account used in one UTC day.
create table ai_usage (
  account_id uuid not null references account on delete cascade,
  used_on date not null,
  turns bigint not null,
  tokens bigint not null,
  cost bigint not null,
  milliseconds bigint not null,
  constraint ai_usage_key primary key (account_id, used_on)
);

-- Serves: retention.
create index ai_usage_age on ai_usage (used_on);
