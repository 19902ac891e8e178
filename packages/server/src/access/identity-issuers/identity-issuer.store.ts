/** The table `identity_issuer`. */
import type { IdentityIssuer } from '@headgate/contract';
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import { type Sealer, Secret } from '../../kernel/security/sealed.ts';

const mostOfAccount = 20;

const issuerRow = {
  identity_issuer_id: 'uuid',
  name: 'text',
  issuer: 'text',
  client_id: 'text',
  client_secret_sealed: 'bytea?',
  scopes: typed<string[]>('text[]'),
  subject_claim: 'text',
  user_claim: 'text',
  user_attribute: typed<'userName' | 'externalId'>('text'),
  domains: typed<string[]>('text[]'),
  creates_users: 'boolean',
  groups_claim: 'text?',
  enabled: 'boolean',
  version: 'bigint',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} satisfies ColumnTypes;
export type IssuerRow = RowOf<typeof issuerRow>;
/** For sign-in, where the account is not known yet. */
const issuerOfAccount = { account_id: 'uuid', ...issuerRow } satisfies ColumnTypes;
export type IssuerOfAccount = RowOf<typeof issuerOfAccount>;

const columns = Object.keys(issuerRow).join(', ');

export const issuerPage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: issuerRow },
  {
    rows: `
    select ${columns} from identity_issuer where account_id = $account_id
    order by name limit $limit offset $offset`,
    total: 'select count(*)::bigint as total from identity_issuer where account_id = $account_id',
  },
);

export const issuerById = guardedRead(
  { parameters: { identity_issuer_id: 'uuid' }, row: issuerRow },
  `select ${columns} from identity_issuer
  where account_id = $account_id and identity_issuer_id = $identity_issuer_id`,
);

const lockOne = statement(
  { parameters: { account_id: 'uuid', identity_issuer_id: 'uuid' }, row: issuerRow },
  `select ${columns} from identity_issuer
  where account_id = $account_id and identity_issuer_id = $identity_issuer_id for update`,
);

/** Throws `identity-issuer-not-found`. */
export async function lockIssuer(tx: Transaction, accountId: string, id: string): Promise<IssuerRow> {
  const found = await tx.query(lockOne, { account_id: accountId, identity_issuer_id: toUuid(id) });
  return requireRow(found, () => problem('identity-issuer-not-found', { id }));
}

const countUnderLock = [
  statement(
    { parameters: { account_id: 'uuid' } },
    "select pg_advisory_xact_lock(hashtextextended('headgate identity issuers ' || $account_id::uuid, 0))",
  ),
  statement(
    { parameters: { account_id: 'uuid' }, row: { count: 'integer' } },
    'select count(*)::integer as count from identity_issuer where account_id = $account_id',
  ),
] as const;

const insertOne = statement(
  { parameters: issuerOfAccount },
  `insert into identity_issuer (account_id, ${columns})
  values ($account_id, ${Object.keys(issuerRow)
    .map((column) => `$${column}`)
    .join(', ')})`,
);

function refuseTaken(tx: Transaction, { name, issuer }: IssuerRow): void {
  tx.onConstraint('identity_issuer_name_taken', () => problem('identity-issuer-name-taken', { name }));
  tx.onConstraint('identity_issuer_taken', () => problem('identity-issuer-taken', { issuer }));
}

/** @throws `too-many-identity-issuers`, `identity-issuer-name-taken`, `identity-issuer-taken` */
export async function insertIssuer(tx: Transaction, accountId: string, row: IssuerRow): Promise<void> {
  const [lock, count] = countUnderLock;
  tx.send(lock, { account_id: accountId });
  const [counted] = await tx.query(count, { account_id: accountId });
  if ((counted?.count ?? 0) >= mostOfAccount)
    throw problem('too-many-identity-issuers', { limit: mostOfAccount });
  refuseTaken(tx, row);
  tx.send(insertOne, { account_id: accountId, ...row });
}

const updateOne = statement(
  { parameters: issuerOfAccount },
  `update identity_issuer set name = $name, issuer = $issuer, client_id = $client_id,
    client_secret_sealed = $client_secret_sealed, scopes = $scopes, subject_claim = $subject_claim,
    user_claim = $user_claim, user_attribute = $user_attribute, domains = $domains, creates_users = $creates_users,
    groups_claim = $groups_claim, enabled = $enabled, version = $version, created_at = $created_at, updated_at = $updated_at
  where account_id = $account_id and identity_issuer_id = $identity_issuer_id`,
);
const forgetSubjects = statement(
  { parameters: { account_id: 'uuid', identity_issuer_id: 'uuid' } },
  'delete from user_identity where account_id = $account_id and identity_issuer_id = $identity_issuer_id',
);

/** A subject means a person only together with the issuer and the claim that it is from. */
export function updateIssuer(tx: Transaction, accountId: string, before: IssuerRow, row: IssuerRow): void {
  refuseTaken(tx, row);
  const { identity_issuer_id } = row;
  if (before.issuer !== row.issuer || before.subject_claim !== row.subject_claim)
    tx.send(forgetSubjects, { account_id: accountId, identity_issuer_id });
  tx.send(updateOne, { account_id: accountId, ...row });
}

const deleteOne = statement(
  { parameters: { account_id: 'uuid', identity_issuer_id: 'uuid' } },
  'delete from identity_issuer where account_id = $account_id and identity_issuer_id = $identity_issuer_id',
);

export function deleteIssuer(tx: Transaction, accountId: string, issuerId: string): void {
  tx.send(deleteOne, { account_id: accountId, identity_issuer_id: issuerId });
}

const selectEnabled = statement(
  { parameters: { identity_issuer_id: 'uuid' }, row: issuerOfAccount },
  `select account_id, ${columns} from identity_issuer
  where identity_issuer_id = $identity_issuer_id and enabled`,
);

export async function findEnabledIssuer(read: Read, id: string): Promise<IssuerOfAccount | undefined> {
  const [row] = await read(selectEnabled, { identity_issuer_id: toUuid(id) });
  return row;
}

const selectAnyEnabled = statement(
  { parameters: { account_id: 'uuid' }, row: { identity_issuer_id: 'uuid' } },
  'select identity_issuer_id from identity_issuer where account_id = $account_id and enabled limit 1',
);

export async function hasEnabledIssuer(read: Read, accountId: string): Promise<boolean> {
  return (await read(selectAnyEnabled, { account_id: accountId })).length > 0;
}

const holdOne = statement(
  {
    parameters: { account_id: 'uuid', identity_issuer_id: 'uuid', version: 'bigint' },
    row: { version: 'bigint' },
  },
  `select version from identity_issuer
  where account_id = $account_id and identity_issuer_id = $identity_issuer_id and version = $version and enabled
  for share`,
);

/** Whether the issuer is as it was read; it stays so until the transaction ends. */
export async function holdIssuer(tx: Transaction, issuer: IssuerOfAccount): Promise<boolean> {
  const { account_id, identity_issuer_id, version } = issuer;
  return (await tx.query(holdOne, { account_id, identity_issuer_id, version })).length > 0;
}

const selectOfAccount = statement(
  {
    parameters: { account_name: 'text?' },
    row: { account_name: 'text', identity_issuer_id: 'uuid?', name: 'text?' },
  },
  `select a.name as account_name, i.identity_issuer_id, i.name
  from (select account_id, name from account where $account_name::text is null or name = $account_name
    order by account_id limit 2) a
  left join identity_issuer i on i.account_id = a.account_id and i.enabled
  order by a.name, i.name`,
);

export interface OfferedIssuer {
  id: string;
  name: string;
}

/** Without a name: of the only account. Undefined if there is no such account, or several. */
export async function findOfferedIssuers(
  read: Read,
  accountName: string | undefined,
): Promise<OfferedIssuer[] | undefined> {
  const rows = await read(selectOfAccount, { account_name: accountName ?? null });
  const names = new Set(rows.map(({ account_name: name }) => name));
  if (names.size !== 1) return undefined;
  return rows.flatMap(({ identity_issuer_id: id, name }) =>
    id === null || name === null ? [] : [{ id, name }],
  );
}

const makePurpose = (accountId: string, id: string) => `identity issuer ${accountId} ${id}`;

export function sealClientSecret(sealer: Sealer, accountId: string, id: string, secret: string): Buffer {
  return sealer.seal(new Secret(secret), makePurpose(accountId, id));
}

export function unsealClientSecret(sealer: Sealer, row: IssuerOfAccount): Secret | undefined {
  const { account_id, identity_issuer_id, client_secret_sealed: sealed } = row;
  return sealed === null ? undefined : sealer.unseal(sealed, makePurpose(account_id, identity_issuer_id));
}

export function renderIssuerEtag({ identity_issuer_id: id, version }: IssuerRow): string {
  return makeEntityTag(id, version);
}

/** The addresses to register at the issuer. One callback for each issuer, so that answers cannot be mixed up. */
export const buildCallback = (publicUrl: string, id: string) => `${publicUrl}/sign-in/issuers/${id}/callback`;
const buildLogout = (publicUrl: string, id: string) =>
  `${publicUrl}/sign-in/issuers/${id}/back-channel-logout`;

export function presentIssuer(row: IssuerRow, publicUrl: string): IdentityIssuer {
  return {
    identityIssuerId: row.identity_issuer_id,
    name: row.name,
    issuer: row.issuer,
    clientId: row.client_id,
    hasClientSecret: row.client_secret_sealed !== null,
    scopes: row.scopes,
    subjectClaim: row.subject_claim,
    userClaim: row.user_claim,
    userAttribute: row.user_attribute,
    domains: row.domains,
    createUsers: row.creates_users,
    ...(row.groups_claim === null ? {} : { groupsClaim: row.groups_claim }),
    enabled: row.enabled,
    redirectUri: buildCallback(publicUrl, row.identity_issuer_id),
    backchannelLogoutUri: buildLogout(publicUrl, row.identity_issuer_id),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
