/** What counts against the rate limit of an account, and what does not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

test('a deleted credential and forged tokens do not take the API from the account', async () => {
  const server = await startTestServer({
    settings: { HEADGATE_RATE_LIMIT: '20', HEADGATE_RATE_LIMIT_REFUSED: '30' },
  });
  const { admin, actor } = await server.account();
  const former = await actor('MEMBER');
  assert.equal((await former.get('/projects')).status, 200);
  await admin.delete(`/credentials/${former.actorId}`);
  const first = await former.get('/projects');
  requireProblem(first, 401, 'token-invalid');
  assert.equal(first.headers.ratelimit, undefined, 'the limit of the account does not matter');
  for (let each = 1; each < 30; each += 1)
    requireProblem(await former.get('/projects'), 401, 'token-invalid');
  const limited = await former.get('/projects');
  requireProblem(limited, 429, 'rate-limited');
  assert.match(limited.headers.ratelimit ?? '', /^"address";r=0/);
  const left = Number(/"account";r=(\d+)/.exec((await admin.get('/projects')).headers.ratelimit ?? '')?.[1]);
  assert.ok(left >= 14, `the account has ${left} requests left, from the same address`);
});

test('one member cannot take the API from its account', async () => {
  const server = await startTestServer({ settings: { HEADGATE_RATE_LIMIT: '20' } });
  const { admin, actor } = await server.account();
  const member = await actor('MEMBER');
  await member.token();
  for (let each = 0; each < 40; each += 1) {
    const { status } = await member.get('/projects');
    if (status === 429) assert.ok(each >= 16);
  }
  assert.equal((await admin.get('/projects')).status, 200);
});

test('the endpoint of git counts the same', async () => {
  const server = await startTestServer({
    settings: { HEADGATE_RATE_LIMIT: '20', HEADGATE_RATE_LIMIT_REFUSED: '5' },
  });
  const { admin, actor } = await server.account();
  const former = await actor('MEMBER');
  const authorization = `Bearer ${await former.token()}`;
  await admin.delete(`/credentials/${former.actorId}`);
  const url = `${await server.listen()}/git/01890000-0000-7000-8000-000000000000.git/info/refs?service=git-upload-pack`;
  const read = (headers: Record<string, string>) => fetch(url, { headers });
  for (let each = 0; each < 10; each += 1)
    assert.equal((await read({})).status, 401, 'git asks without a password first');
  for (let each = 0; each < 5; each += 1) assert.equal((await read({ authorization })).status, 401);
  assert.equal((await read({ authorization })).status, 429);
  const left = Number(/"account";r=(\d+)/.exec((await admin.get('/projects')).headers.ratelimit ?? '')?.[1]);
  assert.ok(left >= 17, `the account has ${left} requests left`);
});
