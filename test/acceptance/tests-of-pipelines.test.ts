/** The tests of a version: started, read and cancelled by the API, run by the real agent. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestExecution } from '@headgate/contract';
import type { ApiClient } from './harness/client.ts';
import { exampleFiles } from './harness/examples.ts';
import { endlessSql, Project, sqlScript, steps } from './harness/project.ts';
import { sharedInstallation } from './harness/shared-installation.ts';

const ever = 'from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z';

describe('tests of pipelines', () => {
  let client: ApiClient;
  let project: Project;

  before(async () => {
    client = (await sharedInstallation()).client();
    project = await Project.create(client);
    await project.publish({
      ...exampleFiles('orders'),
      'Tests/No customers.orch.yaml': steps(
        ['Load', 'run-pipeline-under-test', { pipelineName: 'Orders/Load orders' }],
        [
          'Totals',
          'assert-table',
          { tableName: 'totals', rowCountComparisonType: 'Equal To', rowCountValue: '0' },
        ],
      ),
      'endless.orch.yaml': sqlScript(endlessSql),
      'Endless.orch.yaml': steps(['Run', 'run-pipeline-under-test', { pipelineName: 'endless' }]),
      'as before.orch.yaml': steps(
        ['Orders', 'assert-table', { tableName: 'orders', exists: 'No' }],
        ['Totals', 'assert-table', { tableName: 'totals', exists: 'No' }],
      ),
    });
  });

  async function start(body: object): Promise<string> {
    const path = `${project.path}/test-executions`;
    const answer = await client.call('POST', path, { body: { environmentName: 'dev', ...body } });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return `${path}/${answer.body.testExecutionId}`;
  }
  const read = async (path: string): Promise<TestExecution> => (await client.call('GET', path)).body;

  async function waitUntil(path: string, done: (found: TestExecution) => boolean): Promise<TestExecution> {
    for (;;) {
      const found = await read(path);
      if (done(found)) return found;
      await sleep(200);
    }
  }

  it('pass and fail with expected and actual values, and leave the environment as it was', async () => {
    const path = await start({ scope: 'PIPELINE', pipelines: [{ pipelineName: 'Orders/Load orders' }] });
    const { status, message, results } = await waitUntil(path, (found) => found.finishedAt !== undefined);
    assert.deepEqual(
      [status, message],
      ['FAILED', '1 of 2 tests did not pass: Tests/No customers.orch.yaml'],
    );
    const [wrong, right] = results.toSorted((one, other) => (one.testName < other.testName ? -1 : 1));
    assert.deepEqual([right?.testName, right?.status], ['Tests/Orders are added up.orch.yaml', 'PASSED']);
    assert.equal(right?.pipelineName, 'Orders/Load orders.orch.yaml');
    assert.deepEqual(
      [wrong?.status, wrong?.expected, wrong?.actual],
      ['FAILED', 'Equal To 0 rows', '3 rows'],
    );
    const run = await project.run('as before');
    assert.equal(run.status, 'SUCCESS', run.message);
  });

  it('end at once when they are cancelled by force', async () => {
    const path = await start({ scope: 'TEST', tests: [{ testName: 'Endless' }] });
    const started = `/v1/events?${ever}&subjectId=${path.split('/').at(-1)}&eventName=test-execution-started`;
    for (;;) {
      const { status, body } = await client.call('GET', started);
      assert.equal(status, 200);
      if (body.results.length > 0) break;
      await sleep(200);
    }
    const cancelled = await client.call('PATCH', path, { body: { status: 'CANCELLED', forceUpdate: true } });
    assert.equal(cancelled.status, 200);
    const outcome = await waitUntil(path, (found) => found.finishedAt !== undefined);
    assert.deepEqual([outcome.status, outcome.results[0]?.status], ['CANCELLED', 'CANCELLED']);
    assert.match(outcome.message ?? '', /^killed: cancelled by .* with force/);
    const again = await client.call('PATCH', path, { body: { status: 'CANCELLED' } });
    assert.deepEqual([again.status, again.body.code], [409, 'tests-ended']);
  });
});
