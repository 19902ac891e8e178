/** Connections to data warehouses. They share the table and the names of the other connections. */
import {
  type ConnectionPropertyMap,
  createDataPlatformConnection,
  type DataPlatformConnection,
  dataPlatformWords,
  deleteDataPlatformConnection,
  getDataPlatformConnection,
  listDataPlatformConnections,
  updateDataPlatformConnection,
} from '@headgate/contract';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { requireWord } from '../../kernel/http/words.ts';
import { readProperties } from '../environments/index.ts';
import {
  type ConnectionRow,
  connectionPage,
  deleteConnectionRow,
  insertConnection,
  lockWarehouseConnection,
  renderConnectionEtag,
  updateConnectionRow,
  warehouseConnectionByName,
  warehouseConnectionType,
} from './connection.store.ts';
import { buildConnectionEvent } from './connection-event.ts';
import { requireConnectionNames } from './connection-names.ts';

export function dataPlatformConnectionRoutes({ read, write }: Endpoints): void {
  read(listDataPlatformConnections, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(connectionPage, {
      is_warehouse: true,
      auth_provider: null,
      platform_connection_type: null,
      names: null,
      limit,
      offset,
    });
    return { body: { page: query.page, results: rows.map(presentWarehouse), size: limit, total } };
  });

  read(getDataPlatformConnection, async ({ params, rows }) => {
    const name = params.connectionName;
    const found = await rows(warehouseConnectionByName, { name });
    const row = requireRow(found, () => problem('connection-not-found', { name }));
    return { body: presentWarehouse(row), etag: renderConnectionEtag(row) };
  });

  write(createDataPlatformConnection, async ({ tx, scope, params, body, now, newId }) => {
    const { projectId } = params;
    requireWarehouseType(body.platformConnectionType);
    const row: ConnectionRow = {
      connection_id: newId(),
      name: body.name,
      platform_connection_type: warehouseConnectionType,
      auth_provider: requireWord(dataPlatformWords.authProvider, body.authProvider, 'authProvider'),
      auth_type: requireWord(dataPlatformWords.authType, body.authType, 'authType'),
      details: readDetails(body.connectionProperties),
      version: 1,
      created_by: scope.actorId,
      created_at: now,
    };
    insertConnection(tx, scope, projectId, row);
    const granted = await requireConnectionNames({ tx, scope, now }, projectId, row.details);
    const after = presentWarehouse(row);
    return {
      body: after,
      etag: renderConnectionEtag(row),
      location: `/v1/projects/${projectId}/data-platform-connections/${encodeURIComponent(row.name)}`,
      events: [buildConnectionEvent('connection-created', projectId, row, { after }), ...granted],
    };
  });

  write(updateDataPlatformConnection, async ({ tx, scope, params, headers, body, now }) => {
    const { projectId } = params;
    const stored = await lockWarehouseConnection(tx, scope, projectId, params.connectionName);
    requireMatch(headers['If-Match'], renderConnectionEtag(stored));
    if (body.platformConnectionType !== undefined) requireWarehouseType(body.platformConnectionType);
    if (body.authProvider !== undefined) requireOwnProvider(body.authProvider, stored.auth_provider);
    const row: ConnectionRow = {
      ...stored,
      auth_type: requireWord(dataPlatformWords.authType, body.authType, 'authType'),
      details: readDetails(body.connectionProperties),
      version: stored.version + 1,
    };
    updateConnectionRow(tx, scope, projectId, row);
    const granted = await requireConnectionNames({ tx, scope, now }, projectId, row.details);
    const [before, after] = [presentWarehouse(stored), presentWarehouse(row)];
    return {
      body: after,
      etag: renderConnectionEtag(row),
      events: [buildConnectionEvent('connection-updated', projectId, row, { before, after }), ...granted],
    };
  });

  write(deleteDataPlatformConnection, async ({ tx, scope, params, headers }) => {
    const { projectId } = params;
    const stored = await lockWarehouseConnection(tx, scope, projectId, params.connectionName);
    requireMatch(headers['If-Match'], renderConnectionEtag(stored));
    deleteConnectionRow(tx, scope, projectId, stored.name);
    const before = presentWarehouse(stored);
    return { events: [buildConnectionEvent('connection-deleted', projectId, stored, { before })] };
  });
}

function requireWarehouseType(input: string): void {
  requireWord(dataPlatformWords.platformConnectionType, input, 'platformConnectionType');
}

/** Throws `connection-provider-fixed`. */
function requireOwnProvider(input: string, provider: string): void {
  const found = requireWord(dataPlatformWords.authProvider, input, 'authProvider');
  if (found !== provider) throw problem('connection-provider-fixed', { provider, found });
}

function readDetails(input: ConnectionPropertyMap | undefined): ConnectionRow['details'] {
  if (input === undefined) return null;
  return { connectionProperties: readProperties(input, 'body.connectionProperties') };
}

function presentWarehouse(row: ConnectionRow): DataPlatformConnection {
  const connection: DataPlatformConnection = {
    name: row.name,
    platformConnectionType: warehouseConnectionType,
    authProvider: row.auth_provider as DataPlatformConnection['authProvider'],
    authType: row.auth_type as DataPlatformConnection['authType'],
  };
  const properties = row.details?.connectionProperties;
  if (properties !== undefined) connection.connectionProperties = properties as ConnectionPropertyMap;
  return connection;
}
