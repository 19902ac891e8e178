/** The tables `connection` and `connection_override`. */
import type {
  AuthType,
  ConnectionDetails,
  ConnectionOverride,
  ConnectionPropertyMap,
  IdentifiedConnection,
  PlatformConnectionType,
} from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { entityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

/** The stored type of a data warehouse connection, which the lists of project connections leave out. */
export const warehouseConnectionType = 'DWH';

export interface ConnectionRow {
  connection_id: string;
  name: string;
  platform_connection_type: PlatformConnectionType | typeof warehouseConnectionType;
  auth_provider: string;
  auth_type: string;
  /** Of a warehouse connection: its properties by their names. */
  details: ConnectionDetails | { connectionProperties: ConnectionPropertyMap } | null;
  version: number;
  created_by: string;
  created_at: Date;
}

const columns =
  'connection_id, name, platform_connection_type, auth_provider, auth_type, details, version, created_by, created_at';
const filters = `account_id = $1 and project_id = $3 and (platform_connection_type = 'DWH') = $9::boolean
  and ($10::text is null or auth_provider = $10) and ($11::text is null or platform_connection_type = $11)
  and ($12::text[] is null or name = any ($12))`;

/** Parameters: warehouse connections or the others, provider, type, names (each or null), limit, offset. */
export const connectionPage = guardedPage<ConnectionRow>({
  rows: `select ${columns} from connection where ${filters} order by name limit $13 offset $14`,
  total: `select count(*)::bigint as total from connection where ${filters}`,
});

const insertOne = statement(`
  insert into connection (account_id, project_id, name, connection_id, platform_connection_type, auth_provider, auth_type, details,
    version, created_by, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`);

export function insertConnection(tx: Transaction, scope: Scope, projectId: string, row: ConnectionRow): void {
  tx.onConstraint('connection_name_taken', () => problem('connection-name-taken', { name: row.name }));
  tx.send(insertOne, [
    scope.accountId,
    projectId,
    row.name,
    row.connection_id,
    row.platform_connection_type,
    row.auth_provider,
    row.auth_type,
    detailsParameter(row),
    row.version,
    row.created_by,
    row.created_at,
  ]);
}

/** Parameters: name. */
export const warehouseConnectionByName = guardedRead<ConnectionRow>(
  `select ${columns} from connection
  where account_id = $1 and project_id = $3 and name = $9 and platform_connection_type = 'DWH'`,
);

const lockOne = statement<ConnectionRow>(`
  select ${columns} from connection
  where account_id = $1 and project_id = $2 and name = $3 and (platform_connection_type = 'DWH') = $4::boolean for update`);

const lockOf =
  (isWarehouse: boolean) =>
  async (tx: Transaction, scope: Scope, projectId: string, name: string): Promise<ConnectionRow> => {
    const [row] = await tx.query(lockOne, [scope.accountId, projectId, name, isWarehouse]);
    if (row === undefined) throw problem('connection-not-found', { name });
    return row;
  };

/** Both throw `connection-not-found`, also for a connection of the other sort. */
export const lockConnection = lockOf(false);
export const lockWarehouseConnection = lockOf(true);

const updateOne = statement(`
  update connection set platform_connection_type = $4, auth_type = $5, details = $6, version = $7
  where account_id = $1 and project_id = $2 and name = $3`);

export function updateConnectionRow(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  row: ConnectionRow,
): void {
  tx.send(updateOne, [
    scope.accountId,
    projectId,
    row.name,
    row.platform_connection_type,
    row.auth_type,
    detailsParameter(row),
    row.version,
  ]);
}

const deleteOne = statement('delete from connection where account_id = $1 and project_id = $2 and name = $3');

export function deleteConnectionRow(tx: Transaction, scope: Scope, projectId: string, name: string): void {
  tx.send(deleteOne, [scope.accountId, projectId, name]);
}

interface OverrideRow {
  name: string;
  platform_connection_type: PlatformConnectionType;
  auth_provider: string;
  auth_type: string;
  overrides: ConnectionOverride['connectionOverrides'];
  created_by: string;
  created_at: Date;
}

/** Parameters: environment, limit, offset. The total is null when there is no such environment. */
export const connectionOverridePage = guardedPage<OverrideRow, number | null>({
  rows: `
    select c.name, c.platform_connection_type, c.auth_provider, c.auth_type, o.overrides, o.created_by, o.created_at
    from connection_override o
    join connection c on c.account_id = o.account_id and c.project_id = o.project_id and c.name = o.connection_name
    where o.account_id = $1 and o.project_id = $3 and o.environment_name = $9
    order by c.name limit $10 offset $11`,
  total: `
    select case when exists (select from environment where account_id = $1 and project_id = $3 and name = $9) then (
      select count(*) from connection_override where account_id = $1 and project_id = $3 and environment_name = $9)::bigint
    end as total`,
});

const upsertOverride = statement<{ overrides_before: object | null; created_by: string; created_at: Date }>(`
  with before as (
    select overrides from connection_override
    where account_id = $1 and project_id = $2 and environment_name = $3 and connection_name = $4
  )
  insert into connection_override (account_id, project_id, environment_name, connection_name, overrides, created_by, created_at)
  values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (account_id, project_id, environment_name, connection_name) do update set overrides = excluded.overrides
  returning (select overrides from before) as overrides_before, created_by, created_at`);

export async function writeOverride(
  tx: Transaction,
  scope: Scope,
  about: { projectId: string; environmentName: string; connectionName: string },
  overrides: ConnectionOverride['connectionOverrides'],
  now: Date,
) {
  const { projectId, environmentName, connectionName } = about;
  const parameters = [
    scope.accountId,
    projectId,
    environmentName,
    connectionName,
    JSON.stringify(overrides),
    scope.actorId,
    now,
  ];
  const [row] = await tx.query(upsertOverride, parameters);
  if (row === undefined) throw new Error('An upsert answers its row.');
  return row;
}

const deleteOverrides = statement<{ connection_name: string; overrides: object }>(`
  delete from connection_override
  where account_id = $1 and project_id = $2 and environment_name = $3 and connection_name = any ($4)
  returning connection_name, overrides`);

/**
 * Removes the overrides of all names. Throws `connection-override-not-found` when one is missing: then none
 * is removed.
 */
export async function removeOverrides(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  environmentName: string,
  names: readonly string[],
) {
  const rows = await tx.query(deleteOverrides, [scope.accountId, projectId, environmentName, names]);
  const missing = names.filter((name) => !rows.some((row) => row.connection_name === name));
  if (missing.length > 0) throw problem('connection-override-not-found', { names: missing, environmentName });
  return rows;
}

function detailsParameter({ details }: ConnectionRow): string | null {
  return details === null ? null : JSON.stringify(details);
}

export function presentConnection(row: ConnectionRow, projectId: string): IdentifiedConnection {
  const connection: IdentifiedConnection = {
    id: row.connection_id,
    authProvider: row.auth_provider,
    authType: row.auth_type as AuthType,
    createdBy: row.created_by,
    createdDate: row.created_at.toISOString(),
    name: row.name,
    platformConnectionType: row.platform_connection_type as PlatformConnectionType,
    projectId,
  };
  if (row.details !== null) connection.connectionDetails = row.details as ConnectionDetails;
  return connection;
}

export function presentOverride(row: OverrideRow, projectId: string): ConnectionOverride {
  return {
    name: row.name,
    platformConnectionType: row.platform_connection_type,
    authProvider: row.auth_provider,
    authType: row.auth_type as AuthType,
    connectionOverrides: row.overrides,
    createdBy: row.created_by,
    createdDate: row.created_at.toISOString(),
    projectId,
  };
}

export function connectionTag(row: ConnectionRow): string {
  return entityTag(row.connection_id, row.version);
}
