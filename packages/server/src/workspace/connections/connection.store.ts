/** The tables `connection` and `connection_override`. */
import type {
  AuthType,
  ConnectionDetails,
  ConnectionOverride,
  ConnectionPropertyMap,
  IdentifiedConnection,
  PlatformConnectionType,
} from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

/** The stored type of a data warehouse connection. Lists of project connections omit it. */
export const warehouseConnectionType = 'DWH';

const connectionRow = {
  connection_id: 'uuid',
  name: 'text',
  platform_connection_type: typed<PlatformConnectionType | typeof warehouseConnectionType>('text'),
  auth_provider: 'text',
  auth_type: 'text',
  /** The properties of a warehouse connection by name. */
  details: typed<ConnectionDetails | { connectionProperties: ConnectionPropertyMap } | null>('jsonb'),
  version: 'bigint',
  created_by: 'uuid',
  created_at: 'timestamptz',
} satisfies ColumnTypes;
export type ConnectionRow = RowOf<typeof connectionRow>;

const columns =
  'connection_id, name, platform_connection_type, auth_provider, auth_type, details, version, created_by, created_at';
const filters = `account_id = $account_id and project_id = $project_id and (platform_connection_type = 'DWH') = $is_warehouse::boolean
  and ($auth_provider::text is null or auth_provider = $auth_provider)
    and ($platform_connection_type::text is null or platform_connection_type = $platform_connection_type)
  and ($names::text[] is null or name = any ($names))`;

export const connectionPage = guardedPage(
  {
    parameters: {
      is_warehouse: 'boolean',
      auth_provider: 'text?',
      platform_connection_type: 'text?',
      names: 'text[]?',
      limit: 'bigint',
      offset: 'bigint',
    },
    row: connectionRow,
  },
  {
    rows: `select ${columns} from connection where ${filters} order by name limit $limit offset $offset`,
    total: `select count(*)::bigint as total from connection where ${filters}`,
  },
);

const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      name: 'text',
      connection_id: 'uuid',
      platform_connection_type: 'text',
      auth_provider: 'text',
      auth_type: 'text',
      details: 'jsonb?',
      version: 'bigint',
      created_by: 'uuid',
      created_at: 'timestamptz',
    },
  },
  `
  insert into connection (account_id, project_id, name, connection_id, platform_connection_type, auth_provider, auth_type, details,
    version, created_by, created_at)
  values ($account_id, $project_id, $name, $connection_id, $platform_connection_type, $auth_provider, $auth_type,
    $details, $version, $created_by, $created_at)`,
);

export function insertConnection(tx: Transaction, scope: Scope, projectId: string, row: ConnectionRow): void {
  tx.onConstraint('connection_name_taken', () => problem('connection-name-taken', { name: row.name }));
  tx.send(insertOne, {
    account_id: scope.accountId,
    project_id: projectId,
    name: row.name,
    connection_id: row.connection_id,
    platform_connection_type: row.platform_connection_type,
    auth_provider: row.auth_provider,
    auth_type: row.auth_type,
    details: renderDetails(row),
    version: row.version,
    created_by: row.created_by,
    created_at: row.created_at,
  });
}

export const warehouseConnectionByName = guardedRead(
  { parameters: { name: 'text' }, row: connectionRow },
  `select ${columns} from connection
  where account_id = $account_id and project_id = $project_id and name = $name and platform_connection_type = 'DWH'`,
);

const lockOne = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', name: 'text', is_warehouse: 'boolean' },
    row: connectionRow,
  },
  `
  select ${columns} from connection
  where account_id = $account_id and project_id = $project_id and name = $name
    and (platform_connection_type = 'DWH') = $is_warehouse::boolean for update`,
);

const declareLock =
  (isWarehouse: boolean) =>
  async (tx: Transaction, scope: Scope, projectId: string, name: string): Promise<ConnectionRow> => {
    const [row] = await tx.query(lockOne, {
      account_id: scope.accountId,
      project_id: projectId,
      name,
      is_warehouse: isWarehouse,
    });
    if (row === undefined) throw problem('connection-not-found', { name });
    return row;
  };

/** Both throw `connection-not-found`, also for a connection of the other kind. */
export const lockConnection = declareLock(false);
export const lockWarehouseConnection = declareLock(true);

const updateOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      name: 'text',
      platform_connection_type: 'text',
      auth_type: 'text',
      details: 'jsonb?',
      version: 'bigint',
    },
  },
  `
  update connection set platform_connection_type = $platform_connection_type, auth_type = $auth_type,
    details = $details, version = $version
  where account_id = $account_id and project_id = $project_id and name = $name`,
);

export function updateConnectionRow(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  row: ConnectionRow,
): void {
  tx.send(updateOne, {
    account_id: scope.accountId,
    project_id: projectId,
    name: row.name,
    platform_connection_type: row.platform_connection_type,
    auth_type: row.auth_type,
    details: renderDetails(row),
    version: row.version,
  });
}

const deleteOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', name: 'text' } },
  'delete from connection where account_id = $account_id and project_id = $project_id and name = $name',
);

export function deleteConnectionRow(tx: Transaction, scope: Scope, projectId: string, name: string): void {
  tx.send(deleteOne, { account_id: scope.accountId, project_id: projectId, name });
}

const overrideRow = {
  name: 'text',
  platform_connection_type: typed<PlatformConnectionType>('text'),
  auth_provider: 'text',
  auth_type: 'text',
  overrides: typed<ConnectionOverride['connectionOverrides']>('jsonb'),
  created_by: 'uuid',
  created_at: 'timestamptz',
} satisfies ColumnTypes;
type OverrideRow = RowOf<typeof overrideRow>;

/** The total is null if the environment does not exist. */
export const connectionOverridePage = guardedPage(
  {
    parameters: { environment_name: 'text', limit: 'bigint', offset: 'bigint' },
    row: overrideRow,
    totalType: 'bigint?',
  },
  {
    rows: `
    select c.name, c.platform_connection_type, c.auth_provider, c.auth_type, o.overrides, o.created_by, o.created_at
    from connection_override o
    join connection c on c.account_id = o.account_id and c.project_id = o.project_id and c.name = o.connection_name
    where o.account_id = $account_id and o.project_id = $project_id and o.environment_name = $environment_name
    order by c.name limit $limit offset $offset`,
    total: `
    select case when exists (select from environment where account_id = $account_id and project_id = $project_id
      and name = $environment_name) then (
      select count(*) from connection_override where account_id = $account_id and project_id = $project_id
        and environment_name = $environment_name)::bigint
    end as total`,
  },
);

const upsertOverride = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      environment_name: 'text',
      connection_name: 'text',
      overrides: 'jsonb',
      created_by: 'uuid',
      created_at: 'timestamptz',
    },
    row: { overrides_before: typed<object | null>('jsonb'), created_by: 'uuid', created_at: 'timestamptz' },
  },
  `
  with before as (
    select overrides from connection_override
    where account_id = $account_id and project_id = $project_id and environment_name = $environment_name
      and connection_name = $connection_name
  )
  insert into connection_override (account_id, project_id, environment_name, connection_name, overrides, created_by, created_at)
  values ($account_id, $project_id, $environment_name, $connection_name, $overrides, $created_by, $created_at)
  on conflict (account_id, project_id, environment_name, connection_name) do update set overrides = excluded.overrides
  returning (select overrides from before) as overrides_before, created_by, created_at`,
);

export async function writeOverride(
  tx: Transaction,
  scope: Scope,
  about: { projectId: string; environmentName: string; connectionName: string },
  overrides: ConnectionOverride['connectionOverrides'],
  now: Date,
) {
  const { projectId, environmentName, connectionName } = about;
  const [row] = await tx.query(upsertOverride, {
    account_id: scope.accountId,
    project_id: projectId,
    environment_name: environmentName,
    connection_name: connectionName,
    overrides: JSON.stringify(overrides),
    created_by: scope.actorId,
    created_at: now,
  });
  if (row === undefined) throw new Error('The upsert returned no row.');
  return row;
}

const deleteOverrides = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', environment_name: 'text', names: 'text[]' },
    row: { connection_name: 'text', overrides: typed<object>('jsonb') },
  },
  `
  delete from connection_override
  where account_id = $account_id and project_id = $project_id and environment_name = $environment_name
    and connection_name = any ($names)
  returning connection_name, overrides`,
);

/**
 * Removes the overrides of all names, or none: throws `connection-override-not-found` if one is missing.
 */
export async function removeOverrides(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  environmentName: string,
  names: readonly string[],
) {
  const rows = await tx.query(deleteOverrides, {
    account_id: scope.accountId,
    project_id: projectId,
    environment_name: environmentName,
    names,
  });
  const missing = names.filter((name) => !rows.some((row) => row.connection_name === name));
  if (missing.length > 0) throw problem('connection-override-not-found', { names: missing, environmentName });
  return rows;
}

function renderDetails({ details }: ConnectionRow): string | null {
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

export function renderConnectionEtag(row: ConnectionRow): string {
  return makeEntityTag(row.connection_id, row.version);
}
