/** Reports: the start, the steps, the results of tests and the end of a piece of work. */
import { type Static, Type } from 'typebox';
import { ConnectionTestResult } from '../connection/connection-test.ts';
import { named } from '../named-schema.ts';
import { DateTime, Name, oneOf, Uuid } from '../primitives.ts';
import { receiptLimit } from '../secret/secret-value.ts';
import { CheckedSecrets } from '../secret-reference/secret-check.ts';
import { WarehouseRows } from '../warehouse-query/warehouse-query.ts';
import { TableReadResult } from '../warehouse-table/warehouse-table.ts';
import {
  connectorTestLimit,
  reportedLineageLimit,
  reportedLinesLimit,
  reportLimit,
  stepSqlLimit,
} from './protocol-constants.ts';
import { StepLineage } from './run-lineage.ts';
import { LogLine } from './run-log.ts';
import { StepRecord } from './run-restart.ts';
import { RunVariables } from './run-variables.ts';
import { TestResult } from './test-execution-work.ts';
import { Holding } from './work.ts';

export const stepStatuses = ['RUNNING', 'SUCCESS', 'FAILED', 'CANCELLED', 'SKIPPED'] as const;
export type StepStatus = (typeof stepStatuses)[number];
export const StepStatus = named('PipelineExecutionStepStatus', oneOf(stepStatuses));

export const StepProgress = named(
  'PipelineExecutionStepProgress',
  Type.Object({
    done: Type.Integer({ minimum: 0 }),
    total: Type.Optional(Type.Integer({ minimum: 0, description: 'Absent if it is not known' })),
    unit: oneOf(['iterations', 'rows']),
    percent: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  }),
);
/** How far a running step is, if that is known. */
export type StepProgress = Static<typeof StepProgress>;

export const StepAttempt = Type.Integer({
  minimum: 1,
  maximum: 1_000_000,
  description: 'Which attempt of the component it is; absent if the component has only one',
});

export const Step = Type.Object({
  stepId: Uuid,
  pipelineRunId: Uuid,
  name: Name,
  componentType: Type.String({ minLength: 1, maxLength: 255 }),
  status: StepStatus,
  startedAt: DateTime,
  finishedAt: Type.Optional(DateTime),
  message: Type.Optional(Type.String({ maxLength: 10_000 })),
  rowCount: Type.Optional(Type.Integer({ minimum: 0 })),
  byteCount: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Bytes of the responses of an API, uncompressed' }),
  ),
  childPipeline: Type.Optional(
    Type.Object({ id: Uuid, name: Type.String({ minLength: 1, maxLength: 1_200 }) }),
  ),
  progress: Type.Optional(StepProgress),
  sql: Type.Optional(
    Type.String({ maxLength: stepSqlLimit, description: 'The statements as they were run' }),
  ),
  attempt: Type.Optional(StepAttempt),
  restart: Type.Optional(StepRecord),
});
/**
 * One run of one component. `pipelineRunId` is the execution's id for the pipeline that was started and an id
 * of its own for each pipeline called below it. A step is sent whole again, under the same `stepId`, when it
 * changes.
 */
export type Step = Static<typeof Step>;

const Reporting = { ...Holding, sequence: Type.Integer({ minimum: 1 }) };

export const Report = Type.Union([
  Type.Object({ ...Reporting, type: Type.Literal('started') }),
  Type.Object({
    ...Reporting,
    type: Type.Literal('progress'),
    steps: Type.Array(Step, { minItems: 1, maxItems: 1_000 }),
    lines: Type.Optional(
      Type.Array(LogLine, {
        minItems: 1,
        maxItems: reportedLinesLimit,
        description: 'Of steps that this report or an earlier one names',
      }),
    ),
    variables: Type.Optional(Type.Array(RunVariables, { minItems: 1, maxItems: 100 })),
    lineage: Type.Optional(
      Type.Array(StepLineage, {
        minItems: 1,
        maxItems: reportedLineageLimit,
        description: 'Of steps that succeeded. An agent of the release before sends none',
      }),
    ),
  }),
  Type.Object({
    ...Reporting,
    type: Type.Literal('tested'),
    results: Type.Array(TestResult, { minItems: 1, maxItems: 100 }),
  }),
  Type.Object({
    ...Reporting,
    type: Type.Literal('completed'),
    outcome: Type.Object({
      status: oneOf(['SUCCESS', 'FAILED', 'CANCELLED']),
      message: Type.Optional(Type.String({ maxLength: 10_000 })),
      receipt: Type.Optional(
        Type.String({ maxLength: receiptLimit, description: 'Of a secret that was written' }),
      ),
      valueFault: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 1_000,
          description: 'Of a FAILED secret write: why the sealed value itself is refused; no vault was asked',
        }),
      ),
      checkedSecrets: Type.Optional(CheckedSecrets),
      queryResult: Type.Optional(WarehouseRows),
      tableRead: Type.Optional(TableReadResult),
      connectionTest: Type.Optional(ConnectionTestResult),
      connectorTest: Type.Optional(
        Type.String({
          maxLength: connectorTestLimit,
          description: 'Of the test of an endpoint: a ConnectorTestResult as JSON text',
        }),
      ),
      stepsRefused: Type.Optional(
        Type.Boolean({
          description: 'The server refused a report of steps: the run did more than its steps say',
        }),
      ),
    }),
  }),
  Type.Object({ ...Reporting, type: Type.Literal('released'), reason: Type.String({ maxLength: 1_000 }) }),
]);
export type Report = Static<typeof Report>;
/** What a holder reports of work that ended. */
export type WorkOutcome = Extract<Report, { type: 'completed' }>['outcome'];

export const ReportsRequest = Type.Object({
  instanceId: Uuid,
  reports: Type.Array(Report, { minItems: 1, maxItems: reportLimit }),
});
export type ReportsRequest = Static<typeof ReportsRequest>;

/** The last two end the work: it is FAILED. */
export const reportRefusals = [
  'stale-epoch',
  'work-not-found',
  'run-of-another-work',
  'too-many-steps',
  'implausible-time',
] as const;
export type ReportRefusal = (typeof reportRefusals)[number];

export const ReportsResponse = Type.Object({
  results: Type.Array(
    Type.Union([
      Type.Object({ workId: Uuid, accepted: Type.Literal(true) }),
      Type.Object({
        workId: Uuid,
        accepted: Type.Literal(false),
        code: oneOf(reportRefusals),
        detail: Type.String({ maxLength: 1_000 }),
      }),
    ]),
    { maxItems: reportLimit },
  ),
});
export type ReportsResponse = Static<typeof ReportsResponse>;
