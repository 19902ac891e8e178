/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { connectionExamples } from './connection.examples.ts';

export const connectionGuards: SliceGuards = {
  examples: connectionExamples,
  uniqueNames: {
    createConnection: ({ account, project }, name) =>
      account.admin.post(`${project.path}/connections`, buildBasicConnection(name)),
    // Both kinds of connections share one set of names.
    createDataPlatformConnection: ({ account, project }, name, turn) =>
      turn % 2 === 0
        ? account.admin.post(`${project.path}/connections`, buildBasicConnection(name))
        : account.admin.post(`${project.path}/data-platform-connections`, buildWarehouseConnection(name)),
  },
};

function buildBasicConnection(name: string) {
  return {
    name,
    platformConnectionType: 'COMPONENT_BASIC',
    authProvider: 'NONE',
    authType: 'GENERIC_SECRET',
  };
}

function buildWarehouseConnection(name: string) {
  return { name, platformConnectionType: 'DWH', authProvider: 'DUCKDB', authType: 'NONE' };
}
