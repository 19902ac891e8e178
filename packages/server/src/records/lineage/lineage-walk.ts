/**
 * Walks through the lineage of an environment, level by level: each node is left once in each direction, and each edge
 * is found once, also where ways lead in circles.
 */
import { createHash } from 'node:crypto';
import { graphEdgesLimit } from '@headgate/contract';
import type { ReadCall } from '../../kernel/endpoint/endpoint.ts';
import {
  type ColumnEdgeRow,
  columnLevel,
  type DatasetEdgeRow,
  datasetLevel,
  type GraphNames,
  type GraphStart,
  graphNames,
} from './lineage-graph.store.ts';

export interface WalkBounds {
  environmentName: string;
  upstream: boolean;
  downstream: boolean;
  /** Pipelines on a way. */
  depth: number;
}

export interface Walk<Edge> extends GraphNames {
  /** The nearest first. */
  edges: Edge[];
  truncated: boolean;
}

type Rows = ReadCall<never>['rows'];

/** Nodes to leave, upstream and downstream. */
type Frontier<Node> = Record<'up' | 'down', Map<string, Node>>;

interface Level<Row extends { up: boolean }, Node> {
  read(frontier: Frontier<Node>, limit: number): Promise<readonly Row[]>;
  /** Names an edge, whichever way led to it. */
  nameEdge(row: Row): string;
  /** Undefined if the way ends here. */
  next(row: Row): [name: string, node: Node] | undefined;
}

async function walkLevels<Row extends { up: boolean }, Node>(
  start: Frontier<Node>,
  levels: number,
  { read, nameEdge, next }: Level<Row, Node>,
): Promise<{ edges: Row[]; truncated: boolean }> {
  const edges = new Map<string, Row>();
  const seen = { up: new Set(start.up.keys()), down: new Set(start.down.keys()) };
  let frontier = start;
  for (let level = 0; level < levels && frontier.up.size + frontier.down.size > 0; level += 1) {
    const found = await read(frontier, graphEdgesLimit + 1);
    frontier = { up: new Map(), down: new Map() };
    for (const row of found) {
      const name = nameEdge(row);
      if (!edges.has(name)) edges.set(name, row);
      const direction = row.up ? 'up' : 'down';
      const following = next(row);
      if (following === undefined || seen[direction].has(following[0])) continue;
      seen[direction].add(following[0]);
      frontier[direction].set(...following);
    }
    if (found.length > graphEdgesLimit || edges.size > graphEdgesLimit)
      return { edges: [...edges.values()].slice(0, graphEdgesLimit), truncated: true };
  }
  return { edges: [...edges.values()], truncated: false };
}

/** As in the tables. */
const digest = (name: string) => createHash('md5').update(name).digest('hex');

function startAt<Node>(
  nodes: readonly (readonly [string, Node])[],
  { upstream, downstream }: WalkBounds,
): Frontier<Node> {
  return { up: new Map(upstream ? nodes : []), down: new Map(downstream ? nodes : []) };
}

async function addNames<Edge>(
  rows: Rows,
  { environmentName }: WalkBounds,
  walked: { edges: Edge[]; truncated: boolean },
  keys: { datasets: Iterable<string>; pipelines: Iterable<string> },
): Promise<Walk<Edge>> {
  const [names = { datasets: [], pipelines: [] }] = await rows(graphNames, {
    environment_name: environmentName,
    dataset_keys: [...new Set(keys.datasets)],
    pipeline_keys: [...new Set(keys.pipelines)],
  });
  return { ...walked, ...names };
}

interface DatasetNode {
  kind: 'dataset' | 'pipeline';
  key: string;
}

export async function walkDatasets(
  rows: Rows,
  { datasets, pipelines }: Pick<GraphStart, 'datasets' | 'pipelines'>,
  bounds: WalkBounds,
): Promise<Walk<DatasetEdgeRow>> {
  const nodeOf = (kind: DatasetNode['kind'], key: string) => [`${kind} ${key}`, { kind, key }] as const;
  const start = [
    ...datasets.map(({ key }) => nodeOf('dataset', digest(key))),
    ...pipelines.map(({ name }) => nodeOf('pipeline', digest(name))),
  ];
  const list = (nodes: Map<string, DatasetNode>, kind: DatasetNode['kind']) =>
    [...nodes.values()].filter((node) => node.kind === kind).map(({ key }) => key);
  // A way from one dataset to the next one has two levels.
  const walked = await walkLevels(startAt(start, bounds), 2 * bounds.depth, {
    read: ({ up, down }, limit) =>
      rows(datasetLevel, {
        environment_name: bounds.environmentName,
        up_datasets: list(up, 'dataset'),
        up_pipelines: list(up, 'pipeline'),
        down_datasets: list(down, 'dataset'),
        down_pipelines: list(down, 'pipeline'),
        limit,
      }),
    nameEdge: (row: DatasetEdgeRow) => `${row.is_write} ${row.dataset_key} ${row.pipeline_key}`,
    next({ up, is_write, dataset_key, pipeline_key }) {
      const [name, node] =
        is_write === up ? nodeOf('pipeline', pipeline_key) : nodeOf('dataset', dataset_key);
      return [name, node];
    },
  });
  return addNames(rows, bounds, walked, {
    datasets: walked.edges.map((edge) => edge.dataset_key),
    pipelines: walked.edges.map((edge) => edge.pipeline_key),
  });
}

type ColumnNode = Pick<ColumnEdgeRow, 'dataset' | 'field'>;

export async function walkColumns(
  rows: Rows,
  columns: GraphStart['columns'],
  bounds: WalkBounds,
): Promise<Walk<ColumnEdgeRow>> {
  const nodeOf = (node: ColumnNode) => [JSON.stringify([node.dataset, node.field]), node] as const;
  /** Datasets whose deciding columns were read: all columns of a dataset have the same. */
  const decided = new Set<string>();
  const keysOf = (nodes: Map<string, ColumnNode>) => ({
    datasets: [...nodes.values()].map(({ dataset }) => digest(dataset)),
    fields: [...nodes.values()].map(({ field }) => digest(field)),
  });
  const walked = await walkLevels(startAt(columns.map(nodeOf), bounds), bounds.depth, {
    read(frontier, limit) {
      const [up, down] = [keysOf(frontier.up), keysOf(frontier.down)];
      const fresh = [...new Set(up.datasets)].filter((key) => !decided.has(key));
      for (const key of fresh) decided.add(key);
      return rows(columnLevel, {
        environment_name: bounds.environmentName,
        up_datasets: up.datasets,
        up_fields: up.fields,
        up_decided: fresh,
        down_datasets: down.datasets,
        down_fields: down.fields,
        limit,
      });
    },
    nameEdge: ({ up, ...edge }: ColumnEdgeRow) => JSON.stringify(Object.values(edge)),
    next({ up, dataset, field, to_dataset, to_field }) {
      if (!up && to_field === null) return undefined;
      const [name, node] = up
        ? nodeOf({ dataset, field })
        : nodeOf({ dataset: to_dataset, field: to_field ?? '' });
      return [name, node];
    },
  });
  const pipelines = walked.edges.map((edge) => edge.pipeline_key);
  return addNames(rows, bounds, walked, { datasets: [], pipelines });
}
