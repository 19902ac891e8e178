/**
 * OpenLineage events: https://openlineage.io/spec/2-0-2/OpenLineage.json. The facets are those of
 * https://openlineage.io/spec/facets, and `headgate_run`, which names the execution and the version.
 */
import { type DatasetField, type DatasetKind, type RunEvent, runDatasetsLimit } from '@headgate/contract';
import {
  type LineageRecord,
  mergeSteps,
  type RunLineage,
  type SourceField,
  type WrittenDataset,
} from './lineage-record.ts';

const producer = 'urn:headgate:server';
const schemaURL = 'https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent';
const facetSchemas = {
  parent: '1-2-0/ParentRunFacet.json',
  errorMessage: '1-0-1/ErrorMessageRunFacet.json',
  extractionError: '1-1-2/ExtractionErrorRunFacet.json',
  jobType: '2-0-4/JobTypeJobFacet.json',
  sql: '1-1-0/SQLJobFacet.json',
  schema: '1-2-0/SchemaDatasetFacet.json',
  columnLineage: '1-2-0/ColumnLineageDatasetFacet.json',
  lifecycleStateChange: '1-0-1/LifecycleStateChangeDatasetFacet.json',
  outputStatistics: '1-0-2/OutputStatisticsOutputDatasetFacet.json',
} as const;
const errorsLimit = 100;
/**
 * Characters of the names in the lineage of columns of one event: each use of a column repeats the name of its dataset.
 */
const columnCharacters = 1_048_576;
/** Of a use of a column, about, besides its names. */
const useCharacters = 150;

/** Where the datasets of each kind are: they are those of one environment. */
const datasetSchemes: Readonly<Record<Exclude<DatasetKind, 'object'>, string>> = {
  warehouse: 'warehouse',
  file: 'files',
  api: 'api',
};

/** `s3://bucket/key`: all environments have the same stores, so that other products find them by the same name. */
function divideObjectName(name: string): { namespace: string; name: string } {
  const slash = name.indexOf('/', name.indexOf('://') + '://'.length);
  return slash < 0
    ? { namespace: name, name: '/' }
    : { namespace: name.slice(0, slash), name: name.slice(slash + 1) };
}

type Facets = Record<string, object>;

/** @param scheme of the namespaces of jobs: HEADGATE_LINEAGE_SCHEME */
export function renderRunEvent(scheme: string, record: LineageRecord): RunEvent {
  const place = `${record.projectId}.${record.environmentId}`;
  const namespace = `${scheme}://${place}`;
  const { inputs, outputs: merged, gaps } = mergeSteps(record.steps);
  const { outputs, omittedColumns } = limitColumns(merged);
  const locate = ({ kind, name }: { kind: DatasetKind; name: string }) =>
    kind === 'object' ? divideObjectName(name) : { namespace: `${datasetSchemes[kind]}://${place}`, name };
  const { sql } = record;
  return {
    eventType: record.eventType,
    eventTime: record.eventTime,
    producer,
    schemaURL,
    run: { runId: record.runId, facets: renderRunFacets(record, namespace, { gaps, omittedColumns }) },
    job: {
      namespace,
      name: record.pipelineName,
      facets: {
        jobType: renderFacet('jobType', {
          processingType: 'BATCH',
          integration: 'HEADGATE',
          jobType: record.pipelineType,
        }),
        ...(sql === undefined ? {} : { sql: renderFacet('sql', { query: sql }) }),
      },
    },
    inputs: inputs
      .slice(0, runDatasetsLimit)
      .map((input) => ({ ...locate(input), facets: renderSchema(input.fields) })),
    outputs: outputs.slice(0, runDatasetsLimit).map((output) => ({
      ...locate(output),
      facets: renderOutputFacets(output, ({ dataset, field }) => ({ ...locate(dataset), field })),
      outputFacets:
        output.rowCount === undefined
          ? {}
          : { outputStatistics: renderFacet('outputStatistics', { rowCount: output.rowCount }) },
    })),
  };
}

/** An event of the account as one of a job with its name: the test of a webhook, and alerts that name it. */
export function renderOtherEvent(
  scheme: string,
  about: { name: string; runId: string; eventTime: string },
): RunEvent {
  const { name, runId, eventTime } = about;
  const job = { namespace: `${scheme}://events`, name };
  return { eventType: 'OTHER', eventTime, producer, schemaURL, run: { runId }, job, inputs: [], outputs: [] };
}

/** Leaves out the last columns where all have too many characters. */
function limitColumns(outputs: readonly WrittenDataset[]): {
  outputs: WrittenDataset[];
  omittedColumns: number;
} {
  let characters = 0;
  let omittedColumns = 0;
  const hasRoom = (sources: readonly SourceField[]) => {
    for (const { dataset, field } of sources)
      characters += dataset.name.length + field.length + useCharacters;
    const isWithin = characters <= columnCharacters;
    if (!isWithin) omittedColumns += 1;
    return isWithin;
  };
  const limited = outputs.map((output) => ({
    ...output,
    columns: new Map([...output.columns].filter(([, sources]) => hasRoom(sources))),
    decidedBy: output.decidedBy.filter((source) => hasRoom([source])),
  }));
  return { outputs: limited, omittedColumns };
}

function renderFacet(name: keyof typeof facetSchemas, members: object): object {
  return {
    _producer: producer,
    _schemaURL: `https://openlineage.io/spec/facets/${facetSchemas[name]}`,
    ...members,
  };
}

function renderRunFacets(
  record: LineageRecord,
  namespace: string,
  { gaps, omittedColumns }: { gaps: RunLineage['gaps']; omittedColumns: number },
): Facets {
  const { executionId, environmentName, versionName, parent, message, steps = [], omittedSteps = 0 } = record;
  const facets: Facets = {
    headgate_run: {
      _producer: producer,
      _schemaURL: 'urn:headgate:lineage:run',
      pipelineExecutionId: executionId,
      environmentName,
      versionName,
    },
  };
  if (parent !== undefined)
    facets.parent = renderFacet('parent', {
      run: { runId: parent.runId },
      job: { namespace, name: parent.pipelineName },
    });
  if (message !== undefined && record.eventType !== 'COMPLETE')
    facets.errorMessage = renderFacet('errorMessage', { message, programmingLanguage: 'SQL' });
  const errors = gaps.map(({ stepId, reason }) => ({ errorMessage: reason, task: stepId }));
  if (omittedSteps > 0)
    errors.unshift({
      errorMessage: `The run has more lineage than is kept: that of ${omittedSteps} steps is left out.`,
      task: record.runId,
    });
  if (omittedColumns > 0)
    errors.unshift({
      errorMessage: `The run has more lineage than an event has: ${omittedColumns} columns are left out.`,
      task: record.runId,
    });
  if (errors.length > 0)
    facets.extractionError = renderFacet('extractionError', {
      totalTasks: steps.length + omittedSteps,
      failedTasks: new Set(gaps.map(({ stepId }) => stepId)).size + omittedSteps,
      errors: errors.slice(0, errorsLimit),
    });
  return facets;
}

function renderSchema(fields: readonly DatasetField[] | undefined): Facets {
  return fields === undefined ? {} : { schema: renderFacet('schema', { fields }) };
}

const transformations = {
  IDENTITY: { type: 'DIRECT', subtype: 'IDENTITY' },
  CHANGED: { type: 'DIRECT', subtype: 'TRANSFORMATION' },
  AGGREGATED: { type: 'DIRECT', subtype: 'AGGREGATION' },
} as const;

function renderOutputFacets(
  { fields, columns, decidedBy, isDropped, isReplaced }: WrittenDataset,
  locate: (source: SourceField) => object,
): Facets {
  const facets = renderSchema(fields);
  if (columns.size > 0 || decidedBy.length > 0)
    facets.columnLineage = renderFacet('columnLineage', {
      fields: Object.fromEntries(
        [...columns].map(([name, inputs]) => [
          name,
          {
            inputFields: inputs.map((input) => ({
              ...locate(input),
              transformations: [transformations[input.transformation]],
            })),
          },
        ]),
      ),
      dataset: decidedBy.map((source) => ({ ...locate(source), transformations: [{ type: 'INDIRECT' }] })),
    });
  if (isDropped || isReplaced)
    facets.lifecycleStateChange = renderFacet('lifecycleStateChange', {
      lifecycleStateChange: isDropped ? 'DROP' : 'OVERWRITE',
    });
  return facets;
}
