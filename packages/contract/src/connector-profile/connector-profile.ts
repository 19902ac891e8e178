/** Connector profiles of the account. */
import { Type } from 'typebox';
import { operation } from '../operation.ts';
import { ifMatchHeader, OpaqueId } from '../primitives.ts';
import {
  ConnectorProfile,
  ConnectorProfileRequest,
  connectorProfileLimit,
} from './connector-profile-shape.ts';

const profileOperation = { surface: 'dpc', tag: 'Connector profiles' } as const;
const flexPath = '/v1/flex-connectors';
const customPath = '/v1/custom-connectors';
const oneFlexPath = `${flexPath}/{connectorProfileId}` as const;
const oneCustomPath = `${customPath}/{connectorProfileId}` as const;
const oneParams = Type.Object({ connectorProfileId: OpaqueId });

const verbatim =
  'What was written comes back as it was, also members that Headgate does not know. `id`, `deleted`, `deletedTime` and `lastModified` are set by the server, and ignored in requests.';
const sizes = 'A profile has at most 1 MiB, and the profiles of a kind together at most 16 MiB.';

const list = {
  ...profileOperation,
  method: 'GET',
  permission: 'agents:list',
  description:
    'All of them, newest first, as an array without pages. Deleted ones only with `includeDeleted=true`.',
  query: Type.Object({
    includeDeleted: Type.Boolean({ default: false, description: 'Also list deleted profiles' }),
  }),
  success: { status: 200, body: Type.Array(ConnectorProfile, { maxItems: connectorProfileLimit }) },
  problems: [],
  events: [],
} as const;

const writeProblems = [
  'connector-profile-taken',
  'connector-profile-invalid',
  'too-many-connector-profiles',
] as const;

const create = {
  ...profileOperation,
  method: 'POST',
  permission: 'agents:manage',
  description: `${verbatim} ${sizes}`,
  body: ConnectorProfileRequest,
  success: { status: 201, body: ConnectorProfile, headers: ['Location', 'ETag'] },
  problems: writeProblems,
  events: ['connector-profile-created'],
} as const;

const get = {
  ...profileOperation,
  method: 'GET',
  permission: 'agents:list',
  description: 'A deleted profile is not found.',
  params: oneParams,
  success: { status: 200, body: ConnectorProfile, headers: ['ETag'] },
  problems: ['connector-profile-not-found'],
  events: [],
} as const;

const update = {
  ...profileOperation,
  method: 'PUT',
  permission: 'agents:manage',
  description: `Replaces the whole profile. Its \`alternateId\` stays: one that differs is refused. Versions that were published keep the profile that they were published with. ${verbatim}`,
  params: oneParams,
  headers: ifMatchHeader,
  body: ConnectorProfileRequest,
  success: { status: 200, body: ConnectorProfile, headers: ['ETag'] },
  problems: ['connector-profile-not-found', ...writeProblems, 'etag-mismatch'],
  events: ['connector-profile-updated'],
} as const;

const remove = {
  ...profileOperation,
  method: 'DELETE',
  permission: 'agents:manage',
  description:
    'The profile stays in lists with `includeDeleted=true` as long as there is room: the oldest deleted profiles give way to others. Published versions keep their copy.',
  params: oneParams,
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['connector-profile-not-found', 'etag-mismatch'],
  events: ['connector-profile-deleted'],
} as const;

export const listFlexConnectors = operation({
  ...list,
  id: 'listFlexConnectors',
  path: flexPath,
  summary: 'List flex connectors',
});
export const createFlexConnector = operation({
  ...create,
  id: 'createFlexConnector',
  path: flexPath,
  summary: 'Create a flex connector',
});
export const getFlexConnector = operation({
  ...get,
  id: 'getFlexConnector',
  path: oneFlexPath,
  summary: 'Get a flex connector',
});
export const updateFlexConnector = operation({
  ...update,
  id: 'updateFlexConnector',
  path: oneFlexPath,
  summary: 'Replace a flex connector',
});
export const deleteFlexConnector = operation({
  ...remove,
  id: 'deleteFlexConnector',
  path: oneFlexPath,
  summary: 'Delete a flex connector',
});

export const listCustomConnectors = operation({
  ...list,
  id: 'listCustomConnectors',
  path: customPath,
  summary: 'List custom connectors',
});
export const createCustomConnector = operation({
  ...create,
  id: 'createCustomConnector',
  path: customPath,
  summary: 'Create a custom connector',
});
export const getCustomConnector = operation({
  ...get,
  id: 'getCustomConnector',
  path: oneCustomPath,
  summary: 'Get a custom connector',
});
export const updateCustomConnector = operation({
  ...update,
  id: 'updateCustomConnector',
  path: oneCustomPath,
  summary: 'Replace a custom connector',
});
export const deleteCustomConnector = operation({
  ...remove,
  id: 'deleteCustomConnector',
  path: oneCustomPath,
  summary: 'Delete a custom connector',
});

export const connectorProfileOperations = [
  listFlexConnectors,
  createFlexConnector,
  getFlexConnector,
  updateFlexConnector,
  deleteFlexConnector,
  listCustomConnectors,
  createCustomConnector,
  getCustomConnector,
  updateCustomConnector,
  deleteCustomConnector,
] as const;
