/** A call may do what both the creator and the sender may do, at that moment. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EnvironmentRole, ProjectRole } from '@headgate/contract';
import type { Actor } from '../../../testing/account.ts';
import { smallPipeline } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createToolScene } from '../../../testing/tool-scene.ts';

const server = await startTestServer();
const scene = await createToolScene(server, { files: { 'main.orch.yaml': smallPipeline } });
const { account, project, call, tools } = scene;
const { projectId } = project;

const ofProject = (role: ProjectRole) => account.actor('MEMBER', { projectId, role });
const ofDev = (role: EnvironmentRole) => account.actor('MEMBER', { projectId, environmentName: 'dev', role });
const people: Record<string, Actor> = {
  admin: account.admin,
  owner: await ofProject('OWNER'),
  contributor: await ofProject('CONTRIBUTOR'),
  viewer: await ofProject('VIEWER'),
  operatorOfDev: await ofDev('OPERATOR'),
  contributorOfDev: await ofDev('CONTRIBUTOR'),
  stranger: await account.actor('MEMBER'),
  user: await account.user(undefined, { projectId, role: 'CONTRIBUTOR' }),
};

const executionId = '0199a4b0-0000-7000-8000-000000000001';
/** For each tool an input, and those that may use it alone. */
const uses: Record<string, { input: object; by: string[] }> = {};
const all = ['admin', 'owner', 'contributor', 'user'];
const readers = [...all, 'viewer'];
for (const name of ['list_files', 'list_pipelines', 'validate_pipeline'])
  uses[name] = { input: {}, by: readers };
uses.read_file = { input: { path: 'main.orch.yaml' }, by: readers };
uses.search_files = { input: { text: 'start' }, by: readers };
uses.write_file = { input: { path: 'x.txt', content: 'x' }, by: all };
uses.delete_file = { input: { path: 'x.txt' }, by: all };
uses.run_pipeline = {
  input: { pipelineName: 'main', waitSeconds: 0 },
  by: [...all, 'operatorOfDev', 'contributorOfDev'],
};
uses.run_tests = { input: { waitSeconds: 0 }, by: [...all, 'operatorOfDev', 'contributorOfDev'] };
uses.list_runs = { input: {}, by: [...readers, 'operatorOfDev', 'contributorOfDev'] };
uses.read_steps = {
  input: { pipelineExecutionId: executionId },
  by: [...readers, 'operatorOfDev', 'contributorOfDev'],
};
uses.read_logs = uses.read_steps;
uses.query_warehouse = { input: { sql: 'select 1' }, by: uses.list_runs.by };

/** What tells a lack of rights from another failure. */
const refusal = /needs the permission|^There is no project/;

let calls = 0;
async function mayUse(tool: string, creator: Actor, sender: Actor): Promise<boolean> {
  const { input } = uses[tool] ?? assert.fail(tool);
  calls += 1;
  const path = `x${calls}.txt`;
  if (tool === 'delete_file') await call('write_file', { path, content: 'x' });
  const source = tool === 'write_file' || tool === 'delete_file' ? { ...input, path } : input;
  const { text } = await call(tool, source, { creator, sender });
  return !refusal.test(text);
}

test('each tool can be used by those that could use the operation, and by pairs of them only', async () => {
  const untested = [...tools.keys()].filter((name) => uses[name] === undefined);
  // plan_sql reads a file like read_file, and asks the warehouse by the operation of query_warehouse; commit
  // writes files like write_file, by the operation that each of them needs.
  assert.deepEqual(untested, ['plan_sql', 'commit'], 'others need the same rights');
  const names = Object.keys(people);
  for (const tool of Object.keys(uses)) {
    const { by } = uses[tool] ?? assert.fail(tool);
    for (const [index, creator] of names.entries()) {
      // Each pair once in each order over the tools; all pairs of every tool would take minutes.
      const sender = names[(index + tool.length) % names.length] ?? '';
      for (const [one, other] of [
        [creator, sender],
        ['admin', creator],
        [creator, 'admin'],
      ] as const) {
        const expected = by.includes(one) && by.includes(other);
        const [first, second] = [people[one], people[other]];
        if (first === undefined || second === undefined) assert.fail();
        assert.equal(await mayUse(tool, first, second), expected, `${tool}: ${one} and ${other}`);
      }
    }
  }
});
