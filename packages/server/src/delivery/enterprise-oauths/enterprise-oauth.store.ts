/** The table `enterprise_oauth`. */
import { enterpriseOauthsPerAccount, type GitProviderName, permissions } from '@headgate/contract';
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedPage, guardedRead, inEffect } from '../../kernel/security/guarded-read.ts';

const oauthRow = {
  enterprise_oauth_id: 'uuid',
  name: 'text',
  provider: typed<GitProviderName>('text'),
  base_url: 'text?',
  client_id: 'text',
  tenant_id: 'text?',
  installation_id: 'text?',
  created_by: 'uuid',
  created_at: 'timestamptz',
} satisfies ColumnTypes;
type NewEnterpriseOauth = RowOf<typeof oauthRow>;
const shownRow = { ...oauthRow, projects: 'uuid[]' } satisfies ColumnTypes;
export type EnterpriseOauthRow = RowOf<typeof shownRow>;

const columns = `o.enterprise_oauth_id, o.name, o.provider, o.base_url, o.client_id, o.tenant_id, o.installation_id, o.created_by,
    o.created_at, array(
      select s.project_id from enterprise_oauth_project s
      where s.account_id = o.account_id and s.enterprise_oauth_id = o.enterprise_oauth_id order by s.project_id) as projects`;

export const enterpriseOauthPage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: shownRow },
  {
    rows: `
    select ${columns} from enterprise_oauth o where o.account_id = $account_id
    order by o.enterprise_oauth_id desc limit $limit offset $offset`,
    total: 'select count(*)::bigint as total from enterprise_oauth where account_id = $account_id',
  },
);

const countUnderLock = [
  statement(
    { parameters: { account_id: 'uuid' } },
    "select pg_advisory_xact_lock(hashtextextended('headgate enterprise oauths ' || $account_id::uuid, 0))",
  ),
  statement(
    { parameters: { account_id: 'uuid' }, row: { count: 'integer' } },
    'select count(*)::integer as count from enterprise_oauth where account_id = $account_id',
  ),
] as const;

const insertOne = statement(
  { parameters: { account_id: 'uuid', ...oauthRow, sealed_secrets: 'bytea' } },
  `
  insert into enterprise_oauth (account_id, enterprise_oauth_id, name, provider, base_url, client_id, tenant_id,
    installation_id, created_by, created_at, sealed_secrets, version)
  values ($account_id, $enterprise_oauth_id, $name, $provider, $base_url, $client_id, $tenant_id, $installation_id,
    $created_by, $created_at, $sealed_secrets, 1)`,
);

/** @throws `too-many-enterprise-oauths`, `enterprise-oauth-name-taken` */
export async function insertEnterpriseOauth(
  tx: Transaction,
  accountId: string,
  { projects, ...row }: EnterpriseOauthRow,
  sealedSecrets: Buffer,
): Promise<void> {
  const [lock, count] = countUnderLock;
  tx.send(lock, { account_id: accountId });
  const [counted] = await tx.query(count, { account_id: accountId });
  if ((counted?.count ?? 0) >= enterpriseOauthsPerAccount)
    throw problem('too-many-enterprise-oauths', { limit: enterpriseOauthsPerAccount });
  tx.onConstraint('enterprise_oauth_name', () => problem('enterprise-oauth-name-taken', { name: row.name }));
  const made: NewEnterpriseOauth = row;
  tx.send(insertOne, { account_id: accountId, ...made, sealed_secrets: sealedSecrets });
  replaceProjects(tx, accountId, row.enterprise_oauth_id, projects);
}

const deleteOthers = statement(
  { parameters: { account_id: 'uuid', enterprise_oauth_id: 'uuid', project_ids: 'uuid[]' } },
  `
  delete from enterprise_oauth_project
  where account_id = $account_id and enterprise_oauth_id = $enterprise_oauth_id and project_id <> all ($project_ids::uuid[])`,
);
const insertProjects = statement(
  { parameters: { account_id: 'uuid', enterprise_oauth_id: 'uuid', project_ids: 'uuid[]' } },
  `
  insert into enterprise_oauth_project (account_id, enterprise_oauth_id, project_id)
  select $account_id, $enterprise_oauth_id, shared.project_id from unnest($project_ids::uuid[]) as shared (project_id)
  on conflict do nothing`,
);

const lastOfKey = /, ([^,]*)\) is not present/;

/** @throws `unknown-project` */
export function replaceProjects(
  tx: Transaction,
  accountId: string,
  id: string,
  projectIds: readonly string[],
): void {
  tx.onConstraint('enterprise_oauth_project_in_project', ({ detail }) =>
    problem('unknown-project', { id: lastOfKey.exec(detail ?? '')?.[1] ?? '' }),
  );
  const shared = { account_id: accountId, enterprise_oauth_id: id, project_ids: [...projectIds] };
  tx.send(deleteOthers, shared);
  tx.send(insertProjects, shared);
}

const lockOne = statement(
  { parameters: { account_id: 'uuid', enterprise_oauth_id: 'uuid' }, row: shownRow },
  `
  select ${columns} from enterprise_oauth o
  where o.account_id = $account_id and o.enterprise_oauth_id = $enterprise_oauth_id for update of o`,
);
const namedProjects = 10;
/** Repositories, and migrations that are in progress to one that will use it. */
const selectUses = statement(
  {
    parameters: { account_id: 'uuid', enterprise_oauth_id: 'uuid', project_ids: 'uuid[]?' },
    row: { name: 'text', total: 'bigint' },
  },
  `
  select p.name, count(*) over () as total
  from (
    select r.project_id from repository r
    where r.account_id = $account_id and r.enterprise_oauth_id = $enterprise_oauth_id
    union
    select m.project_id from repository_migration m
    where m.account_id = $account_id and m.enterprise_oauth_id = $enterprise_oauth_id and m.status = 'IN_PROGRESS') used
  join project p on p.account_id = $account_id and p.project_id = used.project_id
  where $project_ids::uuid[] is null or p.project_id = any ($project_ids::uuid[])
  order by p.name limit ${namedProjects}`,
);
export const deleteEnterpriseOauthRow = statement(
  { parameters: { account_id: 'uuid', enterprise_oauth_id: 'uuid' } },
  'delete from enterprise_oauth where account_id = $account_id and enterprise_oauth_id = $enterprise_oauth_id',
);

/** @throws `enterprise-oauth-not-found` */
export async function lockEnterpriseOauth(
  tx: Transaction,
  accountId: string,
  id: string,
): Promise<EnterpriseOauthRow> {
  const [row] = await tx.query(lockOne, { account_id: accountId, enterprise_oauth_id: toUuid(id) });
  if (row === undefined) throw problem('enterprise-oauth-not-found', { id });
  return row;
}

/**
 * @param projectIds null: all
 * @throws `enterprise-oauth-in-use`
 */
export async function requireUnused(
  tx: Transaction,
  accountId: string,
  id: string,
  projectIds: readonly string[] | null,
): Promise<void> {
  const uses = await tx.query(selectUses, {
    account_id: accountId,
    enterprise_oauth_id: id,
    project_ids: projectIds === null ? null : [...projectIds],
  });
  const [first] = uses;
  if (first !== undefined)
    throw problem('enterprise-oauth-in-use', { projects: uses.map(({ name }) => name), total: first.total });
}

/** The roles that may list the connections. */
const managers = permissions['enterprise-oauths:manage'].account.map((role) => `'${role}'`).join(', ');

/** SQL condition of a guarded read: the connection `o` is shared with the project, or the caller may list it. */
export const mayUseOauth = `(exists (
      select from enterprise_oauth_project s
      where s.account_id = $account_id and s.enterprise_oauth_id = o.enterprise_oauth_id and s.project_id = $project_id)
    or exists (
      select from account_role r
      where r.account_id = $account_id and r.principal_id = $principal_id and r.role in (${managers})
        and ${inEffect('r')}))`;

/** A connection that the caller may use for the project. */
export const usableEnterpriseOauth = guardedRead(
  { parameters: { enterprise_oauth_id: 'uuid' }, row: shownRow },
  `
  select ${columns} from enterprise_oauth o
  where o.account_id = $account_id and o.enterprise_oauth_id = $enterprise_oauth_id and ${mayUseOauth}`,
);

const selectOne = statement(
  {
    parameters: { account_id: 'uuid', enterprise_oauth_id: 'uuid' },
    row: { ...shownRow, sealed_secrets: 'bytea' },
  },
  `
  select ${columns}, o.sealed_secrets from enterprise_oauth o
  where o.account_id = $account_id and o.enterprise_oauth_id = $enterprise_oauth_id`,
);

export async function findEnterpriseOauth(
  read: Read,
  accountId: string,
  id: string,
): Promise<(EnterpriseOauthRow & { sealed_secrets: Buffer }) | undefined> {
  const [row] = await read(selectOne, { account_id: accountId, enterprise_oauth_id: toUuid(id) });
  return row;
}
