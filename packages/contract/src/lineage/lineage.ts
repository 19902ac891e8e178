/** The lineage of runs as OpenLineage events: https://openlineage.io/spec/2-0-2/OpenLineage.json */
import { type Static, Type } from 'typebox';
import { countedEventLimit } from '../account-event/account-event.ts';
import { lineageDatasetsLimit } from '../agent-protocol/protocol-constants.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, oneOf, pageOf, pageQuery, Uuid } from '../primitives.ts';

const Facets = Type.Unsafe<Record<string, object>>({
  type: 'object',
  maxProperties: 20,
  propertyNames: { maxLength: 100 },
  additionalProperties: { type: 'object', additionalProperties: true },
  description: 'Facets of OpenLineage by name. Each names its schema in `_schemaURL`',
});
const Text = Type.String({ maxLength: 2_000 });
const Place = Type.String({
  maxLength: 200,
  description: 'The scheme, and the ids of the project and of the environment',
});

const dataset = { namespace: Place, name: Text, facets: Type.Optional(Facets) };
/** A run that consists of many steps reads and writes more than one step does. */
export const runDatasetsLimit = 10 * lineageDatasetsLimit;

export const runEventTypes = ['START', 'COMPLETE', 'FAIL', 'ABORT', 'OTHER'] as const;

export const RunEvent = named(
  'OpenLineageRunEvent',
  Type.Object({
    eventType: oneOf(runEventTypes),
    eventTime: DateTime,
    producer: Text,
    schemaURL: Text,
    run: Type.Object({ runId: Uuid, facets: Type.Optional(Facets) }),
    job: Type.Object({
      namespace: Type.String({
        ...Place,
        description: '`{scheme}://{projectId}.{environmentId}`. The scheme is HEADGATE_LINEAGE_SCHEME',
      }),
      name: Type.String({ ...Text, description: 'The path of the pipeline' }),
      facets: Type.Optional(Facets),
    }),
    inputs: Type.Array(Type.Object(dataset), { maxItems: runDatasetsLimit }),
    outputs: Type.Array(Type.Object({ ...dataset, outputFacets: Type.Optional(Facets) }), {
      maxItems: runDatasetsLimit,
    }),
  }),
);
/** https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent */
export type RunEvent = Static<typeof RunEvent>;

export const LineageEvent = named(
  'LineageEvent',
  Type.Object({ id: Type.String({ maxLength: 100 }), event: RunEvent }),
);
export type LineageEvent = Static<typeof LineageEvent>;

export const listLineageEvents = operation({
  id: 'listLineageEvents',
  method: 'GET',
  path: '/v1/lineage/events',
  surface: 'dpc',
  tag: 'Lineage',
  summary: 'List lineage events',
  description:
    'The OpenLineage events that were generated from `generatedFrom` (inclusive) to `generatedBefore` (exclusive), oldest first. ' +
    'Each run of a pipeline has one event START and one of COMPLETE, FAIL and ABORT; so has each pipeline that it calls, whose event names the calling run. ' +
    `\`total\` is exact up to ${countedEventLimit.toLocaleString('en')}; a larger number is reported as that limit.`,
  permission: 'events:read',
  query: Type.Object({ generatedFrom: DateTime, generatedBefore: DateTime, ...pageQuery }),
  success: { status: 200, body: pageOf(LineageEvent) },
  problems: [],
  events: [],
});

export const lineageOperations = [listLineageEvents] as const;
