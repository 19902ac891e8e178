import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { renderOrchestration, start } from '../run/pipeline-fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
  await fixture.connection.run('CREATE TABLE done (what TEXT)');
});
afterEach(() => fixture.dispose());

const step = (name: string) => [...fixture.steps.values()].find((each) => each.name === name);
const messagesOf = (name: string) =>
  [...fixture.steps.values()].flatMap((each) => (each.name === name ? [each.message] : []));

async function runRetry(parameters: object, target: object) {
  const retry = {
    type: 'retry',
    iterationTarget: 'Do',
    parameters: { componentName: 'Each', ...parameters },
  };
  await fixture.publish({
    'main.orch.yaml': renderOrchestration({ Start: start('Each'), Each: retry, Do: target }),
  });
  return fixture.run('main');
}

describe('retry', () => {
  const flaky = (failing: number) => ({
    type: 'sql-script',
    parameters: {
      sqlScript: `INSERT INTO done VALUES ('x'); SELECT CASE WHEN count(*) > ${failing} THEN 1 ELSE error('not yet') END FROM done`,
    },
  });
  const retry = (retryDelay: string, failing: number, numberOfRetries = '3') =>
    runRetry({ numberOfRetries, retryDelay }, flaky(failing));

  it('runs its target again until it succeeds', async () => {
    assert.deepEqual(await retry('Retry immediately', 2), { status: 'SUCCESS' });
    assert.equal(step('Each')?.message, 'succeeded after 3 attempts');
    assert.deepEqual(
      messagesOf('Do').map((message) => message?.split('\n')[0]),
      ['attempt 1 of 4', 'attempt 2 of 4', 'attempt 3 of 4'],
    );
    assert.deepEqual(fixture.waits, []);
  });

  it('fails with the last message, and waits between attempts', async () => {
    const outcome = await retry('Short delay with backoff', 9);
    assert.match(outcome.message ?? '', /failed after 4 attempts: .*not yet/);
    assert.equal(
      fixture.waits.reduce((sum, each) => sum + each, 0),
      8_000,
    );
    await retry('1.5', 99, '1');
    assert.deepEqual(fixture.waits.slice(-1), [1_500]);
  });

  it('waits for a time of its own', async () => {
    const custom = { numberOfRetries: '1', retryDelay: 'Custom' };
    const waited = async (parameters: object) => {
      const before = fixture.waits.length;
      await runRetry({ ...custom, ...parameters }, flaky(99));
      return fixture.waits.slice(before).reduce((sum, each) => sum + each, 0) / 1_000;
    };
    assert.equal(await waited({ retryInterval: '2', retryTimeUnit: 'Minute' }), 120);
    assert.equal(await waited({}), 1);
    const { message = '' } = await runRetry({ ...custom, retryInterval: '3601' }, flaky(0));
    assert.match(message, /"retryInterval" is 3601: it must be from 0 to 3600/);
  });

  it('names itself if a pipeline that it calls fails', async () => {
    const call = { type: 'run-orchestration', parameters: { orchestrationJob: 'called' } };
    const failing = { type: 'sql-script', parameters: { sqlScript: "SELECT error('broken')" } };
    await fixture.publish({ 'called.orch.yaml': renderOrchestration({ S: start('Break'), Break: failing }) });
    const outcome = await runRetry({ numberOfRetries: '1' }, call);
    assert.match(
      outcome.message ?? '',
      /^main.orch.yaml, line 1: "Each" failed: failed after 2 attempts: called.orch.yaml, line 1: "Break" failed: .*broken/,
    );
  });

  it('a cancellation ends the wait', async () => {
    fixture.onWait(() => fixture.cancel());
    const outcome = await retry('3600', 9);
    assert.equal(outcome.status, 'CANCELLED');
    assert.deepEqual(fixture.waits, [3_600_000]);
  });

  it('refuses an unknown delay and a negative number', async () => {
    assert.match(
      (await retry('often', 0)).message ?? '',
      /"retryDelay" is "often": use seconds from 0 to 3600/,
    );
    assert.match((await retry('1', 0, '-1')).message ?? '', /"numberOfRetries" is -1/);
  });
});
