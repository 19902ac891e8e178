/**
 * After its secret is refreshed at any server, the local agent continues with its runs, and also starts
 * again.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../../packages/server/testing/database.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { Installation } from './harness/installation.ts';
import { endlessScript, Project, sqlScript } from './harness/project.ts';

describe('the local agent whose secret is refreshed', () => {
  let database: TestDatabase;
  /** With the local agent. */
  let own: Installation;
  /** Without one. */
  let other: Installation;
  let project: Project;
  const secrets: string[] = [];
  const clientSecret = `secret-of-both-${randomBytes(12).toString('hex')}`;

  before(async () => {
    database = await createTestDatabase();
    const shared = {
      DATABASE_URL: database.url,
      HEADGATE_MASTER_KEY: randomBytes(32).toString('base64'),
      HEADGATE_PUBLIC_URL: 'http://headgate.test',
      HEADGATE_CLIENT_ID: 'operator',
      HEADGATE_CLIENT_SECRET: clientSecret,
    };
    own = await Installation.create({ environment: shared });
    other = await Installation.create({ environment: { ...shared, HEADGATE_LOCAL_AGENT: 'off' } });
    await own.start();
    await other.start();
    project = await Project.create(at(own));
    await project.publish({
      'long.orch.yaml': endlessScript,
      'short.orch.yaml': sqlScript('select 1'),
    });
    await said('connected', 1);
  });
  after(async () => {
    await own.remove();
    await other.remove();
    await database.drop();
  });

  const at = (installation: Installation): ApiClient => installation.client('operator', clientSecret);
  const refresh = async (client: ApiClient): Promise<void> => {
    const { agentId } = (await client.ask('GET', '/v1/agents')).results[0];
    const path = `/v1/agents/${agentId}/credentials`;
    secrets.push((await client.ask('POST', path, { action: 'SECRET_REFRESH' })).clientSecret);
  };
  const certificate = async (): Promise<string> => {
    const { agentId } = (await at(own).ask('GET', '/v1/agents')).results[0];
    return waitUntil('a certificate', 120, async () => {
      const { status, body } = await at(own).call('GET', `/v1/agents/${agentId}/certificate`);
      return status === 200 && body.kid;
    });
  };
  const said = (message: string, times: number) => own.lines(`"msg":"${message}"`, times);
  const given = (times: number) => said('client secret replaced', times);

  it('continues in the same process, and so does its run', async () => {
    const { pid } = await own.process('agent');
    const id = await project.start('long');
    await project.stepRunning(id, 'Script');
    const before = await certificate();
    await refresh(at(own));
    await given(1);
    assert.equal((await project.run('short')).status, 'SUCCESS');
    assert.notEqual(await certificate(), before, 'the one of before is revoked');
    assert.equal((await own.process('agent')).pid, pid);
    await project.cancel(id, true);
    assert.equal((await project.ended(id)).status, 'CANCELLED');
  });

  it('receives it when another server refreshed it', async () => {
    await refresh(at(other));
    await given(2);
    assert.equal((await project.run('short')).status, 'SUCCESS');
  });

  it('starts with it after its process died, and no output contains it', async () => {
    const { pid } = await own.process('agent');
    const connections = own.countLines('"msg":"connected"');
    await own.kill(pid);
    // An execution that is queued now could go to the dead process, and would wait for the end of its lease.
    await own.lines('"msg":"connected"', connections + 1);
    assert.equal((await project.run('short')).status, 'SUCCESS');
    const { agentId } = (await at(own).ask('GET', '/v1/agents')).results[0];
    const secret = { name: 'orders', type: 'PASSWORD', value: { password: 'x' } };
    await at(own).ask('POST', `/v1/secrets/${agentId}/secret-value`, { secret });
    for (const secret of secrets) assert.ok(!own.output.includes(secret) && !other.output.includes(secret));
  });
});
