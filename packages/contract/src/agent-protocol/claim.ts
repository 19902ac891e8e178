/** Claims: what an agent gets to do a piece of work. */
import { type Static, Type } from 'typebox';
import { ConnectionTestWork } from '../connection/connection-test.ts';
import { DateTime, mapOf, oneOf, Uuid } from '../primitives.ts';
import { SecretWriteWork } from '../secret/secret-value.ts';
import { SecretCheckWork } from '../secret-reference/secret-check.ts';
import { GridRow, NumberValue, TextValue } from '../variable/variable-value.ts';
import { WarehouseQueryWork } from '../warehouse-query/warehouse-query.ts';
import { TableReadWork } from '../warehouse-table/warehouse-table.ts';
import { ConnectorAuthorizationWork, ConnectorTestWork } from './connector-work.ts';
import { claimLimit, claimWaitLimitSeconds } from './protocol-constants.ts';
import { runMembers } from './run-members.ts';
import { RestartPlan } from './run-restart.ts';
import { TestExecutionWork } from './test-execution-work.ts';
import { agentCommands, Command, type WorkKind } from './work.ts';

const ScheduledWork = Type.Object({
  id: Uuid,
  name: Type.String({ maxLength: 255, description: 'Empty if the schedule was deleted' }),
  tick: {
    ...DateTime,
    description:
      'The logical time: the tick, or the start of a run that was started by hand. UTC, with milliseconds',
  },
});
/** The schedule that a run is of. */
export type ScheduledWork = Static<typeof ScheduledWork>;

export const PipelineExecutionWork = Type.Object({
  pipelineExecutionId: Uuid,
  ...runMembers,
  pipelineName: Type.String({ minLength: 1, maxLength: 1_024 }),
  pipelineType: oneOf(['ORCHESTRATION', 'TRANSFORMATION']),
  scalarVariables: mapOf(Type.Union([TextValue, NumberValue]), { maxProperties: 500 }),
  gridVariables: mapOf(Type.Array(GridRow, { maxItems: 10_000 }), { maxProperties: 100 }),
  restart: Type.Optional(RestartPlan),
  schedule: Type.Optional(
    Type.Union([ScheduledWork, Type.Null()], { description: 'Null or absent: the run is of no schedule' }),
  ),
});
export type PipelineExecutionWork = Static<typeof PipelineExecutionWork>;

const claimedWork = {
  workId: Uuid,
  epoch: Type.Integer({ minimum: 1 }),
  leaseExpiresAt: DateTime,
  environmentShare: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      description:
        'The part of the places of one kind, in percent, that the environment of the work may hold. An older server does not send it: then 50',
    }),
  ),
};
export const WorkItem = Type.Union([
  Type.Object({
    ...claimedWork,
    kind: Type.Literal('pipeline-execution'),
    payload: PipelineExecutionWork,
  }),
  Type.Object({ ...claimedWork, kind: Type.Literal('secret-write'), payload: SecretWriteWork }),
  Type.Object({ ...claimedWork, kind: Type.Literal('secret-check'), payload: SecretCheckWork }),
  Type.Object({ ...claimedWork, kind: Type.Literal('test-execution'), payload: TestExecutionWork }),
  Type.Object({ ...claimedWork, kind: Type.Literal('warehouse-query'), payload: WarehouseQueryWork }),
  Type.Object({ ...claimedWork, kind: Type.Literal('table-read'), payload: TableReadWork }),
  Type.Object({ ...claimedWork, kind: Type.Literal('connection-test'), payload: ConnectionTestWork }),
  Type.Object({ ...claimedWork, kind: Type.Literal('connector-test'), payload: ConnectorTestWork }),
  Type.Object({
    ...claimedWork,
    kind: Type.Literal('connector-authorization'),
    payload: ConnectorAuthorizationWork,
  }),
]);
export type WorkItem = Static<typeof WorkItem>;
/** Work of one kind. */
export type WorkOf<Kind extends WorkKind> = Extract<WorkItem, { kind: Kind }>;

export const ClaimRequest = Type.Object({
  instanceId: Uuid,
  max: Type.Integer({
    minimum: 0,
    maximum: claimLimit,
    description: 'Free places for runs; 0 claims none',
  }),
  maxShort: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: claimLimit,
      description:
        'Free places for short work: queries, writes and checks of secrets, tests and authorizations of connectors. Absent: `max` is for all work',
    }),
  ),
  waitSeconds: Type.Integer({ minimum: 0, maximum: claimWaitLimitSeconds }),
});
export type ClaimRequest = Static<typeof ClaimRequest>;

export const ClaimResponse = Type.Object({
  work: Type.Array(WorkItem, { maxItems: 2 * claimLimit }),
  commands: Type.Array(Command, { maxItems: 1_000 }),
  agentCommand: Type.Optional(oneOf(agentCommands)),
});
export type ClaimResponse = Static<typeof ClaimResponse>;
