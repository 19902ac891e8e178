/** The test of a data warehouse connection: an agent signs in. */
import { type Static, Type } from 'typebox';
import { WarehouseConnectionValues } from '../agent-protocol/run-members.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { EnvironmentName, Name, OpaqueId, oneOf, Uuid } from '../primitives.ts';
import { projectPath } from '../project/project.ts';

/** How long an agent may take. */
export const connectionTestSeconds = 30;
const messageLimit = 5_000;

export const ConnectionTestWork = Type.Object({
  projectId: Uuid,
  authProvider: Type.String({ maxLength: 50 }),
  connection: WarehouseConnectionValues,
  seconds: Type.Integer({ minimum: 1 }),
});
/** One sign-in to a warehouse. Completes with `connectionTest`, also if the warehouse refuses it. */
export type ConnectionTestWork = Static<typeof ConnectionTestWork>;

export const ConnectionTestResult = named(
  'ConnectionTestResult',
  Type.Object({
    status: oneOf(['OK', 'FAILED']),
    message: Type.Optional(
      Type.String({ maxLength: messageLimit, description: 'Of a test that failed: why, and what to do' }),
    ),
    serverVersion: Type.Optional(Type.String({ maxLength: 255 })),
    durationMs: Type.Integer({ minimum: 0 }),
  }),
);
export type ConnectionTestResult = Static<typeof ConnectionTestResult>;

export const testDataPlatformConnection = operation({
  id: 'testDataPlatformConnection',
  method: 'POST',
  path: '/v1/projects/{projectId}/data-platform-connections/{connectionName}/test',
  surface: 'dpc',
  tag: 'Connections',
  summary: 'Test a data warehouse connection',
  description:
    `An agent reads the secrets of the connection, signs in to the warehouse and signs out, within ${connectionTestSeconds} seconds. ` +
    'The status is 200 also if the warehouse refuses: see `status` and `message` in the response.',
  permission: 'project:configure',
  params: Type.Object({ ...projectPath, connectionName: Name }),
  body: Type.Object({
    environmentName: Type.Optional({
      ...EnvironmentName,
      description:
        'The connection is tested with the overrides of this environment. Default: without overrides',
    }),
    agentId: Type.Optional({
      ...OpaqueId,
      description: 'Default: the agent of the environment, or the only agent of the account',
    }),
  }),
  success: { status: 200, body: ConnectionTestResult },
  problems: [
    'connection-not-found',
    'unknown-environment',
    'unknown-agent',
    'connection-test-agent-unavailable',
    'connection-test-timeout',
  ],
  events: ['connection-test-requested'],
});

export const connectionTestOperations = [testDataPlatformConnection] as const;
