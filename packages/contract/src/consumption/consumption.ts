/** Consumption: what the account has used, by UTC day, and the credits that it costs. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, oneOf, Uuid } from '../primitives.ts';

export const consumptionTypes = [
  'orchestration',
  'transformation',
  'script',
  'streaming',
  'test',
  'ai',
] as const;
export type ConsumptionType = (typeof consumptionTypes)[number];

/** Days of one request. */
export const consumptionDaysLimit = 366;
/** Entries of one response, over all days. */
export const consumptionEntryLimit = 100_000;
/** Users of one response. */
export const chargedUserLimit = 100_000;

const Day = Type.String({
  format: 'date',
  maxLength: 10,
  description: 'A calendar date in UTC, for example 2026-11-01',
});
const Amount = (description: string) => Type.Number({ minimum: 0, description });

export const Consumption = named(
  'Consumption',
  Type.Object({
    consumptionType: oneOf(consumptionTypes, {
      description:
        'orchestration, transformation: components of such a pipeline. script: Python and Bash components. ' +
        'test: tests of pipelines. ai: turns of AI tasks. streaming: streaming pipelines',
    }),
    dimensions: Type.Object({
      pipelineName: Type.Optional(Type.String({ maxLength: 1_200, description: 'Absent for AI tasks' })),
      projectId: Uuid,
      projectName: Type.String({
        maxLength: 255,
        description: 'Of a deleted project, its last name',
      }),
      environment: Type.Optional(Type.String({ maxLength: 255 })),
    }),
    credits: Amount('By the prices at the time of counting'),
    units: Type.Object({
      seconds: Amount('Of components, tests or turns. Two at the same time count twice'),
      rows: Amount('That components reported'),
      bytes: Amount('Of the responses of APIs, uncompressed, that components loaded'),
      runs: Amount('Of the pipeline, also as a child of another one; of ai, turns'),
      inputTokens: Amount('Of ai'),
      outputTokens: Amount('Of ai'),
    }),
  }),
);
export type Consumption = Static<typeof Consumption>;

export const ConsumptionPeriod = named(
  'ConsumptionPeriod',
  Type.Object({
    consumedFrom: DateTime,
    consumedBefore: DateTime,
    consumption: Type.Array(Consumption, { maxItems: consumptionEntryLimit }),
  }),
);
export type ConsumptionPeriod = Static<typeof ConsumptionPeriod>;

export const EtlUserConsumption = named(
  'EtlUserConsumption',
  Type.Object({
    consumedFrom: DateTime,
    consumedBefore: DateTime,
    chargedUsers: Type.Array(Type.Object({ username: Type.String({ maxLength: 320 }) }), {
      maxItems: chargedUserLimit,
      description: 'Each once, by name',
    }),
    credits: Amount('The price of a user (`perUser`), for each of them'),
  }),
);
export type EtlUserConsumption = Static<typeof EtlUserConsumption>;

const consumptionOperation = { surface: 'dpc', tag: 'Consumption' } as const;
const path = '/v1/consumption';

export const getConsumption = operation({
  ...consumptionOperation,
  id: 'getConsumption',
  method: 'GET',
  path,
  summary: 'Get the consumption of the account',
  description:
    'Contains each UTC day with consumption, oldest first, from `consumedFrom` (inclusive) to `consumedBefore` (exclusive). ' +
    'A run is counted when it ends: each of its components on the day on which the component ended.',
  permission: 'consumption:manage',
  query: Type.Object({ consumedFrom: Day, consumedBefore: Day }),
  success: {
    status: 200,
    body: Type.Object({ results: Type.Array(ConsumptionPeriod, { maxItems: consumptionDaysLimit }) }),
  },
  problems: ['consumption-range', 'consumption-too-large'],
  events: [],
});

export const getEtlUserConsumption = operation({
  ...consumptionOperation,
  id: 'getEtlUserConsumption',
  method: 'GET',
  path: `${path}/etl-users`,
  summary: 'Get who used the account',
  description:
    'Contains the users and API credentials that started runs, tests or turns of AI tasks, on the UTC days that lie at least partly in the range. What schedules start counts for no user.',
  permission: 'consumption:manage',
  query: Type.Object({ consumedFrom: DateTime, consumedBefore: DateTime }),
  success: { status: 200, body: EtlUserConsumption },
  problems: ['consumption-range', 'consumption-too-large'],
  events: [],
});

export const consumptionOperations = [getConsumption, getEtlUserConsumption] as const;
