/** Folders whose own folders have an order: each imports only from itself and those before it. */

interface FolderOrder {
  base: string;
  folders: readonly string[];
  /** Where the files beside the folders stand. */
  files: 'first' | 'last';
}

const SERVER = 'packages/server/src';

const ORDERS: readonly FolderOrder[] = [
  {
    base: 'packages/pipelines/src',
    folders: [
      ...['format', 'expressions', 'sql', 'lineage', 'connectors', 'stores', 'components'],
      ...['plan', 'validate', 'check', 'rules', 'documentation'],
    ],
    files: 'last',
  },
  { base: 'packages/pipelines/src/components', folders: ['definition'], files: 'last' },
  { base: 'packages/pipelines/src/rules', folders: ['facts', 'builtin'], files: 'last' },
  {
    base: 'packages/pipelines/src/sql',
    folders: ['tokens', 'dialect', 'postgres', 'snowflake', 'functions', 'rewrite', 'statements'],
    files: 'last',
  },
  { base: 'packages/pipelines/src/lineage', folders: ['query', 'naming'], files: 'last' },
  { base: 'packages/pipelines/src/connectors', folders: ['load'], files: 'first' },
  {
    base: 'packages/agent/src/engine',
    folders: ['ports', 'session', 'files', 'context', 'endpoints', 'objects', 'actions', 'run', 'process'],
    files: 'last',
  },
  {
    base: 'packages/agent/src/warehouses',
    folders: ['statements', 'scratch', 'served', 'postgres', 'snowflake', 'catalog'],
    files: 'last',
  },
  {
    base: `${SERVER}/kernel`,
    folders: ['threads', 'http', 'database', 'security', 'endpoint', 'retention', 'work', 'slice'],
    files: 'first',
  },
  { base: `${SERVER}/kernel/database`, folders: ['trips'], files: 'last' },
  { base: `${SERVER}/access/directory`, folders: ['schema', 'search', 'patch', 'write'], files: 'last' },
  { base: `${SERVER}/delivery/artifacts`, folders: ['reading', 'upload'], files: 'last' },
  {
    base: `${SERVER}/delivery/repository-migrations`,
    folders: ['git', 'lfs', 'store', 'tokens'],
    files: 'last',
  },
  { base: `${SERVER}/records/events`, folders: ['log'], files: 'last' },
  { base: `${SERVER}/runtime/ai-tasks`, folders: ['model', 'store', 'turn', 'call'], files: 'last' },
  { base: `${SERVER}/runtime/ai-tools`, folders: ['tool'], files: 'last' },
  { base: `${SERVER}/runtime/executions`, folders: ['restart', 'store'], files: 'last' },
  { base: `${SERVER}/runtime/schedules`, folders: ['timetable', 'schedule'], files: 'last' },
];

/** The order that both files are in, of the deepest folder. */
export function findOrderOf(one: string, other: string): FolderOrder | undefined {
  return ORDERS.filter(({ base }) => [one, other].every((path) => path.startsWith(`${base}/`))).sort(
    (a, b) => b.base.length - a.base.length,
  )[0];
}

/** The folder of a file in an order, and its rank; undefined for a folder that the order does not have. */
export function placeInOrder(
  { base, folders, files }: FolderOrder,
  path: string,
): { name: string; rank: number | undefined } {
  const [folder = '', file] = path.slice(base.length + 1).split('/');
  if (file === undefined)
    return { name: 'a file of no folder', rank: files === 'first' ? -1 : folders.length };
  const rank = folders.indexOf(folder);
  return { name: folder, rank: rank < 0 ? undefined : rank };
}
