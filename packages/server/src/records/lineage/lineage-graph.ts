/** Graphs from the rows of a walk. */
import { graphEdgesLimit, graphNodesLimit, type LineageEdge, type LineageNode } from '@headgate/contract';
import type { ColumnEdgeRow, DatasetEdgeRow, GraphStart } from './lineage-graph.store.ts';
import type { Walk } from './lineage-walk.ts';

interface Graph {
  nodes: LineageNode[];
  edges: LineageEdge[];
  truncated: boolean;
}

/** A graph up to its limits. An edge is added with both of its nodes or not at all. */
class BoundedGraph {
  readonly #nodes = new Map<string, LineageNode>();
  readonly #edges = new Map<string, LineageEdge>();
  #truncated = false;

  addNode(node: LineageNode): void {
    if (!this.#nodes.has(node.id)) this.#nodes.set(node.id, node);
  }

  addEdge(edge: LineageEdge, ends: readonly LineageNode[]): void {
    const added = ends.filter(({ id }) => !this.#nodes.has(id)).length;
    if (this.#edges.size >= graphEdgesLimit || this.#nodes.size + added > graphNodesLimit) {
      this.#truncated = true;
      return;
    }
    for (const node of ends) this.addNode(node);
    const { from, to, kind, transformation, pipelineName } = edge;
    this.#edges.set(JSON.stringify([from, to, kind, transformation, pipelineName]), edge);
  }

  render(truncated: boolean): Graph {
    return {
      nodes: [...this.#nodes.values()],
      edges: [...this.#edges.values()],
      truncated: truncated || this.#truncated,
    };
  }
}

/** What a deleted environment or a later run has taken away meanwhile is left out. */
export function buildDatasetGraph(
  walk: Walk<DatasetEdgeRow>,
  { datasets, pipelines }: Pick<GraphStart, 'datasets' | 'pipelines'>,
): Graph {
  const graph = new BoundedGraph();
  for (const { key, lastRun } of datasets) graph.addNode(buildDatasetNode(key, lastRun));
  for (const { name, lastRun } of pipelines) graph.addNode(buildPipelineNode(name, lastRun));
  const nodes = new Map([
    ...walk.datasets.map(({ key, dataset, lastRun }) => [key, buildDatasetNode(dataset, lastRun)] as const),
    ...walk.pipelines.map(
      ({ key, name, lastRun }) => [`p ${key}`, buildPipelineNode(name, lastRun)] as const,
    ),
  ]);
  for (const row of walk.edges) {
    const [dataset, pipeline] = [nodes.get(row.dataset_key), nodes.get(`p ${row.pipeline_key}`)];
    if (dataset === undefined || pipeline === undefined) continue;
    const edge: LineageEdge = row.is_write
      ? { from: pipeline.id, to: dataset.id, kind: 'writes' }
      : { from: dataset.id, to: pipeline.id, kind: 'reads' };
    graph.addEdge(edge, [dataset, pipeline]);
  }
  return graph.render(walk.truncated);
}

export function buildColumnGraph(walk: Walk<ColumnEdgeRow>, columns: GraphStart['columns']): Graph {
  const graph = new BoundedGraph();
  for (const { dataset, field } of columns) graph.addNode(buildColumnNode(dataset, field));
  const names = new Map(walk.pipelines.map(({ key, name }) => [key, name]));
  for (const row of walk.edges) {
    const from = buildColumnNode(row.dataset, row.field);
    const { to_field: field, transformation } = row;
    const pipelineName = names.get(row.pipeline_key);
    if (pipelineName === undefined) continue;
    const to =
      field === null ? buildDatasetNode(row.to_dataset, null) : buildColumnNode(row.to_dataset, field);
    const edge: LineageEdge = {
      from: from.id,
      to: to.id,
      kind: field === null ? 'filters' : 'derives',
      pipelineName,
    };
    if (transformation !== null) edge.transformation = transformation;
    graph.addEdge(edge, [from, to]);
  }
  return graph.render(walk.truncated || walk.pipelines.some(({ isPartial }) => isPartial));
}

/** The kind and the name of a dataset. */
export function splitDatasetKey(key: string): { kind: string; name: string } {
  const end = key.indexOf(':');
  return { kind: key.slice(0, end), name: key.slice(end + 1) };
}

function buildDatasetNode(key: string, lastRun: LineageNode['lastRun'] | null): LineageNode {
  const node: LineageNode = { id: `dataset:${key}`, kind: 'dataset', name: splitDatasetKey(key).name };
  return lastRun ? { ...node, lastRun } : node;
}

function buildPipelineNode(name: string, lastRun: NonNullable<LineageNode['lastRun']>): LineageNode {
  return { id: `pipeline:${name}`, kind: 'pipeline', name, lastRun };
}

function buildColumnNode(dataset: string, field: string): LineageNode {
  const { name } = splitDatasetKey(dataset);
  return { id: `column:${dataset}.${field}`, kind: 'column', name: `${name}.${field}` };
}
