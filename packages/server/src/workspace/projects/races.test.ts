/** Deletes a project while 16 clients write to it: each write is refused or deleted with the project. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../../testing/client.ts';
import { listOwnedTables, readRows } from '../../../testing/owned-tables.ts';
import { createPlace, type Place } from '../../../testing/place.ts';
import { smallPipeline, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: { HEADGATE_DATABASE_CONNECTIONS: '20' } });
const clients = 16;
/** Far more writes than happen before the deletion. */
const mostTurns = 40;
const rounds = 6;

type Write = (place: Place, name: string) => Promise<Answer>;

/** One write for each table that a project owns. */
const writes: Write[] = [
  ({ account, project }, name) =>
    account.admin.post(`${project.path}/variables`, { name, type: 'TEXT', behaviour: 'SHARED' }),
  ({ account, project }, value) =>
    account.admin.patch(`${project.path}/variables/city`, { type: 'TEXT', behaviour: 'SHARED', value }),
  ({ account, project }, value) =>
    account.admin.post(`${project.path}/variables/city/environment-overrides`, {
      environmentName: 'prod',
      value,
    }),
  ({ account, project }) => account.admin.delete(`${project.path}/variables/city`),
  ({ account, project }, name) => account.admin.post(`${project.path}/environments`, { name }),
  ({ account, project }, description) => account.admin.patch(project.path, { description }),
  ({ account, project }, name) =>
    account.admin.post(`${project.path}/connections`, {
      name,
      platformConnectionType: 'COMPONENT_BASIC',
      authProvider: 'NONE',
      authType: 'GENERIC_SECRET',
    }),
  ({ account, project }, versionName) =>
    upload(account.admin, project, [{ name: 'main.orch.yaml', content: smallPipeline }], { versionName }),
  ({ account, project, agent }) =>
    account.admin.post(`${project.path}/pipeline-executions`, {
      pipelineName: 'main',
      environmentName: 'dev',
      agentId: agent.agentId,
    }),
  ({ account, project }, name) =>
    account.admin.post('/credentials', {
      name,
      role: 'MEMBER',
      roles: [{ projectId: project.projectId, environmentName: 'dev', role: 'OPERATOR' }],
    }),
];

/** Retries a deletion that conflicted with a write, as its response advises. */
async function deleteProject({ account, project }: Place): Promise<void> {
  for (;;) {
    const answer = await account.admin.delete(project.path);
    if (answer.status === 204) return;
    assert.equal(answer.status, 409, answer.text);
    assert.equal(answer.problem.code, 'concurrent-change');
  }
}

/** Writes until the project is deleted. */
async function writeUntilDeleted(place: Place, client: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let turn = 0; turn < mostTurns; turn += 1) {
    const write = writes[(client + turn * 3) % writes.length] ?? assert.fail();
    const answer = await write(place, `n${client}_${turn}`);
    answers.push(answer);
    if (answer.status === 404 && answer.problem.code === 'project-not-found') break;
  }
  return answers;
}

test('a project deleted under 16 writers leaves no rows, and every writer gets a problem', async () => {
  const tables = await listOwnedTables(server.database);
  for (let round = 0; round < rounds; round += 1) {
    const place = await createPlace(await server.account());
    const writing = Array.from({ length: clients }, (_, client) => writeUntilDeleted(place, client));
    const [answers] = await Promise.all([Promise.all(writing), deleteProject(place)]);
    for (const { status, text } of answers.flat()) {
      assert.ok([200, 201, 204, 404, 409, 422].includes(status), `${status}: ${text}`);
    }
    for (const table of tables) {
      assert.equal(await readRows(server.database, table, place.project.projectId), 0, table.name);
    }
  }
});
