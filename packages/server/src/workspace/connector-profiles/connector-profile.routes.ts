/** Both kinds of profiles have the same operations. */
import {
  type ConnectorKind,
  createCustomConnector,
  createFlexConnector,
  deleteCustomConnector,
  deleteFlexConnector,
  getCustomConnector,
  getFlexConnector,
  listCustomConnectors,
  listFlexConnectors,
  updateCustomConnector,
  updateFlexConnector,
} from '@headgate/contract';
import { requireRow, type Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import {
  type ConnectorProfileRow,
  connectorProfileById,
  connectorProfilesOfKind,
  insertConnectorProfile,
  isAlternateIdTaken,
  lockConnectorProfile,
  markConnectorProfileDeleted,
  presentConnectorProfile,
  renderConnectorProfile,
  renderConnectorProfileEtag,
  summarizeConnectorProfile,
  updateConnectorProfileRow,
} from './connector-profile.store.ts';
import { createAlternateId, readWrittenProfile } from './connector-profile.ts';

const flexOperations = {
  kind: 'flex',
  list: listFlexConnectors,
  create: createFlexConnector,
  get: getFlexConnector,
  update: updateFlexConnector,
  remove: deleteFlexConnector,
} as const;
const customOperations = {
  kind: 'custom',
  list: listCustomConnectors,
  create: createCustomConnector,
  get: getCustomConnector,
  update: updateCustomConnector,
  remove: deleteCustomConnector,
} as const;
type KindOperations = typeof flexOperations | typeof customOperations;

export function connectorProfileRoutes(endpoints: Endpoints): void {
  for (const operations of [flexOperations, customOperations]) {
    readingRoutes(endpoints, operations);
    createRoute(endpoints, operations);
    changingRoutes(endpoints, operations);
  }
}

function readingRoutes({ read }: Endpoints, { kind, list, get }: KindOperations): void {
  read(list, async ({ query, rows }) => {
    const found = await rows(connectorProfilesOfKind, { kind, include_deleted: query.includeDeleted });
    return { text: `[${found.map(renderConnectorProfile).join(',')}]` };
  });

  read(get, async ({ params, rows }) => {
    const { connectorProfileId: id } = params;
    const found = await rows(connectorProfileById, { kind, profile_id: toUuid(id) });
    const row = requireRow(found, () => problem('connector-profile-not-found', { id, kind }));
    return { body: presentConnectorProfile(row), etag: renderConnectorProfileEtag(row) };
  });
}

function createRoute({ write }: Endpoints, { kind, create }: KindOperations): void {
  write(create, async ({ tx, scope, body, now, newId }) => {
    const { name, alternateId, text, bytes, oauthNames } = readWrittenProfile(body);
    const id = newId();
    const row: ConnectorProfileRow = {
      profile_id: id,
      alternate_id: alternateId ?? (await chooseAlternateId(tx, scope, kind, { name, id })),
      name,
      profile: text,
      version: 1,
      last_modified: now,
      deleted_at: null,
    };
    await insertConnectorProfile(tx, scope, kind, { row, bytes, oauthNames });
    return {
      body: presentConnectorProfile(row),
      etag: renderConnectorProfileEtag(row),
      location: `/v1/${kind}-connectors/${id}`,
      events: [buildEvent('connector-profile-created', kind, row, { after: summarizeConnectorProfile(row) })],
    };
  });
}

async function chooseAlternateId(
  tx: Transaction,
  scope: Scope,
  kind: ConnectorKind,
  { name, id }: { name: string; id: string },
): Promise<string> {
  const short = createAlternateId(name);
  // The end of an id is random.
  return (await isAlternateIdTaken(tx, scope, kind, short)) ? `${short}-${id.slice(-12)}` : short;
}

function changingRoutes({ write }: Endpoints, { kind, update, remove }: KindOperations): void {
  write(update, async ({ tx, scope, params, headers, body, now }) => {
    const { name, alternateId, text, bytes, oauthNames } = readWrittenProfile(body);
    const stored = await lockConnectorProfile(tx, scope, kind, params.connectorProfileId);
    requireMatch(headers['If-Match'], renderConnectorProfileEtag(stored));
    requireSameAlternateId(stored, alternateId);
    const row: ConnectorProfileRow = {
      ...stored,
      name,
      profile: text,
      version: stored.version + 1,
      last_modified: now,
    };
    await updateConnectorProfileRow(tx, scope, kind, { row, bytes, oauthNames });
    const [before, after] = [summarizeConnectorProfile(stored), summarizeConnectorProfile(row)];
    return {
      body: presentConnectorProfile(row),
      etag: renderConnectorProfileEtag(row),
      events: [buildEvent('connector-profile-updated', kind, row, { before, after })],
    };
  });

  write(remove, async ({ tx, scope, params, headers, now }) => {
    const stored = await lockConnectorProfile(tx, scope, kind, params.connectorProfileId);
    requireMatch(headers['If-Match'], renderConnectorProfileEtag(stored));
    markConnectorProfileDeleted(tx, scope, kind, stored.profile_id, now);
    const before = summarizeConnectorProfile(stored);
    return { events: [buildEvent('connector-profile-deleted', kind, stored, { before })] };
  });
}

/** Pipelines and upload parts name a profile by it. */
function requireSameAlternateId(stored: ConnectorProfileRow, input: string | undefined): void {
  if (input === undefined || input === stored.alternate_id) return;
  const reason = `is ${JSON.stringify(input)}, and that of the profile is ${JSON.stringify(stored.alternate_id)}; it cannot be changed: leave it out, or create another profile`;
  throw problem('connector-profile-invalid', { field: 'body.alternateId', reason, more: 0 });
}

function buildEvent(
  name: AccountEvent['name'],
  kind: ConnectorKind,
  row: ConnectorProfileRow,
  states: { before?: object; after?: object },
): AccountEvent {
  const subject = { type: `${kind}-connector`, id: row.profile_id, name: row.name };
  return { name, subject, ...states };
}
