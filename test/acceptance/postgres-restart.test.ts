/** PostgreSQL restarts under load: requests fail only with 503, and work again afterwards. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import { type Answer, type ApiClient, ConnectionLost } from './harness/client.ts';
import { Installation } from './harness/installation.ts';
import { signal } from './harness/processes.ts';
import { Project, sqlScript } from './harness/project.ts';

const clients = 12;
const recoverySeconds = 120;

describe('a restart of PostgreSQL under load', () => {
  let headgate: Installation;
  let client: ApiClient;
  let project: Project;
  before(async () => {
    headgate = await Installation.create();
    await headgate.start('node');
    client = headgate.client();
    project = await Project.create(client);
    await project.publish({ 'short.orch.yaml': sqlScript('select 1') });
  });
  after(() => headgate.remove());

  /** Requests of each kind in turn: reads, writes, tokens, and one without the database. */
  function request(round: string, worker: number, number: number): Promise<Answer> {
    const name = `${round}_${worker}_${number}`;
    switch (number % 5) {
      case 0:
        return client.call('GET', `${project.path}/variables`);
      case 1:
        return client.call('POST', `${project.path}/variables`, {
          body: { name, type: 'TEXT', behaviour: 'SHARED' },
        });
      case 2:
        return client.call('GET', '/v1/pipeline-executions');
      case 3:
        return client.call('POST', `${project.path}/variables/${name}/environment-overrides`, {
          body: { environmentName: 'dev', value: 'x' },
        });
      default:
        // A new client first requests a token.
        return headgate.client().call('GET', '/v1/agents');
    }
  }

  const expected = (answer: Answer, number: number): boolean =>
    answer.status < 300 || (number % 5 === 3 && answer.body.code === 'variable-not-found');

  async function restart(how: NodeJS.Signals): Promise<void> {
    const before = await headgate.process('postmaster');
    signal(before.pid, how);
    await waitUntil('another postmaster', recoverySeconds, () =>
      headgate.processes('postmaster').some(({ pid }) => pid !== before.pid),
    );
    await waitUntil('it is ready again', recoverySeconds, () => headgate.isReady());
  }

  for (const how of ['SIGINT', 'SIGKILL'] as const) {
    it(`by ${how}: 503 with a problem and no other failure, then as before`, async () => {
      const surprises = new Set<string>();
      const counts = { good: 0, unavailable: 0, goodAfterwards: 0 };
      let restarted = false;
      const stopping = new AbortController();
      const load = Array.from({ length: clients }, async (_, worker) => {
        for (let number = 0; !stopping.signal.aborted; number++) {
          try {
            const answer = await request(how, worker, number);
            if (expected(answer, number)) {
              counts.good++;
              if (restarted) counts.goodAfterwards++;
            } else if (answer.status === 503 && answer.body.code === 'database-unavailable') {
              counts.unavailable++;
              assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json/);
              assert.ok(answer.headers.get('retry-after'));
              await delay(10);
            } else surprises.add(`${number % 5}: ${answer.status} ${JSON.stringify(answer.body)}`);
          } catch (failure) {
            // The token request was refused with 503.
            if (!(failure instanceof ConnectionLost && /503/.test(failure.message)))
              surprises.add(String(failure));
          }
        }
      });
      try {
        await waitUntil('some load', 120, () => counts.good > 50);
        // A restart may fall between all requests.
        for (let kills = 0; kills < 10 && counts.unavailable === 0; kills++) await restart(how);
        restarted = true;
        await waitUntil('requests succeed again', 120, () => counts.goodAfterwards > 50);
      } finally {
        stopping.abort();
        await Promise.allSettled(load);
      }
      assert.deepEqual([...surprises], []);
      assert.ok(counts.unavailable > 0, 'no request met the restart');
      const run = await project.run('short');
      assert.equal(run.status, 'SUCCESS', run.message);
    });
  }
});
