-- Whose rights a call of an AI task needs, and what of its changes is under way (docs/adr/0073).

-- A call needs the rights of several principals: the creator of the task, the senders, and the giver of a grant.
drop function rights(uuid, uuid, uuid, text, text[], text[], text[], timestamptz, uuid, uuid);
create function rights(
  for_account uuid, for_principal uuid, in_project uuid, in_environment text,
  account_roles text[], project_roles text[], environment_roles text[], at timestamptz, by_credential uuid default null,
  other_principals uuid[] default null,
  out standing text
)
language plpgsql stable as $$
declare
  held text[];
  weight integer;
  is_user boolean := false;
  is_of_project boolean;
  other uuid;
begin
  if other_principals is not null then
    foreach other in array other_principals loop
      standing := rights(for_account, other, in_project, in_environment, account_roles, project_roles, environment_roles, at);
      if standing <> 'permitted' then
        return;
      end if;
    end loop;
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

-- The server that has the task reads it again: without `news` it could give the task back without a look at it.
create or replace function end_ai_task_without_environment() returns trigger
language plpgsql as $$
begin
  if new.status in ('RUNNING', 'STOPPING') then
    new.due_at := 'epoch';
    new.news := old.news + 1;
  end if;
  return new;
end $$;

-- Others whose rights a call needs, besides the sender: those who said something else that the turn answers.
alter table ai_turn add column other_principal_ids uuid[] not null default '{}';
-- And the giver of the grant by which it runs.
alter table ai_call add column other_principal_ids uuid[] not null default '{}';
-- Of what people were shown besides the input, such as the edits that a commit would hold.
alter table ai_call add column shown_digest bytea;

-- The merge or discard that is under way: until then nothing else changes the copy. It is a time, because a server may die.
alter table ai_working_copy add column claimed_by uuid, add column claimed_until timestamptz;

-- Serves: the limit of the tasks of an account that run.
create index ai_task_running on ai_task (account_id) where due_at is not null;
