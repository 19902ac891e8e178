-- The one model of those who act. The name of a user is the one that is unique in the account.
create or replace view principal as
  select account_id, credential_id as principal_id, 'credential' as kind, name from credential
  union all
  select account_id, user_id, 'user', user_name from directory_user;

-- The roles that a principal has in the account, and the group that gives each. A user whose groups give none without
-- an end is a MEMBER: what is given for a time takes nothing away. These views have no clock: whoever reads them leaves
-- out the rows whose expires_at is past.
create or replace view account_role as
  select account_id, credential_id as principal_id, account_role as role, null::uuid as group_id,
    null::timestamptz as expires_at
  from credential
  union all
  select m.account_id, m.user_id, r.role, r.group_id, m.expires_at
  from directory_member m
  join directory_role r on r.account_id = m.account_id and r.group_id = m.group_id
  where r.project_id is null
  union all
  select u.account_id, u.user_id, 'MEMBER', null, null
  from directory_user u
  where not exists (
    select from directory_member m
    join directory_role r on r.account_id = m.account_id and r.group_id = m.group_id
    where m.account_id = u.account_id and m.user_id = u.user_id and r.project_id is null and m.expires_at is null);

-- The roles in projects and environments that grants and groups give.
create or replace view granted_role as
  select account_id, principal_id, project_id, environment_name, role, 'grant' as source, null::uuid as group_id,
    null::timestamptz as expires_at
  from role_grant
  union all
  select m.account_id, m.user_id, r.project_id, r.environment_name, r.role, 'group', r.group_id, m.expires_at
  from directory_member m
  join directory_role r on r.account_id = m.account_id and r.group_id = m.group_id
  where r.project_id is not null;

-- All roles that a principal has in a project, or in one environment of it: also the access level that an environment
-- gives to all users with a role in its project. What a user may see does not need these: they come with a role in the
-- whole project.
create or replace view place_role as
  select account_id, principal_id, project_id, environment_name, role, source, group_id, expires_at from granted_role
  union all
  select h.account_id, h.principal_id, h.project_id, e.name,
    case e.default_user_access_level when 'admin' then 'OWNER' when 'runner' then 'OPERATOR' else 'VIEWER' end, 'environment', null, h.expires_at
  from (
    select account_id, principal_id, project_id, case when bool_and(expires_at is not null) then max(expires_at) end as expires_at
    from (
      select account_id, user_id as principal_id, project_id, null::timestamptz as expires_at
      from role_grant where user_id is not null and environment_name is null
      union all
      select m.account_id, m.user_id, r.project_id, m.expires_at
      from directory_member m
      join directory_role r on r.account_id = m.account_id and r.group_id = m.group_id
      where r.project_id is not null and r.environment_name is null) o
    group by account_id, principal_id, project_id
  ) h
  join environment e on e.account_id = h.account_id and e.project_id = h.project_id
    and e.default_user_access_level in ('admin', 'runner', 'readOnly');

-- What a role says about a request: 2 it permits it, 1 its holder may know of the project.
create or replace function weigh_role(
  role text, of_environment text, in_environment text, project_roles text[], environment_roles text[]
) returns integer
language sql immutable as $$
  select case
    when of_environment is null then case when role = any (project_roles) then 2 else 1 end
    when role = any (environment_roles) and (in_environment is null or of_environment = in_environment) then 2
    else 1
  end
$$;

-- The roles, and the account's custom roles that have a permission among them.
create or replace function add_custom_roles(for_account uuid, roles text[]) returns text[]
language sql stable as $$
  select roles || array(select c.name from custom_role c where c.account_id = for_account and c.permissions && roles)
$$;

-- The most that a narrowed personal token permits, as weigh_role says it: 0 is nothing there. Null if `by_credential`
-- is no personal token, or is one with all rights of its user.
create or replace function weigh_personal_token(
  for_account uuid, by_credential uuid, in_project uuid, in_environment text,
  account_roles text[], project_roles text[], environment_roles text[]
) returns integer
language sql stable as $$
  select case
    when t.account_role = any (account_roles) then 2
    when in_project is null then 0
    else coalesce((
      select max(weigh_role(r.role, r."environmentName", in_environment, add_custom_roles(for_account, project_roles),
        add_custom_roles(for_account, environment_roles)))
      from jsonb_to_recordset(t.roles) as r ("projectId" uuid, "environmentName" text, role text)
      where r."projectId" = in_project), 0)
  end
  from personal_token t
  where t.account_id = for_account and t.personal_token_id = by_credential and t.account_role is not null
$$;

-- What a principal is to a project, for one operation whose permission is given as three lists of roles. standing:
-- 'inactive' (no such actor any more), 'unknown' (no such project, or no role in it), 'forbidden', 'permitted'.
-- Without a project only the account role counts. Without an environment a role in any environment is enough: the
-- operation checks each. `by_credential`: the personal credential,
-- the personal token or the session of a user's request; work that a
-- user asked for has none, and ends only with the user. `other_principals`: a call of an AI task needs the rights of
-- its creator, of the senders and of the giver of a grant. Not one statement of SQL: PostgreSQL would open all tables
-- of the directory for each request of a credential.
create or replace function rights(
  for_account uuid, for_principal uuid, in_project uuid, in_environment text,
  account_roles text[], project_roles text[], environment_roles text[], at timestamptz, by_credential uuid default null,
  other_principals uuid[] default null,
  out standing text
)
language plpgsql stable as $$
declare
  held text[];
  own_groups uuid[];
  lasting_groups uuid[];
  weight integer;
  is_user boolean := false;
  is_of_project boolean;
  most integer;
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
  -- A request by a personal credential or a session is a user's.
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
          and (k.expires_at is null or k.expires_at > at)) or exists (
        select from sign_in_session s
        where s.account_id = for_account and s.session_id = by_credential and s.user_id = u.user_id
          and s.expires_at > at and s.idle_until > at) or exists (
        select from personal_token t
        where t.account_id = for_account and t.personal_token_id = by_credential and t.user_id = u.user_id
          and t.expires_at > at));
    if is_user is not true then
      standing := 'inactive';
      return;
    end if;
    -- The token and its user must both have the right.
    if by_credential is not null then
      most := weigh_personal_token(
        for_account, by_credential, in_project, in_environment, account_roles, project_roles, environment_roles);
      if most < 2 then
        standing := case when in_project is null or most = 1 then 'forbidden' else 'unknown' end;
        return;
      end if;
    end if;
    -- Most requests are permitted by a group with a role here: those groups are few, and the user's may be many.
    if in_project is not null and 'SUPER_ADMIN' = any (account_roles) and exists (
      select from directory_member m
      where m.account_id = for_account and m.user_id = for_principal and (m.expires_at is null or m.expires_at > at)
        and m.group_id = any (array(
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
    select array_agg(m.group_id), array_agg(m.group_id) filter (where m.expires_at is null) into own_groups, lasting_groups
    from directory_member m
    where m.account_id = for_account and m.user_id = for_principal and (m.expires_at is null or m.expires_at > at);
    -- An array, so that the roles of all groups are one scan of the index.
    select coalesce(array_agg(r.role) filter (where r.project_id is null), '{}')
        || case when bool_or(r.project_id is null and r.group_id = any (lasting_groups)) then '{}'::text[] else '{MEMBER}' end,
      max(weigh_role(r.role, r.environment_name, in_environment, project_roles, environment_roles)) filter (where r.project_id is not null),
      bool_or(r.project_id is not null and r.environment_name is null)
    into held, weight, is_of_project
    from directory_role r
    where r.account_id = for_account and (r.project_id is null or r.project_id = in_project)
      and r.group_id = any (own_groups);
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
    where g.account_id = for_account and g.principal_id = for_principal and g.project_id = in_project
      and (g.expires_at is null or g.expires_at > at);
  end if;
  -- Custom roles are last: whoever is permitted by another role does not pay for them.
  if weight = 1 and exists (select from custom_role c where c.account_id = for_account) then
    project_roles := add_custom_roles(for_account, project_roles);
    environment_roles := add_custom_roles(for_account, environment_roles);
    select greatest(weight, max(weigh_role(g.role, g.environment_name, in_environment, project_roles, environment_roles))) into weight
    from granted_role g
    where g.account_id = for_account and g.principal_id = for_principal and g.project_id = in_project
      and (g.expires_at is null or g.expires_at > at);
  end if;
  standing := case weight when 2 then 'permitted' when 1 then 'forbidden' else 'unknown' end;
end $$;

-- Whether the project may use the name in the vaults of the agent; without an agent, in those of any agent. Below a
-- prefix there are plain names only: a vault could read `.`, `..` or an empty part of a path as another secret.
create or replace function may_use_vault_name(for_account uuid, in_project uuid, of_agent uuid, vault_name text) returns boolean
language sql stable as $$
  select exists (
    select from vault_grant g
    where g.account_id = for_account and g.project_id = in_project and md5(g.name) = md5(vault_name) and not g.is_prefix
      and g.name = vault_name and (of_agent is null or g.agent_id is null or g.agent_id = of_agent)
  ) or (
    vault_name ~ '^[A-Za-z0-9][A-Za-z0-9_./@+=-]*$' and vault_name !~ '(^|/)[.]{0,2}(/|$)'
    and (
      starts_with(vault_name, in_project::text || '/') or starts_with(vault_name, in_project::text || '-')
      or exists (
        select from vault_grant g
        where g.account_id = for_account and g.project_id = in_project and g.is_prefix
          and starts_with(vault_name, g.name) and (of_agent is null or g.agent_id is null or g.agent_id = of_agent)
      )
    )
  )
$$;
