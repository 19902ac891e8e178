/** Schedules. */
import { type Static, Type } from 'typebox';
import { gridRowLimit, nameLimit } from '../limits.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { PipelineName } from '../pipeline-execution/pipeline-execution.ts';
import {
  DateTime,
  EnvironmentName,
  IdOrNone,
  ifMatchHeader,
  mapOf,
  Name,
  OpaqueId,
  pageOf,
  pageQuery,
  Uuid,
  VersionName,
} from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { GridRow, NumberValue, TextValue } from '../variable/variable-value.ts';

/** Schedules of one project. */
export const scheduleLimit = 10_000;
export const tickLimit = 100;

export const schedulePath = { ...projectPath, scheduleId: OpaqueId };

const CronExpression = Type.String({
  minLength: 1,
  maxLength: nameLimit,
  description:
    '5 fields (minute, hour, day of month, month, day of week; Sunday is 0), or 6 to 7 fields of Quartz (second first, year last; Sunday is 1)',
});
const IntervalExpression = named(
  'ScheduleInterval',
  Type.Object({
    interval: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    unit: Type.String({
      minLength: 1,
      maxLength: 20,
      description: 'SECONDS, MINUTES, HOURS, DAYS or WEEKS, in any case',
    }),
  }),
);
const TimeZone = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'A name of the IANA time zone database, such as Europe/Berlin. The default is UTC',
});
const variables = {
  scalarVariables: mapOf(Type.Union([TextValue, NumberValue]), { maxProperties: 500 }),
  gridVariables: mapOf(Type.Array(GridRow, { maxItems: gridRowLimit }), { maxProperties: 100 }),
};

export const ScheduleProblem = named(
  'ScheduleProblem',
  Type.Object({
    code: Type.String({ maxLength: 100, description: 'The code of the problem, as in error responses' }),
    detail: Type.String({ maxLength: 10_000 }),
    since: { ...DateTime, description: 'The first tick that had the problem' },
  }),
);
export type ScheduleProblem = Static<typeof ScheduleProblem>;

export const Schedule = named(
  'Schedule',
  Type.Object({
    scheduleId: Uuid,
    name: Name,
    pipelineName: PipelineName,
    environmentName: EnvironmentName,
    versionName: Type.Optional(VersionName),
    agentId: Type.Optional(Uuid),
    cronExpression: Type.Optional(CronExpression),
    intervalExpression: Type.Optional(IntervalExpression),
    cronTimezone: TimeZone,
    effectiveFrom: Type.Optional({ ...DateTime, description: 'There is no tick before this time' }),
    lastRunAt: Type.Optional({ ...DateTime, description: 'When its newest run started' }),
    nextRunAt: Type.Optional({
      ...DateTime,
      description: 'The next tick. Absent while the schedule is paused, and after its last tick',
    }),
    scheduleEnabled: Type.Boolean(),
    allowConcurrentExecutions: Type.Boolean(),
    ...variables,
    user: Type.Optional({
      ...Name,
      description: 'The caller that last wrote the schedule. Runs have the rights of this caller',
    }),
    problem: Type.Optional({
      ...ScheduleProblem,
      description: 'Why the schedule cannot run. Absent if its last tick had no problem',
    }),
  }),
);
export type Schedule = Static<typeof Schedule>;

const scheduleOperation = { surface: 'dpc', tag: 'Schedules' } as const;
const schedulesPath = '/v1/projects/{projectId}/schedules';

const startProblems = [
  'environment-not-found',
  'artifact-not-found',
  'artifact-disabled',
  'pipeline-not-found',
  'pipeline-unreadable',
  'unknown-agent',
  'environment-without-agent',
  'unknown-pipeline-variable',
  'pipeline-variable-type',
] as const;
const timetableProblems = [
  'schedule-expression',
  'schedule-expressions',
  'schedule-time-zones',
  'schedule-too-frequent',
] as const;

export const listSchedules = operation({
  ...scheduleOperation,
  id: 'listSchedules',
  method: 'GET',
  path: schedulesPath,
  summary: 'List schedules',
  description: 'Newest first.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object({
    ...pageQuery,
    environmentName: Type.Optional(EnvironmentName),
    pipelineName: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1_024, description: 'A part of the name; not case-sensitive' }),
    ),
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: nameLimit,
        description: 'A part of the name; not case-sensitive',
      }),
    ),
  }),
  success: { status: 200, body: pageOf(Schedule) },
  problems: [],
  events: [],
});

/** Other spellings of `cronTimezone` in a request. */
export const otherTimezones = ['timezone', 'timeZone', 'cronTimeZone'] as const;
const otherTimezone = Type.Optional({
  ...TimeZone,
  description: 'Read as `cronTimezone`, which it must not contradict',
});

const timing = {
  cronExpression: Type.Optional(CronExpression),
  intervalExpression: Type.Optional(IntervalExpression),
  cronTimezone: Type.Optional(TimeZone),
  timezone: otherTimezone,
  timeZone: otherTimezone,
  cronTimeZone: otherTimezone,
  scheduleEnabled: Type.Optional(Type.Boolean()),
  allowConcurrentExecutions: Type.Optional(Type.Boolean()),
};

export const createSchedule = operation({
  ...scheduleOperation,
  id: 'createSchedule',
  method: 'POST',
  path: schedulesPath,
  summary: 'Create a schedule',
  description:
    'Give either `cronExpression` or `intervalExpression`. Without `versionName`, each run uses the newest enabled version at its tick. ' +
    'Without `agentId`, it uses the default agent of the environment, or the only agent of the account. ' +
    'If `allowConcurrentExecutions` is false, a tick during a run of the schedule is SKIPPED. ' +
    'Runs have the rights of the caller that last wrote the schedule, checked at each tick, so the caller also needs permission to start executions in the environment.',
  permission: 'project:configure',
  params: Type.Object(projectPath),
  body: Type.Object({
    pipeline: Type.Object({
      pipelineName: PipelineName,
      environmentName: EnvironmentName,
      versionName: Type.Optional(VersionName),
      agentId: Type.Optional(OpaqueId),
      scalarVariables: Type.Optional(variables.scalarVariables),
      gridVariables: Type.Optional(variables.gridVariables),
    }),
    schedule: Type.Object({ name: Name, ...timing, effectiveFrom: Type.Optional(DateTime) }),
  }),
  success: {
    status: 201,
    body: Type.Object({
      scheduleId: Uuid,
      cronTimezone: TimeZone,
      nextRunAt: Type.Optional({
        ...DateTime,
        description: 'The first tick. Absent if the schedule is not enabled',
      }),
    }),
    headers: ['Location', 'ETag'],
  },
  problems: ['schedule-name-taken', 'too-many-schedules', ...timetableProblems, ...startProblems],
  events: ['schedule-created'],
});

export const getSchedule = operation({
  ...scheduleOperation,
  id: 'getSchedule',
  method: 'GET',
  path: `${schedulesPath}/{scheduleId}`,
  summary: 'Get a schedule',
  description: 'The ETag changes when the schedule is written, not at its ticks.',
  permission: 'project:read',
  params: Type.Object(schedulePath),
  success: { status: 200, body: Schedule, headers: ['ETag'] },
  problems: ['schedule-not-found'],
  events: [],
});

export const updateSchedule = operation({
  ...scheduleOperation,
  id: 'updateSchedule',
  method: 'PATCH',
  path: `${schedulesPath}/{scheduleId}`,
  summary: 'Update a schedule',
  description:
    'Members that the request omits keep their value. An empty string removes `versionName`, `agentId` or `effectiveFrom`. ' +
    '`cronExpression` replaces an interval, and `intervalExpression` replaces a cron expression. From then on, runs have the rights of the caller. ' +
    'A schedule that is enabled must be able to run: the request is checked like one to start the pipeline.',
  permission: 'project:configure',
  params: Type.Object(schedulePath),
  headers: ifMatchHeader,
  body: Type.Object({
    name: Type.Optional(Name),
    ...timing,
    effectiveFrom: Type.Optional(
      Type.Union([DateTime, Type.Literal('')], { description: 'A date-time; "" removes it' }),
    ),
    versionName: Type.Optional(
      Type.Union([VersionName, Type.Literal('')], {
        description: 'The name of an artifact version; "" means the newest enabled version at each tick',
      }),
    ),
    agentId: Type.Optional(IdOrNone),
    pipelineName: Type.Optional(
      Type.String({
        maxLength: nameLimit,
        description: 'Cannot be changed: only the present name is accepted',
      }),
    ),
    environmentName: Type.Optional(
      Type.String({
        maxLength: nameLimit,
        description: 'Cannot be changed: only the present name is accepted',
      }),
    ),
    scalarVariables: Type.Optional(variables.scalarVariables),
    gridVariables: Type.Optional(variables.gridVariables),
  }),
  success: { status: 200, body: Schedule, headers: ['ETag'] },
  problems: [
    'schedule-not-found',
    'schedule-name-taken',
    'schedule-place-fixed',
    ...timetableProblems,
    ...startProblems,
    'etag-mismatch',
  ],
  events: ['schedule-updated'],
});

export const deleteSchedule = operation({
  ...scheduleOperation,
  id: 'deleteSchedule',
  method: 'DELETE',
  path: `${schedulesPath}/{scheduleId}`,
  summary: 'Delete a schedule',
  description:
    'Its runs continue and are kept. Refused while a backfill has not ended; backfills that have ended are deleted with the schedule.',
  permission: 'project:configure',
  params: Type.Object(schedulePath),
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['schedule-not-found', 'schedule-has-backfill', 'etag-mismatch'],
  events: ['schedule-deleted'],
});

export const listScheduleTicks = operation({
  ...scheduleOperation,
  id: 'listScheduleTicks',
  method: 'GET',
  path: `${schedulesPath}/{scheduleId}/ticks`,
  summary: 'List the next ticks of a schedule',
  description:
    'Also of a paused schedule: the ticks that it would have if it were resumed now. With `from`, the ticks from that time on, also past ones.',
  permission: 'project:read',
  params: Type.Object(schedulePath),
  query: Type.Object({
    count: Type.Integer({
      minimum: 1,
      maximum: tickLimit,
      default: 10,
      description: 'How many ticks to list',
    }),
    from: Type.Optional(DateTime),
  }),
  success: {
    status: 200,
    body: Type.Object({
      cronTimezone: TimeZone,
      results: Type.Array(
        Type.Object({
          tick: DateTime,
          localTime: Type.String({
            maxLength: 40,
            description: 'The same time in the time zone of the schedule, with its offset from UTC',
          }),
        }),
        { maxItems: tickLimit },
      ),
    }),
  },
  problems: ['schedule-not-found'],
  events: [],
});

export const runSchedule = operation({
  ...scheduleOperation,
  id: 'runSchedule',
  method: 'POST',
  path: `${schedulesPath}/{scheduleId}/run`,
  summary: 'Run a schedule now',
  description:
    'Starts the pipeline once, as at a tick, with the rights of the caller and the trigger SCHEDULE_RUN_NOW. The next tick stays as it is. A paused schedule can be run, too. ' +
    'If `allowConcurrentExecutions` is false and a run of the schedule has not ended, the request is refused.',
  permission: 'environment:run',
  environmentFrom: 'resource',
  params: Type.Object(schedulePath),
  success: { status: 201, body: Type.Object({ pipelineExecutionId: Uuid }), headers: ['Location'] },
  problems: ['schedule-not-found', 'schedule-running', 'budget-exceeded', ...startProblems],
  events: ['pipeline-execution-requested'],
});

export const pauseSchedule = operation({
  ...scheduleOperation,
  id: 'pauseSchedule',
  method: 'POST',
  path: `${schedulesPath}/{scheduleId}/pause`,
  summary: 'Pause a schedule',
  description:
    'The same as an update with `scheduleEnabled: false`. A paused schedule has no ticks; its runs continue.',
  permission: 'project:configure',
  params: Type.Object(schedulePath),
  success: { status: 200, body: Schedule, headers: ['ETag'] },
  problems: ['schedule-not-found'],
  events: ['schedule-updated'],
});

export const resumeSchedule = operation({
  ...scheduleOperation,
  id: 'resumeSchedule',
  method: 'POST',
  path: `${schedulesPath}/{scheduleId}/resume`,
  summary: 'Resume a schedule',
  description:
    'The same as an update with `scheduleEnabled: true`. Ticks that passed while the schedule was paused do not run.',
  permission: 'project:configure',
  params: Type.Object(schedulePath),
  success: { status: 200, body: Schedule, headers: ['ETag'] },
  problems: ['schedule-not-found', ...timetableProblems, ...startProblems],
  events: ['schedule-updated'],
});

export const scheduleOperations = [
  listSchedules,
  createSchedule,
  getSchedule,
  updateSchedule,
  deleteSchedule,
  listScheduleTicks,
  runSchedule,
  pauseSchedule,
  resumeSchedule,
] as const;
