/** The table `connector_profile`. */
import {
  type ConnectorKind,
  type ConnectorProfile,
  connectorProfileLimit,
  connectorProfilesBytes,
} from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
} from '../../kernel/database/database.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

const profileRow = {
  profile_id: 'uuid',
  alternate_id: 'text',
  name: 'text',
  profile: 'text',
  version: 'bigint',
  last_modified: 'timestamptz',
  deleted_at: 'timestamptz?',
} satisfies ColumnTypes;
export type ConnectorProfileRow = RowOf<typeof profileRow>;

const columns = 'profile_id, alternate_id, name, profile, version, last_modified, deleted_at';

export const connectorProfilesOfKind = guardedRead(
  { parameters: { kind: 'text', include_deleted: 'boolean' }, row: profileRow },
  `select ${columns} from connector_profile
  where account_id = $account_id and kind = $kind and (deleted_at is null or $include_deleted)
  order by profile_id desc`,
);

export const connectorProfileById = guardedRead(
  { parameters: { kind: 'text', profile_id: 'uuid' }, row: profileRow },
  `select ${columns} from connector_profile
  where account_id = $account_id and kind = $kind and profile_id = $profile_id and deleted_at is null`,
);

const profileKey = { account_id: 'uuid', kind: 'text', profile_id: 'uuid' } as const;

const lockOne = statement(
  { parameters: profileKey, row: profileRow },
  `select ${columns} from connector_profile
  where account_id = $account_id and kind = $kind and profile_id = $profile_id and deleted_at is null for update`,
);

/** Throws `connector-profile-not-found`. */
export async function lockConnectorProfile(
  tx: Transaction,
  scope: Scope,
  kind: ConnectorKind,
  id: string,
): Promise<ConnectorProfileRow> {
  const found = await tx.query(lockOne, { account_id: scope.accountId, kind, profile_id: toUuid(id) });
  return requireRow(found, () => problem('connector-profile-not-found', { id, kind }));
}

/** One writer at a time for the limits of an account, and for names that are made. */
const lockKind = statement(
  { parameters: { account_id: 'uuid', kind: 'text' } },
  "select pg_advisory_xact_lock(hashtextextended('headgate connector profiles ' || $kind || $account_id::uuid, 0))",
);
const selectTaken = statement(
  { parameters: { account_id: 'uuid', kind: 'text', alternate_id: 'text' }, row: { taken: 'boolean' } },
  `select exists (select from connector_profile
    where account_id = $account_id and kind = $kind and alternate_id = $alternate_id and deleted_at is null) as taken`,
);

/** Also keeps others from taking it until the transaction ends. */
export async function isAlternateIdTaken(
  tx: Transaction,
  scope: Scope,
  kind: ConnectorKind,
  alternateId: string,
): Promise<boolean> {
  const account = { account_id: scope.accountId, kind };
  tx.send(lockKind, account);
  const [row] = await tx.query(selectTaken, { ...account, alternate_id: alternateId });
  return row?.taken === true;
}

const writtenParameters = {
  ...profileKey,
  name: 'text',
  profile: 'text',
  bytes: 'integer',
  oauth_names: 'text[]',
  version: 'bigint',
  last_modified: 'timestamptz',
} as const;

const insertOne = statement(
  { parameters: { ...writtenParameters, alternate_id: 'text' } },
  `
  insert into connector_profile (account_id, kind, profile_id, alternate_id, name, profile, bytes, oauth_names,
    version, last_modified)
  values ($account_id, $kind, $profile_id, $alternate_id, $name, $profile, $bytes, $oauth_names, $version,
    $last_modified)`,
);
const updateOne = statement(
  { parameters: writtenParameters },
  `
  update connector_profile set name = $name, profile = $profile, bytes = $bytes, oauth_names = $oauth_names,
    version = $version, last_modified = $last_modified
  where account_id = $account_id and kind = $kind and profile_id = $profile_id`,
);

interface Stored {
  row: ConnectorProfileRow;
  bytes: number;
  oauthNames: string[];
}

function renderWritten(scope: Scope, kind: ConnectorKind, { row, bytes, oauthNames }: Stored) {
  return {
    account_id: scope.accountId,
    kind,
    profile_id: row.profile_id,
    name: row.name,
    profile: row.profile,
    bytes,
    oauth_names: oauthNames,
    version: row.version,
    last_modified: row.last_modified,
  };
}

function refuseTaken(tx: Transaction, { name, alternate_id: alternateId }: ConnectorProfileRow): void {
  const taken = (field: string, value: string) => () => problem('connector-profile-taken', { field, value });
  tx.onConstraint('connector_profile_name_taken', taken('name', name));
  tx.onConstraint('connector_profile_alternate_id_taken', taken('alternateId', alternateId));
}

/** Throws `connector-profile-taken` and `too-many-connector-profiles`. */
export async function insertConnectorProfile(
  tx: Transaction,
  scope: Scope,
  kind: ConnectorKind,
  stored: Stored,
): Promise<void> {
  refuseTaken(tx, stored.row);
  tx.send(lockKind, { account_id: scope.accountId, kind });
  tx.send(insertOne, {
    ...renderWritten(scope, kind, stored),
    alternate_id: stored.row.alternate_id,
  });
  await requireRoomForProfile(tx, scope, kind);
}

/** Throws `connector-profile-taken` and `too-many-connector-profiles`. */
export async function updateConnectorProfileRow(
  tx: Transaction,
  scope: Scope,
  kind: ConnectorKind,
  stored: Stored,
): Promise<void> {
  refuseTaken(tx, stored.row);
  tx.send(lockKind, { account_id: scope.accountId, kind });
  tx.send(updateOne, renderWritten(scope, kind, stored));
  await requireRoomForProfile(tx, scope, kind);
}

/** The oldest deleted profiles give way. */
const makeRoom = statement(
  {
    parameters: { account_id: 'uuid', kind: 'text', most: 'bigint', most_bytes: 'bigint' },
    row: { count: 'bigint', bytes: 'bigint' },
  },
  `
  with ranked as (
    select profile_id, deleted_at, bytes, row_number() over ranks as place, sum(bytes) over ranks as total
    from connector_profile where account_id = $account_id and kind = $kind
    window ranks as (order by deleted_at is not null, deleted_at desc, profile_id desc)
  ), removed as (
    delete from connector_profile p using ranked
    where p.account_id = $account_id and p.kind = $kind and p.profile_id = ranked.profile_id
      and p.deleted_at is not null and (ranked.place > $most or ranked.total > $most_bytes)
  )
  select count(*)::bigint as count, coalesce(sum(bytes), 0)::bigint as bytes from ranked where deleted_at is null`,
);

async function requireRoomForProfile(tx: Transaction, scope: Scope, kind: ConnectorKind): Promise<void> {
  const [left] = await tx.query(makeRoom, {
    account_id: scope.accountId,
    kind,
    most: connectorProfileLimit,
    most_bytes: connectorProfilesBytes,
  });
  const { count = 0, bytes = 0 } = left ?? {};
  if (count > connectorProfileLimit)
    throw problem('too-many-connector-profiles', { limit: `${connectorProfileLimit} in number` });
  if (bytes > connectorProfilesBytes)
    throw problem('too-many-connector-profiles', { limit: `${connectorProfilesBytes} bytes together` });
}

const markDeleted = statement(
  { parameters: { ...profileKey, deleted_at: 'timestamptz' } },
  `
  update connector_profile set deleted_at = $deleted_at, last_modified = $deleted_at, version = version + 1
  where account_id = $account_id and kind = $kind and profile_id = $profile_id`,
);

/** The caller has locked the row. */
export function markConnectorProfileDeleted(
  tx: Transaction,
  scope: Scope,
  kind: ConnectorKind,
  id: string,
  now: Date,
): void {
  tx.send(markDeleted, { account_id: scope.accountId, kind, profile_id: id, deleted_at: now });
}

const serverMembers = ({ deleted_at: deletedAt, last_modified: lastModified }: ConnectorProfileRow) => ({
  deleted: deletedAt !== null,
  deletedTime: deletedAt?.toISOString() ?? null,
  lastModified: lastModified.toISOString(),
});

export function presentConnectorProfile(row: ConnectorProfileRow): ConnectorProfile {
  const written = JSON.parse(row.profile) as Omit<ConnectorProfile, 'id' | 'alternateId'>;
  return { id: row.profile_id, alternateId: row.alternate_id, ...written, ...serverMembers(row) };
}

/** As JSON. The stored text is used as it is: a list may have 16 MiB of it. */
export function renderConnectorProfile(row: ConnectorProfileRow): string {
  const head = JSON.stringify({ id: row.profile_id, alternateId: row.alternate_id }).slice(0, -1);
  const tail = JSON.stringify(serverMembers(row)).slice(1);
  return `${head},${row.profile.slice(1, -1)},${tail}`;
}

const shownEndpoints = 100;

/** For events: a profile may have a megabyte. */
export function summarizeConnectorProfile(row: ConnectorProfileRow): object {
  const { id, alternateId, name, endpoints } = presentConnectorProfile(row);
  return {
    id,
    alternateId,
    name,
    version: row.version,
    endpointCount: endpoints.length,
    endpoints: endpoints.slice(0, shownEndpoints).map(({ id: of, name: called, url, httpMethod, auth }) => ({
      id: of ?? called,
      url,
      httpMethod,
      auth,
    })),
  };
}

export function renderConnectorProfileEtag(row: ConnectorProfileRow): string {
  return makeEntityTag(row.profile_id, row.version);
}
