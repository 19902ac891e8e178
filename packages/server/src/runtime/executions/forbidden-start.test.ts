/** Executions whose caller has lost its permission when an agent claims them: FORBIDDEN. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../../testing/server.ts';
import { createStartableWithAgent } from '../../../testing/startable-project.ts';

const server = await startTestServer();

async function createOperator() {
  const found = await createStartableWithAgent(server);
  const { projectId } = found.made;
  const operator = await found.account.actor('MEMBER', {
    projectId,
    environmentName: 'dev',
    role: 'OPERATOR',
  });
  const startAs = async (client: typeof operator) => {
    const body = { pipelineName: 'main', environmentName: 'dev' };
    return (await client.post<{ pipelineExecutionId: string }>(found.executions, body)).body
      .pipelineExecutionId;
  };
  return { ...found, operator, startAs };
}

test('an execution is FORBIDDEN if its caller lost the role before an agent claims it', async () => {
  const { operator, startAs, instance, status, read, admin } = await createOperator();
  const [lost, retained] = [await startAs(operator), await startAs(admin)];
  await server.database.query(`delete from role_grant where credential_id = '${operator.actorId}'`);
  const { work } = await instance.claim(1);
  assert.deepEqual(
    work.map(({ workId }) => workId),
    [retained],
  );
  assert.equal(await status(lost), 'FORBIDDEN');
  assert.match((await read(lost)).message ?? '', /^"a MEMBER", which started it, no longer has permission/);
  assert.deepEqual((await instance.claim()).work, []);
});

test('a role in another environment is not enough', async () => {
  const { operator, startAs, instance, status } = await createOperator();
  const id = await startAs(operator);
  await server.database.query(
    `update role_grant set environment_name = 'prod' where credential_id = '${operator.actorId}'`,
  );
  assert.deepEqual((await instance.claim()).work, []);
  assert.equal(await status(id), 'FORBIDDEN');
});

test('an execution is FORBIDDEN if its credential was revoked', async () => {
  const { account, operator, startAs, instance, status } = await createOperator();
  const id = await startAs(operator);
  assert.equal((await account.admin.delete(`/credentials/${operator.actorId}`)).status, 204);
  assert.deepEqual((await instance.claim()).work, []);
  assert.equal(await status(id), 'FORBIDDEN');
});

test('an execution of a user is FORBIDDEN if the user was deactivated, but not if its personal credential was deleted', async () => {
  const { account, made, startAs, instance, status, read } = await createOperator();
  const grant = { projectId: made.projectId, environmentName: 'dev', role: 'OPERATOR' } as const;
  const [gone, retained] = [await account.user(undefined, grant), await account.user(undefined, grant)];
  const [lost, claimed] = [await startAs(gone), await startAs(retained)];
  assert.equal((await account.admin.patch(`/users/${gone.actorId}`, { active: false })).status, 200);
  const credential = `/users/${retained.actorId}/credentials/${retained.credentialId}`;
  assert.equal((await account.admin.delete(credential)).status, 204);
  const { work } = await instance.claim();
  assert.deepEqual(
    work.map(({ workId }) => workId),
    [claimed],
  );
  assert.equal(await status(lost), 'FORBIDDEN');
  assert.ok((await read(lost)).message?.startsWith(JSON.stringify(gone.userName)));
  assert.equal((await read(claimed)).user, retained.userName);
});

test('what was claimed in time goes on', async () => {
  const { operator, startAs, instance, status } = await createOperator();
  const id = await startAs(operator);
  const [work] = (await instance.claim()).work;
  assert.ok(work);
  await server.database.query(`delete from role_grant where credential_id = '${operator.actorId}'`);
  await instance.report(work, { type: 'completed', outcome: { status: 'SUCCESS' } });
  assert.equal(await status(id), 'SUCCESS');
});
