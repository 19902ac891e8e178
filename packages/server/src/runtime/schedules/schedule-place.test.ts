/** A schedule keeps its pipeline and its environment. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireProblem } from '../../../testing/client.ts';
import { createScheduled } from '../../../testing/scheduled-project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

test('a PATCH with another pipeline or environment is refused, and says what to do', async () => {
  const { created, patch, read } = await createScheduled(server);
  const id = await created();
  const before = await read(id);
  const refused = await patch(id, { name: 'moved', pipelineName: 'folder/Load it' });
  requireProblem(refused, 422, 'schedule-place-fixed');
  assert.match(
    refused.text,
    /body\.pipelineName: \\"folder\/Load it\\" is not the pipelineName of the schedule, \\"main\.orch\.yaml\\"/,
  );
  const environment = await patch(id, { environmentName: 'prod' });
  requireProblem(environment, 422, 'schedule-place-fixed');
  assert.match(environment.text, /leave environmentName out, or create another schedule/);
  assert.deepEqual(await read(id), before);
});

test('a PATCH with the present pipeline and environment is accepted, such as all members of a GET', async () => {
  const { created, patch, read } = await createScheduled(server);
  const id = await created();
  const { lastRunAt: _, nextRunAt: __, ...members } = await read(id);
  for (const pipelineName of ['main', 'main.orch.yaml']) {
    const answer = await patch(id, { ...members, pipelineName, name: `of ${pipelineName}` });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.name, `of ${pipelineName}`);
  }
});
