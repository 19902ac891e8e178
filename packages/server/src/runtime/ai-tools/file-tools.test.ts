/** The tools for files: what they show, what they write, and where they stop. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { startTestServer } from '../../../testing/server.ts';
import { createToolScene } from '../../../testing/tool-scene.ts';
import { statement } from '../../kernel/database/trips/statement.ts';
import type { ToolResult } from './tool/tool.ts';

const server = await startTestServer();
const files = {
  'jobs/load.orch.yaml': `type: "orchestration"
version: "1.0"
pipeline:
  components:
    Start:
      type: "start"
      transitions: {}
`,
  'jobs/notes.md': 'first line\nLoad the Orders\n',
  'other/keys.env': 'DATABASE_PASSWORD=hunter22\nHOST=db.example.com\n',
};

const done = ({ outcome, text }: ToolResult): string => {
  assert.equal(outcome, 'DONE', text);
  return text;
};
const failed = ({ outcome, text }: ToolResult): string => {
  assert.equal(outcome, 'FAILED', text);
  return text;
};

for (const hosted of [true, false])
  test(`files of ${hosted ? 'a branch' : 'a version'} are listed, read, searched, written and deleted`, async () => {
    const { call } = await createToolScene(server, { files, hosted });
    assert.match(
      done(await call('list_files')),
      /^jobs\/load.orch.yaml \(\d+ bytes\)\njobs\/notes.md .*\nother\/keys/,
    );
    assert.equal(done(await call('read_file', { path: 'jobs/notes.md' })), files['jobs/notes.md']);
    assert.equal(done(await call('search_files', { text: 'ORDERS' })), 'jobs/notes.md:2: Load the Orders');
    done(await call('write_file', { path: 'jobs/more.sql', content: 'select 1\n' }));
    done(await call('write_file', { path: 'jobs/notes.md', content: 'second\n' }));
    done(await call('delete_file', { path: 'other/keys.env' }));
    const listed = done(await call('list_files'));
    assert.match(listed, /jobs\/more.sql \(9 bytes, not committed\)/);
    assert.doesNotMatch(listed, /keys/);
    assert.equal(done(await call('read_file', { path: 'jobs/notes.md' })), 'second\n');
    assert.match(failed(await call('read_file', { path: 'other/keys.env' })), /no file "other\/keys.env"/);
    assert.match(failed(await call('delete_file', { path: 'none.txt' })), /no file "none.txt"/);
  });

test('a secret in a file is not shown, stays when the file is written back, and cannot be moved', async () => {
  const { call, taskId } = await createToolScene(server, { files });
  const shown = done(await call('read_file', { path: 'other/keys.env' }));
  assert.match(shown, /^DATABASE_PASSWORD=\[secret 1-[0-9a-f]{8}\]\nHOST=db.example.com\n$/);
  const [mark] = /\[.*\]/.exec(shown) ?? [];
  assert.match(done(await call('search_files', { text: 'hunter' })), /No line/);
  done(await call('write_file', { path: 'other/keys.env', content: shown.replace('db.', 'eu.') }));
  const moved = await call('write_file', { path: 'other/keys.env', content: `NOTE ${mark}` });
  assert.match(failed(moved), /secret 1-.* stands where its secret could be read/);
  const [edit] = await server.database.query<{ content: string }>(
    'select content from ai_edit where task_id = $1',
    [taskId],
  );
  assert.equal(edit?.content, 'DATABASE_PASSWORD=hunter22\nHOST=eu.example.com\n');
  assert.match(failed(await call('write_file', { path: 'copy.env', content: shown })), /cannot be copied/);
});

test('a mark from before the secrets of the file changed is refused; a write is repeated after a crash', async () => {
  const { call } = await createToolScene(server, { files });
  const path = 'other/keys.env';
  const content = `API_KEY=abcdefgh\n${done(await call('read_file', { path }))}`;
  const callId = randomUUID();
  done(await call('write_file', { path, content }, { callId }));
  done(await call('write_file', { path, content }, { callId }));
  const again = failed(await call('write_file', { path, content }));
  assert.match(again, /the mark \[secret 1-.*does not have now: read the file again/);
  const read = done(await call('read_file', { path }));
  assert.match(read, /^API_KEY=\[secret 1-.*\nDATABASE_PASSWORD=\[secret 2-/);
  assert.match(done(await call('write_file', { path, content: read })), /already/);
});

test('a task stays in its working directory', async () => {
  const { call } = await createToolScene(server, { files, task: { workingDirectory: '/jobs/' } });
  assert.doesNotMatch(done(await call('list_files')), /other/);
  assert.match(done(await call('search_files', { text: 'HOST' })), /No line/);
  for (const path of ['other/keys.env', 'jobs/../other/keys.env', '/etc/passwd', 'jobs2/x', '.git/config']) {
    assert.equal((await call('read_file', { path })).outcome, 'FAILED', path);
    assert.equal((await call('write_file', { path, content: 'x' })).outcome, 'FAILED', path);
    assert.equal((await call('delete_file', { path })).outcome, 'FAILED', path);
  }
  done(await call('write_file', { path: 'jobs/x', content: 'x' }));
});

test('paths and contents that no version can hold are refused', async () => {
  const { call } = await createToolScene(server, { files });
  const write = (path: string, content = 'x') => call('write_file', { path, content });
  assert.match(failed(await write('jobs')), /is a folder/);
  assert.match(failed(await write('jobs/notes.md/x')), /is a file/);
  assert.match(failed(await write('a\\b')), /backslash/);
  assert.match(failed(await write('.GIT/hooks/x')), /Git itself/);
  assert.match(failed(await write('x', 'a\0b')), /not a text/);
  assert.match(done(await write('jobs/notes.md', files['jobs/notes.md'])), /already/);
});

test('in the mode PLAN no tool changes anything', async () => {
  const { call, tools } = await createToolScene(server, { files, task: { mode: 'PLAN' } });
  const changing = [...tools.values()].filter((tool) => tool.changes).map(({ name }) => name);
  assert.deepEqual(changing, ['write_file', 'delete_file', 'run_pipeline', 'run_tests', 'commit']);
  for (const name of changing) assert.match(failed(await call(name, { path: 'x' })), /mode PLAN/);
});

test('a task may edit so many files and bytes', async () => {
  const { call } = await createToolScene(server, { files });
  const content = 'x'.repeat(1_000_000);
  for (const name of ['a', 'b', 'c', 'd']) done(await call('write_file', { path: name, content }));
  assert.match(failed(await call('write_file', { path: 'e', content })), /bytes/);
  done(await call('write_file', { path: 'd', content: 'small' }));
  done(await call('write_file', { path: 'e', content }));
});

test('the SQL of a transformation does not grow without bound with the values of its variables', async () => {
  const names = `\${x}`.repeat(4_000);
  const path = 'jobs/large.tran.yaml';
  const content = `type: "transformation"
version: "1.0"
pipeline:
  components:
    In:
      type: "table-input"
      parameters: {componentName: "In", targetTable: "city", columnNames: ["name"]}
    Few:
      type: "filter"
      sources: ["In"]
      parameters:
        componentName: "Few"
        filterConditions: [["name", "Is", "Equal to", "${names}"]]
        combineCondition: "And"
    Out:
      type: "table-output"
      sources: ["Few"]
      parameters: {componentName: "Out", targetTable: "other", columnMapping: [["name", "name"]]}
  variables:
    x:
      metadata: {type: "TEXT", scope: "COPIED", visibility: "PUBLIC"}
      defaultValue: "${'v'.repeat(90_000)}"
`;
  const { call } = await createToolScene(server, { files: { [path]: content } });
  const planned = done(await call('plan_sql', { path }));
  assert.match(
    planned,
    /Few cannot be planned: the values of the variables have more than 1000000 characters/,
  );
});

test('the SQL of a transformation is that of the warehouse of the project', async () => {
  const path = 'jobs/copy.tran.yaml';
  const content = `type: "transformation"
version: "1.0"
pipeline:
  components:
    In:
      type: "table-input"
      parameters: {targetTable: "city", columnNames: ["name", "population"], schema: "[Environment Default]"}
    Out:
      type: "create-view"
      sources: ["In"]
      parameters: {viewName: "cities", schema: "[Environment Default]"}
`;
  const { account, project, call } = await createToolScene(server, { files: { [path]: content } });
  const setWarehouse = (name: string) =>
    server.deps.database.alone((read) =>
      read(
        statement(
          { parameters: { warehouse: 'text', project_id: 'uuid' } },
          'update project set warehouse = $warehouse where project_id = $project_id',
        ),
        {
          warehouse: name,
          project_id: project.projectId,
        },
      ),
    );
  assert.match(done(await call('plan_sql', { path })), /FROM "main"/);
  await setWarehouse('POSTGRES');
  assert.match(done(await call('plan_sql', { path })), /FROM "public"\."city"/);
  await account.admin.post(`${project.path}/data-platform-connections`, {
    name: 'shop',
    platformConnectionType: 'DWH',
    authProvider: 'POSTGRES',
    authType: 'PASSWORD',
    connectionProperties: { schema: { value: 'shop' } },
  });
  await account.admin.patch(`${project.path}/environments/dev`, {
    defaultConnections: { DWH: { POSTGRES: 'shop' } },
  });
  assert.match(done(await call('plan_sql', { path })), /FROM "shop"\."city"/);
  await setWarehouse('SNOWFLAKE');
  assert.match(done(await call('plan_sql', { path })), /FROM "PUBLIC"\."city"/);
  await setWarehouse('BIGQUERY');
  assert.match((await call('plan_sql', { path })).text, /BIGQUERY, are refused, so that it has no SQL/);
});
