/** Retries of a POST under an Idempotency-Key. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, Variable } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { multipartBoundary, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import { parseIdempotencyKey } from './idempotency.ts';

const server = await startTestServer();
const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED', value: 'Oslo' };
const withKey = (key: string) => ({ headers: { 'idempotency-key': key } });

async function createProject() {
  const account = await server.account();
  const made = await account.project();
  return { account, admin: account.admin, ...made, variables: `${made.path}/variables` };
}

test('the same request with the same key takes effect once and gets the same response', async () => {
  const { account, admin, variables } = await createProject();
  const first = await admin.post<Variable>(variables, city, withKey('once'));
  const second = await admin.post<Variable>(variables, city, withKey('once'));
  assert.equal(second.status, 201);
  assert.equal(second.text, first.text);
  assert.equal(second.headers.location, first.headers.location);
  assert.equal(second.etag, first.etag);
  assert.equal(second.headers['idempotency-replayed'], 'true');
  assert.equal(first.headers['idempotency-replayed'], undefined);
  assert.notEqual(second.headers['x-request-id'], first.headers['x-request-id']);
  const events = await server.database.query(
    `select from event where account_id = $1 and name = 'variable-created'`,
    [account.accountId],
  );
  assert.equal(events.length, 1);
});

test('a replay returns the response although the resource was deleted', async () => {
  const { admin, variables } = await createProject();
  const first = await admin.post(variables, city, withKey('gone'));
  await admin.delete(`${variables}/city`);
  assert.equal((await admin.post(variables, city, withKey('gone'))).text, first.text);
  requireProblem(await admin.get(`${variables}/city`), 404, 'variable-not-found');
});

test('another body with the same key is refused', async () => {
  const { admin, variables } = await createProject();
  await admin.post(variables, city, withKey('other'));
  const other = await admin.post(variables, { ...city, name: 'town' }, withKey('other'));
  requireProblem(other, 422, 'idempotency-key-reused');
  assert.equal((await admin.get<Page<Variable>>(variables)).body.total, 1);
});

test('a key belongs to its actor, its method and its path', async () => {
  const { account, admin, projectId, path, variables } = await createProject();
  await admin.post(variables, city, withKey('mine'));
  const colleague = await account.actor('MEMBER', { projectId, role: 'OWNER' });
  requireProblem(await colleague.post(variables, city, withKey('mine')), 409, 'variable-name-taken');
  assert.equal((await admin.post(`${path}/environments`, { name: 'uat' }, withKey('mine'))).status, 201);
  const other = await account.project();
  assert.equal((await admin.post(`${other.path}/variables`, city, withKey('mine'))).status, 201);
});

test('a refused request is not stored, and its key can be used again', async () => {
  const { admin, variables } = await createProject();
  await admin.post(variables, city);
  requireProblem(await admin.post(variables, city, withKey('again')), 409, 'variable-name-taken');
  requireProblem(
    await admin.post(variables, { ...city, type: 'NUMBER' }, withKey('again')),
    422,
    'value-type-mismatch',
  );
  await admin.delete(`${variables}/city`);
  assert.equal((await admin.post(variables, city, withKey('again'))).status, 201);
});

test('the permission is checked before a replay', async () => {
  const { account, projectId, variables } = await createProject();
  const caller = await account.actor('MEMBER', { projectId, role: 'CONTRIBUTOR' });
  await caller.post(variables, city, withKey('before'));
  const take = (set: string) =>
    server.database.query(`${set} where account_id = $1 and credential_id = $2`, [
      account.accountId,
      caller.actorId,
    ]);
  await take(`update role_grant set role = 'VIEWER'`);
  requireProblem(await caller.post(variables, city, withKey('before')), 403, 'forbidden');
  await take('delete from role_grant');
  requireProblem(await caller.post(variables, city, withKey('before')), 404, 'project-not-found');
  await take('update credential set revoked_at = now()');
  requireProblem(await caller.post(variables, city, withKey('before')), 401, 'token-invalid');
});

test('a key is kept for 24 hours', async () => {
  const later = await startTestServer();
  const account = await later.account();
  const { path } = await account.project();
  await account.admin.post(`${path}/variables`, city, withKey('day'));
  later.clock.advance(24 * 3_600 - 60);
  assert.equal((await account.admin.post(`${path}/variables`, city, withKey('day'))).status, 201);
  later.clock.advance(120);
  requireProblem(
    await account.admin.post(`${path}/variables`, city, withKey('day')),
    409,
    'variable-name-taken',
  );
  const town = await account.admin.post(`${path}/variables`, { ...city, name: 'town' }, withKey('day'));
  assert.equal(town.status, 201, 'and serves another request then');
  assert.equal(
    (await account.admin.post(`${path}/variables`, { ...city, name: 'town' }, withKey('day'))).text,
    town.text,
  );
});

test('the second request is refused while the first is in progress', async () => {
  const { account, admin, path, variables } = await createProject();
  const { url } = { url: `/dpc/v1${variables}` };
  const about = { actorId: admin.actorId, method: 'POST', path: url, request: Buffer.alloc(32) };
  const key = parseIdempotencyKey(server.deps.sealer, 'busy', about)?.key;
  assert.ok(key);
  await server.deps.database.transaction(async (tx) => {
    // Holds the lock that the entry of the first request takes.
    const { statement } = await import('../database/database.ts');
    const holdKey = statement(
      { parameters: { key: 'text' } },
      'select pg_advisory_xact_lock(hashtextextended($key, 0))',
    );
    await tx.query(holdKey, { key: key.toString('hex') });
    requireProblem(await admin.post(variables, city, withKey('busy')), 409, 'idempotency-key-in-use');
  });
  assert.equal((await admin.post(variables, city, withKey('busy'))).status, 201);
  assert.ok(account && path);
});

test('of 16 concurrent requests with one key one takes effect', async () => {
  const { admin, variables } = await createProject();
  const answers = await Promise.all(
    Array.from({ length: 16 }, () => admin.post<Variable>(variables, city, withKey('race'))),
  );
  const made = answers.filter((answer) => answer.status === 201);
  assert.ok(made.length >= 1);
  assert.equal(new Set(made.map((answer) => answer.text)).size, 1);
  assert.equal(made.filter((answer) => answer.headers['idempotency-replayed'] === undefined).length, 1);
  for (const answer of answers.filter((each) => each.status !== 201)) {
    requireProblem(answer, 409, 'idempotency-key-in-use');
  }
});

test('an upload is replayed by its key, and a different upload is refused', async () => {
  const { admin, ...made } = await createProject();
  const parts = [{ name: 'a.txt', content: 'a' }];
  const first = await upload(admin, made, parts, { 'idempotency-key': 'files' });
  const second = await upload(admin, made, parts, { 'idempotency-key': 'files' });
  assert.equal(second.text, first.text);
  const other = await upload(admin, made, [{ name: 'a.txt', content: 'b' }], { 'idempotency-key': 'files' });
  requireProblem(other, 422, 'idempotency-key-reused');
  assert.ok(multipartBoundary);
});

test('a key has 1 to 255 characters', async () => {
  const { admin, variables } = await createProject();
  for (const key of ['', 'k'.repeat(256)]) {
    const { violations } = requireProblem(
      await admin.post(variables, city, withKey(key)),
      400,
      'invalid-request',
    );
    assert.match(violations?.[0] ?? '', /^headers.Idempotency-Key: /);
  }
  assert.equal((await admin.post(variables, city, withKey('k'.repeat(255)))).status, 201);
});

test('an Idempotency-Key is ignored for PATCH and DELETE', async () => {
  const { admin, variables } = await createProject();
  await admin.post(variables, city);
  assert.equal((await admin.delete(`${variables}/city`, withKey('x'))).status, 204);
  requireProblem(await admin.delete(`${variables}/city`, withKey('x')), 404, 'variable-not-found');
});
