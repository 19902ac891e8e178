/** The time-outs and retries of components, on a real agent: what they end is gone. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { endlessSql, Project } from './harness/project.ts';
import { sharedInstallation } from './harness/shared-installation.ts';

/** Seconds of a sleep that no other process has among its arguments. */
const mark = `60${process.pid}.25`;

const start = { type: 'start', transitions: { unconditional: ['Work'] } };
function render(work: object): string {
  const after = { type: 'sql-script', parameters: { sqlScript: 'create or replace table after_it (a int)' } };
  const components = { Start: start, Work: { ...work, transitions: { failure: ['After'] } }, After: after };
  return JSON.stringify({ type: 'orchestration', version: '1.0', pipeline: { components } });
}

describe('the timeout of a component', () => {
  let client: ApiClient;
  let project: Project;
  before(async () => {
    client = (await sharedInstallation()).client();
    project = await Project.create(client);
    const script = { type: 'bash-script', parameters: { script: `sleep ${mark}` } };
    await project.publish({
      'sql.orch.yaml': render({
        type: 'sql-script',
        timeout: 1,
        retries: 1,
        retryDelay: 0.1,
        parameters: { sqlScript: `create or replace table kept (a int); ${endlessSql}` },
      }),
      'script.orch.yaml': render({ ...script, timeout: 2 }),
      'waiting.orch.yaml': render({
        type: 'sql-script',
        retries: 1,
        retryDelay: 3600,
        parameters: { sqlScript: 'select * from nowhere' },
      }),
    });
  });

  const listSteps = async (id: string) => {
    const { results } = await client.ask('GET', `${project.path}/pipeline-executions/${id}/steps`);
    return results.map(({ name, result }: { name: string; result: Record<string, unknown> }) => [
      name,
      result.status,
      result.attempt,
    ]);
  };
  const isRunning = (text: string) =>
    readdirSync('/proc').some((pid) => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
      } catch {
        return false;
      }
    });

  it('interrupts its statement; the run and its connection go on', async () => {
    const run = await project.run('sql');
    assert.equal(run.status, 'SUCCESS', run.message);
    assert.deepEqual(await listSteps(run.pipelineExecutionId), [
      ['Start', 'SUCCESS', undefined],
      ['Work', 'FAILED', 1],
      ['Work', 'FAILED', 2],
      ['After', 'SUCCESS', undefined],
    ]);
    const [, , work] = await project.steps(run.pipelineExecutionId);
    assert.match(
      work?.result.message ?? '',
      /^attempt 2 of 2\n"Work" ran longer than its timeout of 1 s and was ended/,
    );
  });

  it('kills its script', async () => {
    const id = await project.start('script');
    await waitUntil('the script', 120, async () => isRunning(mark));
    const run = await project.ended(id);
    assert.equal(run.status, 'SUCCESS', run.message);
    const [, work] = await project.steps(id);
    assert.match(work?.result.message ?? '', /"Work" ran longer than its timeout of 2 s/);
    assert.equal(isRunning(mark), false);
  });

  it('a cancellation ends the wait before a retry', async () => {
    const id = await project.start('waiting');
    await waitUntil('the first attempt', 120, async () =>
      (await project.steps(id)).some(({ name, result }) => name === 'Work' && result.status === 'FAILED'),
    );
    await project.cancel(id, false);
    // Long before the hour is over.
    assert.equal((await project.ended(id)).status, 'CANCELLED');
    assert.deepEqual(await listSteps(id), [
      ['Start', 'SUCCESS', undefined],
      ['Work', 'FAILED', 1],
    ]);
  });
});
