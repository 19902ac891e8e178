-- What the tools of AI tasks need (docs/adr/0073).

-- A call of a tool has the rights that both its task's creator and the sender behind it have.
drop function rights(uuid, uuid, uuid, text, text[], text[], text[], timestamptz, uuid);
create function rights(
  for_account uuid, for_principal uuid, in_project uuid, in_environment text,
  account_roles text[], project_roles text[], environment_roles text[], at timestamptz, by_credential uuid default null,
  second_principal uuid default null,
  out standing text
)
language plpgsql stable as $$
declare
  held text[];
  weight integer;
  is_user boolean := false;
  is_of_project boolean;
begin
  if second_principal is not null then
    standing := rights(for_account, second_principal, in_project, in_environment, account_roles, project_roles, environment_roles, at);
    if standing <> 'permitted' then
      return;
    end if;
  end if;
  -- A request by a personal credential is a user's.
  if by_credential is null then
    select array[c.account_role] into held
    from credential c
    where c.account_id = for_account and c.credential_id = for_principal
      and c.revoked_at is null and (c.expires_at is null or c.expires_at > at);
  end if;
  if held is null then
    select true into is_user
    from directory_user u
    where u.account_id = for_account and u.user_id = for_principal and u.active
      and (by_credential is null or exists (
        select from user_credential k
        where k.account_id = for_account and k.user_credential_id = by_credential and k.user_id = u.user_id
          and (k.expires_at is null or k.expires_at > at)));
    if is_user is not true then
      standing := 'inactive';
      return;
    end if;
    -- Most requests are permitted by a group with a role here: those groups are few, and the user's may be many.
    if in_project is not null and 'SUPER_ADMIN' = any (account_roles) and exists (
      select from directory_member m
      where m.account_id = for_account and m.user_id = for_principal and m.group_id = any (array(
        select r.group_id from directory_role r
        where r.account_id = for_account and r.project_id = in_project and r.environment_name is null and r.role = any (project_roles)
        union all
        select r.group_id from directory_role r
        where r.account_id = for_account and r.project_id = in_project and r.environment_name = in_environment
          and r.role = any (environment_roles)
        limit 100))
    ) then
      standing := 'permitted';
      return;
    end if;
    -- An array, so that the roles of all groups are one scan of the index.
    select coalesce(array_agg(r.role) filter (where r.project_id is null), '{MEMBER}'),
      max(weigh_role(r.role, r.environment_name, in_environment, project_roles, environment_roles)) filter (where r.project_id is not null),
      bool_or(r.project_id is not null and r.environment_name is null)
    into held, weight, is_of_project
    from directory_role r
    where r.account_id = for_account and (r.project_id is null or r.project_id = in_project)
      and r.group_id = any (array(
        select m.group_id from directory_member m where m.account_id = for_account and m.user_id = for_principal));
  end if;
  if in_project is null then
    standing := case when held && account_roles then 'permitted' else 'forbidden' end;
    return;
  end if;
  if held && account_roles or 'SUPER_ADMIN' = any (held) then
    standing := case
      when not exists (select from project p where p.account_id = for_account and p.project_id = in_project) then 'unknown'
      when held && account_roles then 'permitted'
      else 'forbidden'
    end;
    return;
  end if;
  if weight is distinct from 2 then
    select greatest(weight, max(weigh_role(g.role, g.environment_name, in_environment, project_roles, environment_roles))),
      is_of_project is true or bool_or(g.environment_name is null)
    into weight, is_of_project
    from role_grant g
    where g.account_id = for_account and g.principal_id = for_principal and g.project_id = in_project;
  end if;
  -- The access level that an environment gives to users with a role in its project.
  if is_user and weight = 1 and is_of_project and environment_roles <> '{}' and exists (
    select from environment e
    where e.account_id = for_account and e.project_id = in_project and e.default_user_access_level in ('admin', 'runner', 'readOnly')
  ) then
    select max(weigh_role(g.role, g.environment_name, in_environment, project_roles, environment_roles)) into weight
    from place_role g
    where g.account_id = for_account and g.principal_id = for_principal and g.project_id = in_project;
  end if;
  standing := case weight when 2 then 'permitted' when 1 then 'forbidden' else 'unknown' end;
end $$;

-- Queries that only read, which agents run: the rows of a result are kept only while its request may wait.
create table warehouse_query (
  account_id uuid not null,
  query_id uuid not null,
  project_id uuid not null,
  environment_name text not null,
  sql text not null,
  max_rows integer not null,
  max_bytes integer not null,
  seconds integer not null,
  state text not null,
  result jsonb,
  message text,
  created_at timestamptz not null,
  constraint warehouse_query_key primary key (account_id, query_id),
  constraint warehouse_query_of_project foreign key (account_id, project_id) references project on delete cascade,
  constraint warehouse_query_state_known check (state in ('PENDING', 'ANSWERED', 'FAILED'))
);

-- Serves: the deletion of a project.
create index warehouse_query_by_project on warehouse_query (account_id, project_id);
-- Serves: the removal of old ones, which come in the order of their making.
create index warehouse_query_by_age on warehouse_query using brin (created_at);

-- The files that an AI task works on: those of a branch, or of a version for a project without a repository. Its edits lie over them.
create table ai_working_copy (
  account_id uuid not null,
  task_id uuid not null,
  project_id uuid not null,
  state text not null,
  -- Null, like the next five, for a copy of a version.
  source_branch text,
  -- Null until the first commit.
  branch text,
  -- The call that chose the name of a new branch.
  branch_call uuid,
  is_branch_made boolean,
  -- Where the task began, and its last commit. Null in an empty repository.
  start_commit text,
  commit_id text,
  -- Null for a copy of a branch.
  environment_name text,
  -- Null for an environment without a version.
  version_name text,
  manifest_digest text,
  -- The message of the last commit, and the call that made it.
  message text,
  committed_by_call uuid,
  created_at timestamptz not null,
  modified_at timestamptz not null,
  constraint ai_working_copy_key primary key (account_id, task_id),
  constraint ai_working_copy_of_task foreign key (account_id, task_id) references ai_task on delete cascade,
  constraint ai_working_copy_state check (state in ('OPEN', 'MERGED', 'DISCARDED')),
  constraint ai_working_copy_kind check ((source_branch is null) <> (environment_name is null))
);

-- Serves: the collector of stored files, which keeps those that a copy began with.
create index ai_working_copy_of_manifest on ai_working_copy (account_id, manifest_digest) where manifest_digest is not null;

create table ai_edit (
  account_id uuid not null,
  task_id uuid not null,
  -- WORKING: not committed. PROPOSED: committed, in a project without a repository.
  stage text not null,
  path text not null,
  -- Null: the file is deleted.
  content text,
  constraint ai_edit_key primary key (account_id, task_id, stage, path),
  constraint ai_edit_of_copy foreign key (account_id, task_id) references ai_working_copy on delete cascade,
  constraint ai_edit_stage check (stage in ('WORKING', 'PROPOSED'))
);

-- The executions that a task started.
create table ai_run (
  account_id uuid not null,
  task_id uuid not null,
  execution_id uuid not null,
  kind text not null,
  started_at timestamptz not null,
  constraint ai_run_key primary key (account_id, task_id, execution_id),
  constraint ai_run_of_task foreign key (account_id, task_id) references ai_task on delete cascade,
  constraint ai_run_kind check (kind in ('PIPELINE', 'TESTS'))
);
