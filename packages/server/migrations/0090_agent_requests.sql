-- What a request asks an agent, and waits for. Each is work, of the same id. It takes the place of three tables.
create table agent_request (
  account_id uuid not null,
  request_id uuid not null,
  kind text not null,
  project_id uuid not null,
  -- The environment of its events.
  environment_name text,
  -- The name of the subject in its events.
  name text not null,
  -- Requests that one answer is composed of.
  group_id uuid,
  -- What the agent is sent, and what it answered, as JSON. Text, because jsonb takes no NUL.
  request text not null,
  result text,
  message text,
  state text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint agent_request_key primary key (account_id, request_id),
  constraint agent_request_of_project foreign key (account_id, project_id) references project on delete cascade,
  constraint agent_request_state_known check (state in ('PENDING', 'ANSWERED', 'FAILED', 'FORBIDDEN'))
);

-- Serves: the deletion of a project.
create index agent_request_by_project on agent_request (account_id, project_id);
-- Serves: an answer that is composed of several.
create index agent_request_by_group on agent_request (account_id, group_id) where group_id is not null;
-- Serves: the removal of old ones.
create index agent_request_by_expiry on agent_request (expires_at);

-- Those that an agent may hold, or take, while the server is replaced.
insert into agent_request (account_id, request_id, kind, project_id, environment_name, name, request, state, created_at, expires_at)
select account_id, query_id, 'warehouse-query', project_id, environment_name, 'query',
  json_build_object('sql', sql, 'maxRows', max_rows, 'maxBytes', max_bytes, 'seconds', seconds)::text, state, created_at,
  created_at + interval '1 hour'
from warehouse_query where state = 'PENDING'
union all
select account_id, work_id, 'connector-test', project_id, request::json ->> 'environmentName', profile_name, request, state,
  created_at, created_at + interval '48 hours'
from connector_test where state = 'PENDING';
insert into agent_request (account_id, request_id, kind, project_id, name, group_id, request, state, created_at, expires_at)
select p.account_id, p.work_id, 'secret-check', c.project_id, 'secrets', p.check_id,
  json_build_object('secrets', p.secrets)::text, p.state, c.created_at, c.created_at + interval '48 hours'
from secret_check_part p join secret_check c on c.account_id = p.account_id and c.check_id = p.check_id
where p.state = 'PENDING';

drop table warehouse_query, connector_test, secret_check_part;
