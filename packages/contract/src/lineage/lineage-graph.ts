/** The lineage of an environment: which pipelines read and write which datasets, and where columns come from. */
import { type Static, Type } from 'typebox';
import { lineageColumnsLimit } from '../agent-protocol/protocol-constants.ts';
import { columnTransformations, DatasetField, datasetKinds } from '../agent-protocol/run-lineage.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { DateTime, EnvironmentName, oneOf, pageOf, pageQuery, Uuid, VersionName } from '../primitives.ts';
import { projectPath } from '../project/project.ts';

const PipelineName = Type.String({ minLength: 1, maxLength: 1_200 });
const DatasetName = Type.String({ minLength: 1, maxLength: 1_000 });

export const graphNodesLimit = 2_000;
export const graphEdgesLimit = 5_000;
/** Pipelines that one dataset lists. */
export const datasetPipelinesLimit = 100;

const NodeId = Type.String({
  maxLength: 3_000,
  description:
    '`dataset:`, `column:` or `pipeline:` and the kind and name, such as `dataset:warehouse:warehouse.sales.orders`',
});
export const LineageNode = named(
  'LineageNode',
  Type.Object({
    id: NodeId,
    kind: oneOf(['dataset', 'column', 'pipeline']),
    name: Type.String({ maxLength: 2_100 }),
    lastRun: Type.Optional(
      Type.Object(
        { pipelineExecutionId: Uuid, versionName: VersionName, finishedAt: DateTime },
        {
          description:
            'Of a pipeline: its latest successful run, from which its edges are. Of a dataset: the latest successful run that wrote it',
        },
      ),
    ),
  }),
);
export type LineageNode = Static<typeof LineageNode>;

export const LineageEdge = named(
  'LineageEdge',
  Type.Object({
    from: NodeId,
    to: NodeId,
    kind: oneOf(['reads', 'writes', 'derives', 'filters'], {
      description:
        'reads: from a dataset to a pipeline. writes: from a pipeline to a dataset. derives: from a column to a column with its values. ' +
        'filters: from a column to a dataset whose rows it decides, as in a filter, a join or a group',
    }),
    transformation: Type.Optional(
      oneOf(columnTransformations, {
        description:
          'Of `derives`. IDENTITY: the value as it is. CHANGED: calculated from it. AGGREGATED: from several rows',
      }),
    ),
    pipelineName: Type.Optional(
      Type.String({ ...PipelineName, description: 'Of `derives` and `filters`: the pipeline that does it' }),
    ),
  }),
);
export type LineageEdge = Static<typeof LineageEdge>;

const lineageOperation = { surface: 'dpc', tag: 'Lineage' } as const;
const ofEnvironment = { permission: 'executions:read', environmentFrom: 'query.environmentName' } as const;

export const getLineageGraph = operation({
  ...lineageOperation,
  ...ofEnvironment,
  id: 'getLineageGraph',
  method: 'GET',
  path: '/v1/projects/{projectId}/lineage/graph',
  summary: 'Get the lineage of a dataset, column or pipeline',
  description:
    'Begins at a dataset, a pipeline or a column, and follows what the latest successful run of each pipeline in the environment read and wrote. ' +
    'Give one of `dataset`, `pipeline` and `column`. A dataset and its pipelines are followed as reads and writes; a column is followed to the columns that derive from it and the datasets whose rows it decides. ' +
    `The response has at most ${graphNodesLimit.toLocaleString('en')} nodes and ${graphEdgesLimit.toLocaleString('en')} edges, the nearest first; \`truncated\` tells that there are more.`,
  params: Type.Object(projectPath),
  query: Type.Object({
    environmentName: EnvironmentName,
    dataset: Type.Optional(
      Type.String({ ...DatasetName, description: 'Its name, such as warehouse.sales.orders' }),
    ),
    pipeline: Type.Optional(
      Type.String({ ...PipelineName, description: 'Its path, with or without `.orch.yaml` or `.tran.yaml`' }),
    ),
    column: Type.Optional(
      Type.String({
        minLength: 3,
        maxLength: 2_001,
        description:
          'The name of a dataset, a dot, and the name of a column, such as warehouse.sales.orders.amount',
      }),
    ),
    direction: Type.Optional(
      oneOf(['UPSTREAM', 'DOWNSTREAM', 'BOTH'], {
        description: 'UPSTREAM: where it comes from. DOWNSTREAM: what depends on it. Default: BOTH',
      }),
    ),
    depth: Type.Integer({
      minimum: 1,
      maximum: 10,
      default: 3,
      description: 'How far: the number of pipelines between two datasets, or two columns',
    }),
  }),
  success: {
    status: 200,
    body: named(
      'LineageGraph',
      Type.Object({
        nodes: Type.Array(LineageNode, { maxItems: graphNodesLimit }),
        edges: Type.Array(LineageEdge, { maxItems: graphEdgesLimit }),
        truncated: Type.Boolean(),
      }),
    ),
  },
  problems: ['environment-not-found', 'lineage-not-found'],
  events: [],
});

export const DatasetItem = named(
  'Dataset',
  Type.Object({
    name: DatasetName,
    kind: oneOf(datasetKinds),
    environmentName: EnvironmentName,
    columns: Type.Array(DatasetField, {
      maxItems: lineageColumnsLimit,
      description: 'Empty if they are not known',
    }),
    writers: Type.Array(PipelineName, {
      maxItems: datasetPipelinesLimit,
      description: `The first ${datasetPipelinesLimit}, sorted`,
    }),
    readers: Type.Array(PipelineName, {
      maxItems: datasetPipelinesLimit,
      description: `The first ${datasetPipelinesLimit}, sorted`,
    }),
    lastWrittenAt: Type.Optional(Type.String({ ...DateTime, description: 'Absent if no run wrote it' })),
    lastRowCount: Type.Optional(
      Type.Integer({ minimum: 0, description: 'The rows that the last run wrote, if it told them' }),
    ),
    lastExecutionId: Type.Optional(Uuid),
  }),
);
export type DatasetItem = Static<typeof DatasetItem>;

export const listDatasets = operation({
  ...lineageOperation,
  ...ofEnvironment,
  id: 'listDatasets',
  method: 'GET',
  path: '/v1/projects/{projectId}/datasets',
  summary: 'List datasets',
  description:
    'The tables, files and endpoints that the latest successful run of each pipeline in the environment read or wrote, sorted by name.',
  params: Type.Object(projectPath),
  query: Type.Object({ environmentName: EnvironmentName, ...pageQuery }),
  success: { status: 200, body: pageOf(DatasetItem) },
  problems: ['environment-not-found'],
  events: [],
});

export const lineageGraphOperations = [getLineageGraph, listDatasets] as const;
