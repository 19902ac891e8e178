import {
  awsVaultTypes,
  azureVaultTypes,
  type ConnectionDetails,
  createConnection,
  deleteConnection,
  deleteConnectionOverrides,
  gcpVaultTypes,
  listConnectionOverrides,
  listConnections,
  type SecretsLocation,
  updateConnection,
  writeConnectionOverride,
} from '@headgate/contract';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { requireEnvironment } from '../environments/index.ts';
import {
  type ConnectionRow,
  connectionOverridePage,
  connectionPage,
  deleteConnectionRow,
  insertConnection,
  lockConnection,
  presentConnection,
  presentOverride,
  removeOverrides,
  renderConnectionEtag,
  updateConnectionRow,
  writeOverride,
} from './connection.store.ts';
import { requireDetails, requireProperties, splitNames, type Triple } from './connection.ts';
import { buildConnectionEvent } from './connection-event.ts';
import { requireConnectionNames } from './connection-names.ts';
import { dataPlatformConnectionRoutes } from './data-platform-connection.routes.ts';

export function connectionRoutes(endpoints: Endpoints): void {
  projectConnectionRoutes(endpoints);
  environmentOverrideRoutes(endpoints);
  dataPlatformConnectionRoutes(endpoints);
}

function projectConnectionRoutes({ read, write }: Endpoints): void {
  read(listConnections, async ({ params, query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const names = query.connectionNames === undefined ? null : splitNames(query.connectionNames);
    const { rows, total } = await page(connectionPage, {
      is_warehouse: false,
      auth_provider: query.authProvider ?? null,
      platform_connection_type: query.platformConnectionType ?? null,
      names,
      limit,
      offset,
    });
    const results = rows.map((row) => presentConnection(row, params.projectId));
    return { body: { page: query.page, results, size: limit, total } };
  });

  write(createConnection, async ({ tx, scope, params, body, now, newId }) => {
    requireDetails(body, body.connectionDetails);
    const row: ConnectionRow = {
      connection_id: newId(),
      name: body.name,
      platform_connection_type: body.platformConnectionType,
      auth_provider: body.authProvider,
      auth_type: body.authType,
      details: pickKnownDetails(body.connectionDetails),
      version: 1,
      created_by: scope.actorId,
      created_at: now,
    };
    insertConnection(tx, scope, params.projectId, row);
    const granted = await requireConnectionNames({ tx, scope, now }, params.projectId, row.details);
    const after = presentConnection(row, params.projectId);
    return {
      body: after,
      etag: renderConnectionEtag(row),
      events: [buildConnectionEvent('connection-created', params.projectId, row, { after }), ...granted],
    };
  });

  write(updateConnection, async ({ tx, scope, params, query, headers, body, now }) => {
    const stored = await lockConnection(tx, scope, params.projectId, query.connectionName);
    requireMatch(headers['If-Match'], renderConnectionEtag(stored));
    requireDetails({ ...body, authProvider: stored.auth_provider }, body.connectionDetails);
    const row: ConnectionRow = {
      ...stored,
      platform_connection_type: body.platformConnectionType,
      auth_type: body.authType,
      details: pickKnownDetails(body.connectionDetails),
      version: stored.version + 1,
    };
    updateConnectionRow(tx, scope, params.projectId, row);
    const granted = await requireConnectionNames({ tx, scope, now }, params.projectId, row.details);
    const { id: _, ...after } = presentConnection(row, params.projectId);
    const before = presentConnection(stored, params.projectId);
    return {
      body: after,
      etag: renderConnectionEtag(row),
      events: [
        buildConnectionEvent('connection-updated', params.projectId, row, { before, after }),
        ...granted,
      ],
    };
  });

  write(deleteConnection, async ({ tx, scope, params, query }) => {
    const stored = await lockConnection(tx, scope, params.projectId, query.connectionName);
    deleteConnectionRow(tx, scope, params.projectId, stored.name);
    const before = presentConnection(stored, params.projectId);
    return { events: [buildConnectionEvent('connection-deleted', params.projectId, stored, { before })] };
  });
}

function environmentOverrideRoutes({ read, write }: Endpoints): void {
  read(listConnectionOverrides, async ({ params, query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(connectionOverridePage, {
      environment_name: query.environmentName,
      limit,
      offset,
    });
    if (total === null) throw problem('environment-not-found', { name: query.environmentName });
    const results = rows.map((row) => presentOverride(row, params.projectId));
    return { body: { page: query.page, results, size: limit, total } };
  });

  write(writeConnectionOverride, async ({ tx, scope, params, body, now }) => {
    const { projectId } = params;
    const { environmentName, connectionName } = body;
    await requireEnvironment(tx, scope, projectId, environmentName);
    const connection = await lockConnection(tx, scope, projectId, connectionName);
    requireOverridable(connection, body.authType);
    const { connectionProperties, secretsLocation } = body.connectionOverrides;
    requireProperties(
      { platformConnectionType: 'COMPONENT_BASIC' },
      connectionProperties,
      'body.connectionOverrides.connectionProperties',
    );
    const overrides = pickKnownOverrides(connectionProperties, secretsLocation);
    const granted = await requireConnectionNames({ tx, scope, now }, projectId, overrides);
    const written = await writeOverride(
      tx,
      scope,
      { projectId, environmentName, connectionName },
      overrides,
      now,
    );
    const row = { ...connection, platform_connection_type: 'COMPONENT_BASIC' as const };
    const states = {
      ...(written.overrides_before === null
        ? {}
        : { before: { environmentName, overrides: written.overrides_before } }),
      after: { environmentName, overrides },
    };
    const { created_by, created_at } = written;
    return {
      body: presentOverride({ ...row, overrides, created_by, created_at }, projectId),
      events: [
        {
          ...buildConnectionEvent('connection-override-written', projectId, connection, states),
          environmentName,
        },
        ...granted,
      ],
    };
  });

  write(deleteConnectionOverrides, async ({ tx, scope, params, query }) => {
    const { projectId } = params;
    const { environmentName } = query;
    await requireEnvironment(tx, scope, projectId, environmentName);
    const removed = await removeOverrides(
      tx,
      scope,
      projectId,
      environmentName,
      splitNames(query.connectionNames),
    );
    const events = removed.map(({ connection_name: name, overrides }): AccountEvent => {
      const before = { environmentName, overrides };
      return {
        name: 'connection-override-deleted',
        projectId,
        environmentName,
        subject: { type: 'connection', id: name, name },
        before,
      };
    });
    return { events };
  });
}

function requireOverridable(connection: ConnectionRow, authType: Triple['authType']): void {
  if (connection.platform_connection_type !== 'COMPONENT_BASIC') {
    throw problem('connection-override', {
      reason: 'Only COMPONENT_BASIC connections can be overridden in an environment.',
    });
  }
  if (connection.auth_type !== authType) {
    const reason = `body.authType is ${authType}; it must be the connection's own, ${connection.auth_type}.`;
    throw problem('connection-override', { reason });
  }
}

/** Only documented members are stored. */
function pickKnownDetails(details: ConnectionDetails | undefined): ConnectionDetails | null {
  if (details === undefined) return null;
  const known: ConnectionDetails = {};
  if (details.connectionProperties !== undefined)
    known.connectionProperties = pickKnownProperties(details.connectionProperties);
  if (details.description !== undefined) known.description = details.description;
  if (details.secretsLocation !== undefined)
    known.secretsLocation = pickKnownLocation(details.secretsLocation);
  return known;
}

function pickKnownProperties({
  credentialSecretName,
  secretName,
  secretKey,
}: NonNullable<ConnectionDetails['connectionProperties']>) {
  return {
    ...(credentialSecretName === undefined ? {} : { credentialSecretName }),
    ...(secretName === undefined ? {} : { secretName }),
    ...(secretKey === undefined ? {} : { secretKey }),
  };
}

/** The member of each kind of vault beside `type`. */
const locationMembers = [
  { types: awsVaultTypes, member: 'region' },
  { types: azureVaultTypes, member: 'vaultName' },
  { types: gcpVaultTypes, member: 'gcpProjectId' },
] as const;

function pickKnownLocation(location: SecretsLocation): SecretsLocation {
  const { type } = location;
  const members: Readonly<Record<string, unknown>> = location;
  const member = locationMembers.find(({ types }) => types.some((each) => each === type))?.member;
  const value = member === undefined ? undefined : members[member];
  return (
    member === undefined || value === undefined ? { type } : { type, [member]: value }
  ) as SecretsLocation;
}

function pickKnownOverrides(
  properties: NonNullable<ConnectionDetails['connectionProperties']>,
  location: SecretsLocation | undefined,
) {
  const connectionProperties = pickKnownProperties(properties);
  return location === undefined
    ? { connectionProperties }
    : { connectionProperties, secretsLocation: pickKnownLocation(location) };
}
