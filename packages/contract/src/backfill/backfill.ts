/** Backfills: the runs of a schedule for a time that is past. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, OpaqueId, oneOf, pageOf, pageQuery, Uuid } from '../primitives.ts';
import { ScheduleProblem, schedulePath } from '../schedule/schedule.ts';

/** Ticks of one backfill. */
export const backfillTickLimit = 10_000;
/** Backfills of one project that have not ended. */
export const backfillLimit = 100;
const concurrencyLimit = 100;

const backfillPath = { ...schedulePath, backfillId: OpaqueId };

/**
 * - `STOPPING`: no further tick starts, and runs have not ended: of a cancelled backfill, or of one whose
 *   caller lost its permission.
 * - `FAILED`: the caller lost its permission. A run that fails does not end a backfill.
 */
const backfillStatuses = ['RUNNING', 'STOPPING', 'COMPLETED', 'CANCELLED', 'FAILED'] as const;
export type BackfillStatus = (typeof backfillStatuses)[number];
const Status = named('BackfillStatus', oneOf(backfillStatuses));

const Concurrency = Type.Integer({
  minimum: 1,
  maximum: concurrencyLimit,
  description: 'How many of its runs may be under way at a time',
});
const Count = Type.Integer({ minimum: 0 });

const backfillMembers = {
  backfillId: Uuid,
  scheduleId: Uuid,
  status: Status,
  from: DateTime,
  to: DateTime,
  concurrency: Concurrency,
  ticks: { ...Count, description: 'How many ticks the range has' },
  startedTicks: { ...Count, description: 'How many of them have a run' },
  firstTick: DateTime,
  lastTick: DateTime,
  createdAt: DateTime,
  endedAt: Type.Optional(DateTime),
  user: Type.Optional(
    Type.String({
      maxLength: 255,
      description: 'The caller that started it. Its runs have the rights of this caller',
    }),
  ),
  problem: Type.Optional({
    ...ScheduleProblem,
    description:
      'Why its next tick cannot start; it is tried again. Of a FAILED backfill: why it ended. `since` is when this was found',
  }),
};
const Backfill = named('Backfill', Type.Object(backfillMembers));
export type Backfill = Static<typeof Backfill>;

const BackfillCounts = named(
  'BackfillCounts',
  Type.Object({
    total: Count,
    waiting: { ...Count, description: 'Ticks that have no run yet' },
    running: { ...Count, description: 'Runs that have not ended' },
    succeeded: Count,
    failed: Count,
    cancelled: Count,
    forbidden: Count,
    skipped: { ...Count, description: 'Ticks that get no run, because the backfill was cancelled or failed' },
  }),
);
export type BackfillCounts = Static<typeof BackfillCounts>;

const backfillOperation = { surface: 'dpc', tag: 'Schedules' } as const;
const backfillsPath = '/v1/projects/{projectId}/schedules/{scheduleId}/backfills';

export const createBackfill = operation({
  ...backfillOperation,
  id: 'createBackfill',
  method: 'POST',
  path: backfillsPath,
  summary: 'Start a backfill',
  description:
    'Runs the pipeline of the schedule once for each tick from `from` (included) to `to` (excluded), in order, with the tick as `sysvar.schedule.tick`. ' +
    'The ticks are those of the present expression, also before `effectiveFrom`. They do not depend on whether the schedule is enabled, and its own ticks go on meanwhile. ' +
    'The runs have the rights of the caller, checked at each of them. `scheduleId` and `backfillId` of an execution say what it belongs to.',
  permission: 'environment:run',
  environmentFrom: 'resource',
  params: Type.Object(schedulePath),
  body: Type.Object({
    from: DateTime,
    to: { ...DateTime, description: 'Not in the future' },
    concurrency: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: concurrencyLimit,
        default: 1,
        description: 'How many runs may be under way at a time',
      }),
    ),
  }),
  success: {
    status: 201,
    body: Type.Object({ backfillId: Uuid, ticks: Count, firstTick: DateTime, lastTick: DateTime }),
    headers: ['Location'],
  },
  problems: [
    'schedule-not-found',
    'schedule-expression',
    'backfill-range',
    'backfill-too-long',
    'too-many-backfills',
    'environment-not-found',
    'artifact-not-found',
    'artifact-disabled',
    'pipeline-not-found',
    'pipeline-unreadable',
    'unknown-agent',
    'environment-without-agent',
    'unknown-pipeline-variable',
    'pipeline-variable-type',
  ],
  events: ['backfill-created'],
});

export const listBackfills = operation({
  ...backfillOperation,
  id: 'listBackfills',
  method: 'GET',
  path: backfillsPath,
  summary: 'List the backfills of a schedule',
  description: 'Newest first.',
  permission: 'project:read',
  params: Type.Object(schedulePath),
  query: Type.Object({
    ...pageQuery,
    status: Type.Optional(Status),
  }),
  success: { status: 200, body: pageOf(Backfill) },
  problems: ['schedule-not-found'],
  events: [],
});

export const getBackfill = operation({
  ...backfillOperation,
  id: 'getBackfill',
  method: 'GET',
  path: `${backfillsPath}/{backfillId}`,
  summary: 'Get a backfill',
  description: 'With the number of its ticks and runs in each state.',
  permission: 'project:read',
  params: Type.Object(backfillPath),
  success: {
    status: 200,
    body: named('BackfillDetail', Type.Object({ ...backfillMembers, counts: BackfillCounts })),
  },
  problems: ['backfill-not-found'],
  events: [],
});

export const cancelBackfill = operation({
  ...backfillOperation,
  id: 'cancelBackfill',
  method: 'PATCH',
  path: `${backfillsPath}/{backfillId}`,
  summary: 'Cancel a backfill',
  description:
    'No further tick starts, and its runs are cancelled: after their running step, or at once with `forceUpdate`. The backfill is CANCELLED when they have ended.',
  permission: 'environment:run',
  environmentFrom: 'resource',
  params: Type.Object(backfillPath),
  body: Type.Object({
    status: Type.Literal('CANCELLED'),
    forceUpdate: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether to end running steps at once' }),
    ),
  }),
  success: {
    status: 200,
    body: Type.Object({ backfillId: Uuid, status: Status }),
  },
  problems: ['backfill-not-found', 'backfill-not-running'],
  events: [
    'backfill-cancelled',
    'pipeline-execution-cancel-requested',
    'pipeline-execution-ended',
    'lineage-recorded',
  ],
});

export const backfillOperations = [createBackfill, listBackfills, getBackfill, cancelBackfill] as const;
