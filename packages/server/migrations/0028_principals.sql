-- Principals: who acts by the API. Users of the directory act like credentials, with the roles of their groups (docs/adr/0053).
--
-- Terminology
--   principal            a credential or a user; an actor of events, and who asked for work
--   personal credential  a client id and secret with which a user gets tokens; it has no roles of its own

create table user_credential (
  account_id uuid not null,
  user_credential_id uuid not null,
  user_id uuid not null,
  name text not null,
  client_id text not null,
  secret_digest bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  constraint user_credential_key primary key (account_id, user_credential_id),
  constraint user_credential_client_id_taken unique (client_id),
  constraint user_credential_of_user foreign key (account_id, user_id) references directory_user on delete cascade
);

-- Serves: the personal credentials of a user, newest first, and the deletion of a user.
create index user_credential_by_user on user_credential (account_id, user_id, user_credential_id desc);

-- A grant can be a user's: who creates a project owns it.
alter table role_grant
  alter column credential_id drop not null,
  add column user_id uuid,
  add column principal_id uuid not null generated always as (coalesce(credential_id, user_id)) stored,
  drop constraint role_grant_once,
  add constraint role_grant_once unique nulls not distinct (account_id, principal_id, project_id, environment_name, role),
  add constraint role_grant_of_user foreign key (account_id, user_id) references directory_user on delete cascade,
  add constraint role_grant_of_one_principal check (num_nonnulls(credential_id, user_id) = 1);

-- Serve: the deletion of a credential and of a user.
create index role_grant_by_credential on role_grant (account_id, credential_id) where credential_id is not null;
create index role_grant_by_user on role_grant (account_id, user_id) where user_id is not null;

-- Serves: who is a Super Admin.
create index directory_role_of_account on directory_role (account_id, role, group_id) where project_id is null;

-- The one model of those who act. The name of a user is the one that is unique in the account.
create view principal as
  select account_id, credential_id as principal_id, 'credential' as kind, name from credential
  union all
  select account_id, user_id, 'user', user_name from directory_user;

-- The roles that a principal has in the account, and the group that gives each. A user whose groups give none is a MEMBER.
create view account_role as
  select account_id, credential_id as principal_id, account_role as role, null::uuid as group_id from credential
  union all
  select m.account_id, m.user_id, r.role, r.group_id
  from directory_member m
  join directory_role r on r.account_id = m.account_id and r.group_id = m.group_id
  where r.project_id is null
  union all
  select u.account_id, u.user_id, 'MEMBER', null
  from directory_user u
  where not exists (
    select from directory_member m
    join directory_role r on r.account_id = m.account_id and r.group_id = m.group_id
    where m.account_id = u.account_id and m.user_id = u.user_id and r.project_id is null);

-- The roles in projects and environments that grants and groups give.
create view granted_role as
  select account_id, principal_id, project_id, environment_name, role, 'grant' as source, null::uuid as group_id from role_grant
  union all
  select m.account_id, m.user_id, r.project_id, r.environment_name, r.role, 'group', r.group_id
  from directory_member m
  join directory_role r on r.account_id = m.account_id and r.group_id = m.group_id
  where r.project_id is not null;

-- All roles that a principal has in a project, or in one environment of it: also the access level that an environment gives to all users
-- with a role in its project. What a user may see does not need these: they come with a role in the whole project.
create view place_role as
  select account_id, principal_id, project_id, environment_name, role, source, group_id from granted_role
  union all
  select h.account_id, h.principal_id, h.project_id, e.name,
    case e.default_user_access_level when 'admin' then 'OWNER' when 'runner' then 'OPERATOR' else 'VIEWER' end, 'environment', null
  from (
    select account_id, user_id as principal_id, project_id from role_grant where user_id is not null and environment_name is null
    union
    select m.account_id, m.user_id, r.project_id
    from directory_member m
    join directory_role r on r.account_id = m.account_id and r.group_id = m.group_id
    where r.project_id is not null and r.environment_name is null
  ) h
  join environment e on e.account_id = h.account_id and e.project_id = h.project_id
    and e.default_user_access_level in ('admin', 'runner', 'readOnly');

-- Serves: the roles that environments give to users.
create index environment_of_users on environment (account_id, project_id)
  where default_user_access_level in ('admin', 'runner', 'readOnly');

-- What a role says about a request: 2 it permits it, 1 its holder may know of the project.
create function weigh_role(
  role text, of_environment text, in_environment text, project_roles text[], environment_roles text[]
) returns integer
language sql immutable as $$
  select case
    when of_environment is null then case when role = any (project_roles) then 2 else 1 end
    when role = any (environment_roles) and (in_environment is null or of_environment = in_environment) then 2
    else 1
  end
$$;

-- What a principal is to a project, as before (0012_rights.sql), for users too. `by_credential` is the personal credential of a user's
-- request; work that a user asked for has none, and ends only with the user. Not one statement of SQL: PostgreSQL would open all tables of
-- the directory for each request of a credential.
drop function rights(uuid, uuid, uuid, text, text[], text[], text[], timestamptz);
create function rights(
  for_account uuid, for_principal uuid, in_project uuid, in_environment text,
  account_roles text[], project_roles text[], environment_roles text[], at timestamptz, by_credential uuid default null,
  out standing text
)
language plpgsql stable as $$
declare
  held text[];
  weight integer;
  is_user boolean := false;
  is_of_project boolean;
begin
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
  if is_user and weight = 1 and is_of_project and environment_roles <> '{}' then
    select max(weigh_role(g.role, g.environment_name, in_environment, project_roles, environment_roles)) into weight
    from place_role g
    where g.account_id = for_account and g.principal_id = for_principal and g.project_id = in_project;
  end if;
  standing := case weight when 2 then 'permitted' when 1 then 'forbidden' else 'unknown' end;
end $$;

-- The name of a user stays in the events after the user is deleted.
alter table event add column actor_name text;
create function write_actor_name() returns trigger
language plpgsql as $$
begin
  select p.name into new.actor_name from principal p where p.account_id = new.account_id and p.principal_id = new.actor_id;
  return new;
end $$;
create trigger event_of_user before insert on event
  for each row when (new.actor_kind = 'user' and new.actor_name is null) execute function write_actor_name();
