/** Transcripts of AI tasks on the example projects, each with what the pipelines then do. */
import assert from 'node:assert/strict';

export type Files = Record<string, string>;
export interface Call {
  name: string;
  input: object;
}
export interface Transcript {
  title: string;
  example: string;
  /** Needs a warehouse that no other transcript of the example has used. */
  hasOwnProject?: true;
  /** Changes the files before they are published. */
  given?: (files: Files) => void;
  /** Runs before the task begins. */
  earlier?: string[];
  calls: (files: Files) => Call[];
  mode?: 'PLAN';
  /** Without a grant for what changes something. */
  denied?: true;
  /** What the results say, in the order of the calls. */
  says?: RegExp[];
  /** Merges the changes, then runs these pipelines. */
  merged?: string[];
  query?: string;
  rows?: unknown[][];
}

export const hello = 'hello.orch.yaml';
export const totals = 'Orders/Transform/Totals.tran.yaml';
const loadOrders = 'Orders/Load new orders.orch.yaml';
/** An address at which nothing listens. */
const unreachable = 'http://127.0.0.1:9/';

export const write = (path: string, content: string): Call => ({
  name: 'write_file',
  input: { path, content },
});
export const commit: Call = { name: 'commit', input: { message: 'As asked' } };
const run = (pipelineName: string, variables?: object): Call => ({
  name: 'run_pipeline',
  input: { pipelineName, ...(variables === undefined ? {} : { variables }) },
});
const query = (sql: string): Call => ({ name: 'query_warehouse', input: { sql } });

export function replaceText(files: Files, path: string, from: string, to: string): string {
  const text = files[path] ?? assert.fail(`no file ${path}`);
  assert.ok(text.includes(from), `${path} has ${from}`);
  return text.replace(from, to);
}

/** The file with a text in it replaced. */
export const edit = (files: Files, path: string, from: string, to: string): Call =>
  write(path, replaceText(files, path, from, to));

const greeting = 'select * from greeting';
const breakHello = (table: string) => (files: Files) => {
  files[hello] = replaceText(files, hello, 'AS text', `AS text FROM ${table}`);
};

/** Those of an example share a project. Each publishes the files of the example again. */
export const transcripts: readonly Transcript[] = [
  {
    title: 'validate, and repair what is found',
    example: 'hello-world',
    given: (files) => {
      files[hello] = (files[hello] ?? '').replace('type: print-variables', 'type: print-variable');
    },
    calls: (files) => [
      { name: 'validate_pipeline', input: {} },
      edit(files, hello, 'type: print-variable\n', 'type: print-variables\n'),
      { name: 'validate_pipeline', input: {} },
      commit,
    ],
    says: [/error .*print-variable/, /Changed/, /No findings/],
    merged: ['hello'],
    query: greeting,
    rows: [['Hello, world']],
  },
  {
    title: 'a query cannot write',
    example: 'hello-world',
    earlier: ['hello'],
    calls: () => [
      query('delete from greeting'),
      query(`select * from read_csv('${unreachable}?q=1')`),
      query(greeting),
    ],
    says: [/only SELECT/, /The query failed/, /\["Hello, world"\]/],
    query: greeting,
    rows: [['Hello, world']],
  },
  {
    title: 'add a pipeline and delete another one',
    example: 'hello-world',
    calls: (files) => [
      write('bye.orch.yaml', (files[hello] ?? '').replace('Hello, world', 'Bye')),
      { name: 'delete_file', input: { path: hello } },
      { name: 'list_pipelines', input: {} },
      commit,
    ],
    says: [/Created/, /deleted/, /^bye.orch.yaml[^\n]*$/],
    merged: ['bye'],
    query: greeting,
    rows: [['Bye']],
  },
  {
    title: 'a pipeline that fails is not a success',
    example: 'hello-world',
    given: breakHello('a_missing_table'),
    calls: () => [run('hello'), { name: 'list_runs', input: {} }],
    says: [/is FAILED.*a_missing_table/, /^[^\n]*FAILED.*a_missing_table/],
  },
  {
    title: 'why did last night fail, and repair it',
    example: 'hello-world',
    given: breakHello('no_such_table'),
    earlier: ['hello'],
    calls: (files) => [
      { name: 'list_runs', input: { onlyFailed: true } },
      edit(files, hello, ' FROM no_such_table', ''),
      commit,
    ],
    says: [/^[^\n]*FAILED.*no_such_table/],
    merged: ['hello'],
    query: greeting,
    rows: [['Hello, world']],
  },
  {
    title: 'in the mode PLAN nothing is written',
    example: 'hello-world',
    mode: 'PLAN',
    calls: (files) => [
      edit(files, hello, 'Hello, world', 'Owned'),
      { name: 'read_file', input: { path: hello } },
    ],
    says: [/./, /Hello, world/],
  },
  {
    title: 'what is denied does not happen',
    example: 'hello-world',
    denied: true,
    calls: (files) => [edit(files, hello, 'Hello, world', 'Owned')],
    says: [/./],
  },
  {
    title: 'list the pipelines',
    example: 'orders',
    calls: () => [{ name: 'list_pipelines', input: {} }],
    says: [/Totals.tran.yaml: transformation/],
  },
  {
    title: 'find and read',
    example: 'orders',
    calls: () => [
      { name: 'search_files', input: { text: 'rewrite-table' } },
      { name: 'read_file', input: { path: totals } },
    ],
    says: [/Totals.tran.yaml:\d+/, /targetTable: "totals"/],
  },
  {
    title: 'show the SQL',
    example: 'orders',
    earlier: ['Orders/Load orders'],
    calls: () => [{ name: 'plan_sql', input: { path: totals } }],
    says: [/-- Totals[\s\S]*sum\(/i],
  },
  {
    title: 'run the tests',
    example: 'orders',
    calls: () => [{ name: 'run_tests', input: {} }],
    says: [/is SUCCESS/],
  },
  {
    title: 'run and look at the result',
    example: 'orders',
    calls: () => [run('Orders/Load orders'), query('select count(*) > 0 as filled from totals')],
    says: [/is SUCCESS/, /\["filled"\]\n\[true\]/],
  },
  {
    title: 'a second load adds nothing',
    example: 'incremental-load',
    calls: () => [
      run('Orders/Load new orders'),
      run('Orders/Load new orders'),
      query('select count(*) from orders'),
    ],
    says: [/is SUCCESS/, /is SUCCESS/, /\[3\]/],
  },
  {
    title: 'load a file by a variable',
    example: 'incremental-load',
    calls: () => [
      run('Orders/Load new orders', { file: 'orders-tuesday.csv' }),
      query('select amount from orders where id = 4'),
    ],
    says: [/is SUCCESS/, /\[99.9\]/],
  },
  {
    title: 'change what is loaded',
    example: 'incremental-load',
    hasOwnProject: true,
    calls: (files) => [edit(files, loadOrders, 'orders-monday.csv', 'orders-tuesday.csv'), commit],
    merged: ['Orders/Load new orders'],
    query: 'select customer from orders where id = 4',
    rows: [['Dee']],
  },
];
