/** Reads what was given to principals: memberships of groups with a role, grants, and the roles of credentials. */
import { type AccessReview, mostShownGrants, shownGrants } from '@headgate/contract';
import { typed } from '../../kernel/database/database.ts';
import { guardedPage, guardedRead, inEffect } from '../../kernel/security/guarded-read.ts';

/** SQL: what the principal of the row `p` was given. */
const grants = `
  select r.role, r.project_id, r.environment_name, 'GROUP' as source, m.group_id, m.added_by, m.added_at, m.expires_at, m.reason
  from directory_member m
  join directory_role r on r.account_id = m.account_id and r.group_id = m.group_id
  where m.account_id = $account_id and m.user_id = p.principal_id and ${inEffect('m')}
  union all
  select g.role, g.project_id, g.environment_name, 'GRANT', null, g.added_by, g.added_at, null, null
  from role_grant g where g.account_id = $account_id and g.principal_id = p.principal_id
  union all
  select c.account_role, null, null, 'CREDENTIAL', null, null, c.created_at, c.expires_at, null
  from credential c where c.account_id = $account_id and c.credential_id = p.principal_id`;

const selectPrincipals = {
  credentials: `
    select c.credential_id as principal_id, 'CREDENTIAL' as principal_type, c.name, c.name as name_key,
      c.expires_at is null or c.expires_at > $now as active
    from credential c where c.account_id = $account_id and c.revoked_at is null`,
  users: `
    select u.user_id as principal_id, 'USER' as principal_type, u.user_name as name, u.user_name_key as name_key, u.active
    from directory_user u where u.account_id = $account_id`,
};

export const reviewColumns = {
  principal_id: 'uuid',
  principal_type: typed<AccessReview['principalType']>('text'),
  name: 'text',
  active: 'boolean',
  last_used_at: 'timestamptz?',
  grants: typed<AccessReview['grants']>('json'),
  grants_total: 'bigint',
} as const;

/** SQL: timestamps in JSON as everywhere. */
const inJson = (time: string) => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** SQL: the rows of the principals that `chosen` selects, each with the grants that fulfil the condition. */
const describe = (chosen: string, { isWanted, most }: { isWanted: string; most: number }) => `
  select p.principal_id, p.principal_type, p.name, p.active,
    case p.principal_type when 'CREDENTIAL'
      then (select c.last_used_at from credential c where c.account_id = $account_id and c.credential_id = p.principal_id)
      else greatest(
        (select u.last_signed_in_at from directory_user u where u.account_id = $account_id and u.user_id = p.principal_id),
        (select max(s.last_used_at) from sign_in_session s where s.account_id = $account_id and s.user_id = p.principal_id),
        (select max(k.last_used_at) from user_credential k where k.account_id = $account_id and k.user_id = p.principal_id))
    end as last_used_at,
    (
      select coalesce(json_agg(json_strip_nulls(json_build_object('role', h.role,
        'level', case when h.project_id is null then 'ACCOUNT' when h.environment_name is null then 'PROJECT' else 'ENVIRONMENT' end,
        'projectId', h.project_id, 'projectName', h.project_name, 'environmentName', h.environment_name,
        'source', h.source, 'groupId', h.group_id, 'groupName', h.group_name,
        'addedBy', h.added_by, 'addedByName', (
          select a.name from principal a where a.account_id = $account_id and a.principal_id = h.added_by),
        'addedAt', ${inJson('h.added_at')}, 'expiresAt', ${inJson('h.expires_at')}, 'reason', h.reason))
        order by h.project_name nulls first, h.environment_name nulls first, h.role, h.group_name), '[]')
      from (
        select g.*, j.name as project_name, d.display_name as group_name from (${grants}) g
        left join project j on j.account_id = $account_id and j.project_id = g.project_id
        left join directory_group d on d.account_id = $account_id and d.group_id = g.group_id
        where ${isWanted}
        order by j.name nulls first, g.environment_name nulls first, g.role, d.display_name limit ${most}) h
    ) as grants,
    (select count(*) from (${grants}) g where ${isWanted})::bigint as grants_total
  from (${chosen}) p
  order by p.principal_type, p.name_key, p.principal_id`;

const limits = { limit: 'bigint', offset: 'bigint' } as const;
/** Each half by its own index. */
const firstOf = (principals: string) =>
  `(select * from (${principals}) o order by o.name_key, o.principal_id limit $limit::bigint + $offset::bigint)`;

export const everyReview = guardedPage(
  { parameters: limits, row: reviewColumns, alone: true },
  {
    rows: describe(
      `
      select * from (${firstOf(selectPrincipals.credentials)} union all ${firstOf(selectPrincipals.users)}) o
      order by o.principal_type, o.name_key, o.principal_id limit $limit offset $offset`,
      { isWanted: 'true', most: shownGrants },
    ),
    total: `
    select (select count(*) from credential where account_id = $account_id and revoked_at is null)
      + (select count(*) from directory_user where account_id = $account_id) as total`,
  },
);

/** SQL: those who were given a role in the project, or one of its environments. */
const ofProject = `
  select o.* from (
    select distinct g.principal_id from granted_role g
    where g.account_id = $account_id and g.project_id = $of_project and ${inEffect('g')}) h
  join (${selectPrincipals.credentials} union all ${selectPrincipals.users}) o on o.principal_id = h.principal_id`;

export const reviewsOfProject = guardedPage(
  { parameters: { of_project: 'uuid', ...limits }, row: reviewColumns, alone: true },
  {
    rows: describe(
      `select * from (${ofProject}) o order by o.principal_type, o.name_key, o.principal_id limit $limit offset $offset`,
      { isWanted: 'g.project_id = $of_project', most: shownGrants },
    ),
    total: `select count(*)::bigint as total from (${ofProject}) o`,
  },
);

export const reviewOfPrincipal = guardedRead(
  { parameters: { wanted_principal: 'uuid', of_project: 'uuid?' }, row: reviewColumns, alone: true },
  describe(
    `
    ${selectPrincipals.credentials} and c.credential_id = $wanted_principal
    union all
    ${selectPrincipals.users} and u.user_id = $wanted_principal`,
    { isWanted: '($of_project::uuid is null or g.project_id = $of_project)', most: mostShownGrants },
  ),
);

export const projectOfReview = guardedRead(
  { parameters: { of_project: 'uuid' }, row: { project_id: 'uuid' } },
  'select project_id from project where account_id = $account_id and project_id = $of_project',
);
