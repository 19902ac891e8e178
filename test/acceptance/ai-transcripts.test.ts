/**
 * Twenty transcripts of AI tasks on the example projects, with a scripted model and the real agent. They are judged
 * by what the pipelines then do: they test the tools, and say nothing about a model.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { AiMessageData, AiTask } from '@headgate/contract';
import {
  type ModelServer,
  modelKey,
  modelName,
  startModelServer,
} from '../../packages/server/src/testing/model-server.ts';
import { waitUntil } from '../../packages/server/src/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { exampleFiles } from './harness/examples.ts';
import { Installation } from './harness/installation.ts';
import { Project } from './harness/project.ts';

type Files = Record<string, string>;
interface Call {
  name: string;
  input: object;
}
interface Transcript {
  title: string;
  example: string;
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

const hello = 'hello.orch.yaml';
const totals = 'Orders/Transform/Totals.tran.yaml';
const loadOrders = 'Orders/Load new orders.orch.yaml';
const write = (path: string, content: string): Call => ({ name: 'write_file', input: { path, content } });
const commit: Call = { name: 'commit', input: { message: 'As asked' } };
const run = (pipelineName: string, variables?: object): Call => ({
  name: 'run_pipeline',
  input: { pipelineName, ...(variables === undefined ? {} : { variables }) },
});
const query = (sql: string): Call => ({ name: 'query_warehouse', input: { sql } });

/** The file with a text in it replaced. */
function edit(files: Files, path: string, from: string, to: string): Call {
  const text = files[path] ?? assert.fail(`no file ${path}`);
  assert.ok(text.includes(from), `${path} has ${from}`);
  return write(path, text.replace(from, to));
}
const greeting = 'select * from greeting';
const breakHello = (files: Files) => {
  files[hello] = (files[hello] ?? '').replace('AS text', 'AS text FROM no_such_table');
};

const transcripts: readonly Transcript[] = [
  {
    title: 'change a default value',
    example: 'hello-world',
    calls: (files) => [edit(files, hello, 'Hello, world', 'Hello, Oslo'), commit],
    merged: ['hello'],
    query: greeting,
    rows: [['Hello, Oslo']],
  },
  {
    title: 'add a column',
    example: 'hello-world',
    calls: (files) => [edit(files, hello, 'AS text', 'AS text, 7 AS number'), commit],
    merged: ['hello'],
    query: greeting,
    rows: [['Hello, world', 7]],
  },
  {
    title: 'why did last night fail, and repair it',
    example: 'hello-world',
    given: breakHello,
    earlier: ['hello'],
    calls: (files) => [
      { name: 'list_runs', input: { onlyFailed: true } },
      edit(files, hello, ' FROM no_such_table', ''),
      commit,
    ],
    says: [/FAILED.*no_such_table/],
    merged: ['hello'],
    query: greeting,
    rows: [['Hello, world']],
  },
  {
    title: 'make it incremental',
    example: 'hello-world',
    calls: (files) => [
      edit(
        files,
        hello,
        'CREATE OR REPLACE TABLE greeting AS SELECT',
        'CREATE TABLE IF NOT EXISTS greeting (text VARCHAR); INSERT INTO greeting SELECT',
      ),
      commit,
    ],
    merged: ['hello', 'hello'],
    query: greeting,
    rows: [['Hello, world'], ['Hello, world']],
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
    title: 'show the SQL',
    example: 'orders',
    earlier: ['Orders/Load orders'],
    calls: () => [{ name: 'plan_sql', input: { path: totals } }],
    says: [/-- Totals[\s\S]*sum\(/i],
  },
  {
    title: 'add an aggregation',
    example: 'orders',
    calls: (files) => [edit(files, totals, '- ["amount", "Sum"]', '- ["amount", "Max"]'), commit],
    merged: ['Orders/Load orders'],
    query:
      "select count(*) from information_schema.columns where table_name = 'totals' and column_name ilike '%max%'",
    rows: [[1]],
  },
  {
    title: 'write to another table',
    example: 'orders',
    calls: (files) => [edit(files, totals, 'targetTable: "totals"', 'targetTable: "order_totals"'), commit],
    merged: ['Orders/Transform/Totals'],
    earlier: ['Orders/Load orders'],
    query: 'select count(*) > 0 from order_totals',
    rows: [[true]],
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
    calls: (files) => [edit(files, loadOrders, 'orders-monday.csv', 'orders-tuesday.csv'), commit],
    merged: ['Orders/Load new orders'],
    query: 'select customer from orders where id = 4',
    rows: [['Dee']],
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
    title: 'a query cannot write',
    example: 'hello-world',
    earlier: ['hello'],
    calls: () => [query('delete from greeting'), query(greeting)],
    says: [/only SELECT/, /\["Hello, world"\]/],
    query: greeting,
    rows: [['Hello, world']],
  },
  {
    title: 'a pipeline that fails is not a success',
    example: 'hello-world',
    given: breakHello,
    calls: () => [run('hello'), { name: 'list_runs', input: {} }],
    says: [/is FAILED.*no_such_table/, /FAILED/],
  },
];

const granted = ['write_file', 'delete_file', 'run_pipeline', 'run_tests', 'commit'];

describe('transcripts of AI tasks', () => {
  let model: ModelServer;
  let headgate: Installation;
  let client: ApiClient;

  before(async () => {
    model = await startModelServer('openai');
    headgate = await Installation.create({
      environment: {
        HEADGATE_AI_PROVIDER: 'openai',
        HEADGATE_AI_BASE_URL: model.address,
        HEADGATE_AI_MODEL: modelName,
        HEADGATE_AI_API_KEY: modelKey,
      },
    });
    await headgate.start();
    client = headgate.client();
  });
  after(async () => {
    await headgate.remove();
    await model.close();
    assert.deepEqual(model.faults, []);
  });

  it('has twenty of them', () => assert.equal(transcripts.length, 20));

  for (const transcript of transcripts)
    it(transcript.title, async () => {
      const project = await Project.create(client);
      const files = exampleFiles(transcript.example);
      transcript.given?.(files);
      await project.publish(files);
      for (const name of transcript.earlier ?? []) await project.run(name, 'dev');
      const path = await talk(project, transcript, transcript.calls(files));
      if (transcript.merged !== undefined) {
        await client.ask('POST', `${path}/merge`, { versionName: '2' });
        for (const name of transcript.merged) {
          const execution = await project.run(name, 'dev');
          assert.equal(execution.status, 'SUCCESS', execution.message);
        }
      }
      if (transcript.query === undefined) return;
      const body = { environmentName: 'dev', sql: transcript.query };
      const found = await client.ask('POST', `${project.path}/warehouse-queries`, body);
      assert.deepEqual(found.rows, transcript.rows);
    });

  /** One call a turn. Returns the path of the task when it has stopped. */
  async function talk(project: Project, transcript: Transcript, calls: readonly Call[]): Promise<string> {
    model.play([...calls.map((call) => ({ calls: [call] })), { text: 'Done.' }]);
    const { taskId } = await client.ask('POST', '/v1/ai/agents/tasks', {
      agentConfig: {
        name: 'data_engineer_agent',
        projectId: project.id,
        environmentName: 'dev',
        mode: transcript.mode ?? 'ACT',
      },
      message: transcript.title,
      grantedPermissions: transcript.denied ? [] : granted.map((toolName) => ({ toolName })),
    });
    const path = `/v1/ai/agents/tasks/${taskId}`;
    await waitUntil('the end of the task', 120, async () => {
      const task: AiTask = await client.ask('GET', path);
      for (const { toolId: id } of task.pendingDecisions)
        await client.ask('POST', `${path}/decisions`, {
          decisions: [{ type: 'DENY', id, reason: 'Not today' }],
        });
      return task.status === 'STOPPED' || task.status === 'ERRORED';
    });
    await requireResults(path, transcript, calls);
    return path;
  }

  async function requireResults(
    path: string,
    { says = [], denied, mode }: Transcript,
    calls: readonly Call[],
  ) {
    const { results } = await client.ask('GET', `${path}/messages?limit=1000`);
    const messages: AiMessageData[] = results.map(({ data }: { data: AiMessageData }) => data);
    const answers = messages.filter((each) => each.type === 'tool-result');
    const texts = answers.map(({ text }) => text);
    assert.equal(answers.length, calls.length, JSON.stringify(messages));
    for (const [index, pattern] of says.entries()) assert.match(texts[index] ?? '', pattern);
    const last = messages.filter((each) => each.type === 'assistant').at(-1);
    assert.equal(last?.text, 'Done.');
    const changed = await client.ask('GET', `${path}/changes`);
    if (denied || mode === 'PLAN') assert.deepEqual(changed.files, []);
  }
});
