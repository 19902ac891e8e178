/** The table `enterprise_oauth`. */
import { enterpriseOauthsPerAccount, type GitProviderName } from '@headgate/contract';
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
import { guardedPage } from '../../kernel/security/guarded-read.ts';

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
export type EnterpriseOauthRow = RowOf<typeof oauthRow>;

const columns =
  'enterprise_oauth_id, name, provider, base_url, client_id, tenant_id, installation_id, created_by, created_at';

export const enterpriseOauthPage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: oauthRow },
  {
    rows: `
    select ${columns} from enterprise_oauth where account_id = $account_id
    order by enterprise_oauth_id desc limit $limit offset $offset`,
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
  row: EnterpriseOauthRow,
  sealedSecrets: Buffer,
): Promise<void> {
  const [lock, count] = countUnderLock;
  tx.send(lock, { account_id: accountId });
  const [counted] = await tx.query(count, { account_id: accountId });
  if ((counted?.count ?? 0) >= enterpriseOauthsPerAccount)
    throw problem('too-many-enterprise-oauths', { limit: enterpriseOauthsPerAccount });
  tx.onConstraint('enterprise_oauth_name', () => problem('enterprise-oauth-name-taken', { name: row.name }));
  tx.send(insertOne, { account_id: accountId, ...row, sealed_secrets: sealedSecrets });
}

const lockOne = statement(
  { parameters: { account_id: 'uuid', enterprise_oauth_id: 'uuid' }, row: oauthRow },
  `
  select ${columns} from enterprise_oauth
  where account_id = $account_id and enterprise_oauth_id = $enterprise_oauth_id for update`,
);
const namedProjects = 10;
/** Repositories, and migrations that are in progress to one that will use it. */
const selectUses = statement(
  {
    parameters: { account_id: 'uuid', enterprise_oauth_id: 'uuid' },
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
  order by p.name limit ${namedProjects}`,
);
const deleteOne = statement(
  { parameters: { account_id: 'uuid', enterprise_oauth_id: 'uuid' } },
  'delete from enterprise_oauth where account_id = $account_id and enterprise_oauth_id = $enterprise_oauth_id',
);

/** @throws `enterprise-oauth-not-found`, `enterprise-oauth-in-use` */
export async function deleteEnterpriseOauthRow(
  tx: Transaction,
  accountId: string,
  id: string,
): Promise<EnterpriseOauthRow> {
  const key = { account_id: accountId, enterprise_oauth_id: toUuid(id) };
  const [row] = await tx.query(lockOne, key);
  if (row === undefined) throw problem('enterprise-oauth-not-found', { id });
  const uses = await tx.query(selectUses, key);
  const [first] = uses;
  if (first !== undefined)
    throw problem('enterprise-oauth-in-use', { projects: uses.map(({ name }) => name), total: first.total });
  tx.send(deleteOne, key);
  return row;
}

const selectOne = statement(
  {
    parameters: { account_id: 'uuid', enterprise_oauth_id: 'uuid' },
    row: { ...oauthRow, sealed_secrets: 'bytea' },
  },
  `
  select ${columns}, sealed_secrets from enterprise_oauth
  where account_id = $account_id and enterprise_oauth_id = $enterprise_oauth_id`,
);

export async function findEnterpriseOauth(
  read: Read,
  accountId: string,
  id: string,
): Promise<(EnterpriseOauthRow & { sealed_secrets: Buffer }) | undefined> {
  const [row] = await read(selectOne, { account_id: accountId, enterprise_oauth_id: toUuid(id) });
  return row;
}
