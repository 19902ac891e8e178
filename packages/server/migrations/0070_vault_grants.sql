-- Which names of the vaults of agents each project may use (docs/adr/0083). Names that begin with the id of the project and `/` or `-`
-- need no grant.
create table vault_grant (
  account_id uuid not null,
  project_id uuid not null,
  -- Null: every agent, for a name that was used without naming an agent.
  agent_id uuid,
  name text collate "C" not null,
  is_prefix boolean not null,
  constraint vault_grant_in_project foreign key (account_id, project_id) references project on delete cascade,
  constraint vault_grant_of_agent foreign key (account_id, agent_id) references agent on delete cascade
);
-- The digest, because a name may be longer than an entry of an index. Serves the check of a name.
create unique index vault_grant_once on vault_grant (account_id, project_id, md5(name), is_prefix, agent_id) nulls not distinct;
-- Serves the few prefixes of a project.
create index vault_grant_prefixes on vault_grant (account_id, project_id) where is_prefix;
-- Serves the grants of an agent.
create index vault_grant_by_agent on vault_grant (account_id, agent_id);

-- Whether the project may use the name in the vaults of the agent; without an agent, in those of any agent. Below a prefix there are plain
-- names only: a vault could read `.`, `..` or an empty part of a path as another secret.
create function may_use_vault_name(for_account uuid, in_project uuid, of_agent uuid, vault_name text) returns boolean
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

-- The project that gets the name when the secret was written.
alter table secret_write add column project_id uuid;
alter table secret_write add constraint secret_write_for_project foreign key (account_id, project_id)
  references project on delete set null (project_id);
create index secret_write_by_project on secret_write (account_id, project_id) where project_id is not null;

-- What exists keeps working: each project gets the names that it uses.
with named as (
  select c.account_id, c.project_id, null::uuid as agent_id, named.name
  from connection c
  cross join lateral (values (c.details -> 'connectionProperties' ->> 'secretName'),
    (c.details -> 'connectionProperties' ->> 'credentialSecretName')) as named (name)
  where c.platform_connection_type <> 'DWH'
  union
  select c.account_id, c.project_id, null, property.value ->> 'secretName'
  from connection c
  cross join lateral jsonb_each(
    case jsonb_typeof(c.details -> 'connectionProperties') when 'object' then c.details -> 'connectionProperties' end) property
  where c.platform_connection_type = 'DWH' and jsonb_typeof(property.value) = 'object'
  union
  select o.account_id, o.project_id, null, named.name
  from connection_override o
  cross join lateral (values (o.overrides -> 'connectionProperties' ->> 'secretName'),
    (o.overrides -> 'connectionProperties' ->> 'credentialSecretName')) as named (name)
  union
  select o.account_id, o.project_id, null, property.value ->> 'secretName'
  from environment_connection_override o cross join lateral jsonb_each(o.properties) property
  where jsonb_typeof(property.value) = 'object'
  union
  select p.account_id, p.project_id, a.agent_id, secret ->> 'secretName'
  from streaming_pipeline p
  left join agent a on a.account_id = p.account_id and a.agent_id = p.agent_id
  cross join lateral unnest(array[
    p.source #> '{connection,password}', p.target -> 'accountKey', p.target #> '{connection,password}',
    p.target #> '{connection,authentication,privateKey}', p.target #> '{connection,authentication,passphrase}']) as secret
), used as (
  select account_id, project_id, agent_id, secret_name as name from secret_reference
  union
  -- A name that a reference has means the reference.
  select n.account_id, n.project_id, n.agent_id, n.name from named n
  where not exists (
    select from secret_reference r where r.account_id = n.account_id and r.project_id = n.project_id and r.name = n.name)
)
insert into vault_grant (account_id, project_id, agent_id, name, is_prefix)
select u.account_id, u.project_id, u.agent_id, u.name, false
from used u
where u.name <> ''
  and not starts_with(u.name, u.project_id || '/') and not starts_with(u.name, u.project_id || '-')
on conflict do nothing;

-- One event for each project, or for each 500 of its names.
insert into event (account_id, occurred_at, event_id, name, actor_id, actor_kind, request_id, project_id, environment_name,
  subject_type, subject_id, subject_name, state_after)
select n.account_id, date_trunc('milliseconds', now()), gen_random_uuid(), 'vault-names-granted', null, 'system', null, n.project_id, null,
  'project', n.project_id::text, p.name, jsonb_build_object('names', jsonb_agg(n.name order by n.name), 'existing', true)
from (
  select account_id, project_id, name, (row_number() over (partition by account_id, project_id order by name) - 1) / 500 as part
  from (select distinct account_id, project_id, name from vault_grant) each_name
) n
join project p on p.account_id = n.account_id and p.project_id = n.project_id
group by n.account_id, n.project_id, p.name, n.part;
