/** Webhooks as a resource: who may write them, their addresses, limits and concurrent writes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Page, type Webhook, webhooksPerAccount } from '@headgate/contract';
import type { Client } from '../../../testing/client.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: { HEADGATE_EGRESS_ALLOW: '127.0.0.1,plain.example.com' } });
const hook = { name: 'hook', url: 'https://hooks.example.com/headgate?x=1' };

async function create(client: Client, members: object = {}) {
  return client.post<{ webhookId: string; secret: string }>('/webhooks', { ...hook, ...members });
}

test('a webhook is created with a secret that only this response shows', async () => {
  const { admin } = await server.account();
  const made = await create(admin);
  assert.equal(made.status, 201);
  assert.match(made.body.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.ok(made.headers.location?.endsWith(`/webhooks/${made.body.webhookId}`));
  const read = await admin.get<Webhook>(`/webhooks/${made.body.webhookId}`);
  const { createdAt: _, ...rest } = read.body;
  assert.deepEqual(rest, {
    webhookId: made.body.webhookId,
    ...hook,
    eventNames: [],
    format: 'json',
    state: 'active',
    ownerId: admin.actorId,
  });
  assert.equal(read.etag, made.etag);
  const [row] = await server.database.query<{ sealed_secret: Buffer }>(
    'select sealed_secret from webhook where webhook_id = $1',
    [made.body.webhookId],
  );
  assert.ok(!row?.sealed_secret.includes(made.body.secret.slice(6)));
});

test('webhooks are listed newest first; another account sees none of them', async () => {
  const { admin } = await server.account();
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) ids.unshift((await create(admin)).body.webhookId);
  const list = async (client: Client) => (await client.get<Page<Webhook>>('/webhooks')).body;
  const { results, total } = await list(admin);
  assert.deepEqual([results.map(({ webhookId }) => webhookId), total], [ids, 3]);
  const stranger = (await server.account()).admin;
  assert.equal((await list(stranger)).total, 0);
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/rotate'],
    ['POST', '/test'],
    ['GET', '/deliveries'],
    ['GET', '/deliveries?status=dead'],
    ['POST', '/redeliver'],
  ] as const) {
    const body = method === 'PATCH' ? { body: {} } : {};
    const answer = await stranger.send(method, `/webhooks/${ids[0]}${path}`, body);
    requireProblem(answer, 404, 'webhook-not-found');
    requireProblem(await stranger.send(method, `/webhooks/x${path}`, body), 404, 'webhook-not-found');
  }
});

test('an address that the server must not send to is refused, with the reason', async () => {
  const { admin } = await server.account();
  const { webhookId } = (await create(admin)).body;
  const refused: [string, RegExp][] = [
    ['hooks.example.com', /absolute http or https URL/],
    ['ftp://hooks.example.com/', /absolute http or https URL/],
    ['http://hooks.example.com/', /use https.*HEADGATE_EGRESS_ALLOW/],
    ['https://10.1.2.3/', /private range.*HEADGATE_EGRESS_ALLOW/],
    ['https://[::1]/', /loopback range/],
    ['https://169.254.169.254/latest', /metadata service of a cloud/],
    ['https://unknown.example.net/', /could not be resolved/],
    ['https://user:password@hooks.example.com/', /user or a password/],
    ['https://user@hooks.example.com/', /user or a password/],
  ];
  for (const [url, reason] of refused) {
    const { detail } = requireProblem(await create(admin, { url }), 422, 'webhook-url-refused');
    assert.match(detail, reason);
    assert.ok(!detail.includes('password@'));
    requireProblem(await admin.patch(`/webhooks/${webhookId}`, { url }), 422, 'webhook-url-refused');
  }
  requireProblem(await create(admin, { url: '' }), 400, 'invalid-request');
  requireProblem(
    await create(admin, { url: `https://hooks.example.com/${'a'.repeat(2_048)}` }),
    400,
    'invalid-request',
  );
  for (const url of ['http://127.0.0.1:9/', 'http://plain.example.com/x#fragment'])
    assert.equal((await create(admin, { url })).status, 201, url);
});

test('filters must exist', async () => {
  const account = await server.account();
  const { admin } = account;
  const { projectId } = await account.project();
  const nowhere = { projectId: '00000000-0000-4000-8000-000000000000' };
  requireProblem(await create(admin, nowhere), 422, 'unknown-project');
  requireProblem(await create(admin, { projectId, environmentName: 'uat' }), 422, 'unknown-environment');
  requireProblem(await create(admin, { eventNames: ['project-creatd'] }), 400, 'invalid-request');
  const made = await create(admin, { projectId, environmentName: 'dev', eventNames: ['project-created'] });
  const path = `/webhooks/${made.body.webhookId}`;
  requireProblem(await admin.patch(path, nowhere), 422, 'unknown-project');
  const changed = await admin.patch<Webhook>(path, {
    projectId: null,
    environmentName: null,
    eventNames: [],
  });
  const { projectId: ofProject, environmentName, eventNames } = changed.body;
  assert.deepEqual([ofProject, environmentName, eventNames], [undefined, undefined, []]);
});

test('after its project is deleted a webhook says that no more events match', async () => {
  const account = await server.account();
  const { projectId, path } = await account.project();
  const { webhookId } = (await create(account.admin, { projectId, environmentName: 'dev' })).body;
  const read = async () => (await account.admin.get<Webhook>(`/webhooks/${webhookId}`)).body.problem;
  assert.equal(await read(), undefined);
  await account.admin.delete(`${path}/environments/dev?confirm=true`);
  assert.match((await read()) ?? '', /The environment "dev" .* no longer exists/);
  await account.admin.delete(path);
  assert.match((await read()) ?? '', /no longer exists/);
});

test('an account has a limited number of webhooks', async () => {
  const account = await server.account();
  await create(account.admin);
  await server.database.query(
    `insert into webhook (account_id, webhook_id, name, url, event_names, state, sealed_secret, owner_id, version, created_at, position)
     select account_id, gen_random_uuid(), name, url, event_names, state, sealed_secret, owner_id, version, created_at, position
     from webhook, generate_series(1, $2::integer) where account_id = $1`,
    [account.accountId, webhooksPerAccount - 3],
  );
  const answers = await Promise.all(Array.from({ length: 5 }, () => create(account.admin)));
  const statuses = answers.map(({ status }) => status).toSorted();
  assert.deepEqual(statuses, [201, 201, 409, 409, 409]);
  requireProblem(await create(account.admin), 409, 'too-many-webhooks');
});

test('a write with If-Match is refused if the webhook has changed', async () => {
  const { admin } = await server.account();
  const made = await create(admin);
  const path = `/webhooks/${made.body.webhookId}`;
  const ifMatch = { headers: { 'if-match': made.etag } };
  const changed = await admin.patch<Webhook>(path, { name: 'other' }, ifMatch);
  assert.equal(changed.body.name, 'other');
  requireProblem(await admin.patch(path, { name: 'third' }, ifMatch), 412, 'etag-mismatch');
  requireProblem(await admin.delete(path, ifMatch), 412, 'etag-mismatch');
  await admin.post(`${path}/rotate`);
  requireProblem(await admin.delete(path, { headers: { 'if-match': changed.etag } }), 412, 'etag-mismatch');
  const { etag } = await admin.get(path);
  assert.equal((await admin.delete(path, { headers: { 'if-match': etag } })).status, 204);
  requireProblem(await admin.get(path), 404, 'webhook-not-found');
});

test('a repeated request with the same Idempotency-Key gets the same secret', async () => {
  const { admin } = await server.account();
  const send = (headers: Record<string, string>) =>
    admin.post<{ webhookId: string; secret: string }>('/webhooks', hook, { headers });
  const [one, again] = [await send({ 'idempotency-key': 'a' }), await send({ 'idempotency-key': 'a' })];
  assert.deepEqual(one.body, again.body);
  const [row] = await server.database.query<{ body: string }>(
    `select coalesce(body, '') as body from idempotency_record order by 1 desc limit 1`,
  );
  assert.ok(!row?.body.includes(one.body.secret));
});

test('Super Admins and Admins manage webhooks; others do not', async () => {
  const account = await server.account();
  for (const role of ['SUPER_ADMIN', 'ADMIN'] as const)
    assert.equal((await create(await account.actor(role))).status, 201, role);
  for (const role of ['BILLING_ADMIN', 'MEMBER', 'DIRECTORY'] as const)
    requireProblem(await create(await account.actor(role)), 403, 'forbidden');
  requireProblem(
    await create(await account.actor('MEMBER'), { url: 'https://unknown.example.net/' }),
    403,
    'forbidden',
  );
});

test('a webhook whose owner may read more is changed by its owner and by Super Admins only', async () => {
  const account = await server.account();
  const { projectId } = await account.project();
  const other = await account.project();
  const viewer = { projectId, role: 'VIEWER' } as const;
  const change = async (by: Client, webhookId: string) => {
    const path = `/webhooks/${webhookId}`;
    return [
      await by.post(`${path}/rotate`, {}),
      await by.post(`${path}/test`),
      await by.post(`${path}/redeliver`, {}),
      await by.patch(path, { url: 'https://elsewhere.example.com/' }),
      await by.delete(path),
    ];
  };
  const [plain, reader] = [await account.actor('ADMIN'), await account.actor('ADMIN', viewer)];
  const inDev = await account.actor('ADMIN', { projectId, environmentName: 'dev', role: 'VIEWER' });
  const elsewhere = await account.actor('ADMIN', { projectId: other.projectId, role: 'OWNER' });
  for (const [owner, refused, permitted] of [
    [account.admin, [plain, reader], [await account.actor('SUPER_ADMIN'), account.admin]],
    [reader, [plain, inDev, elsewhere], [await account.actor('ADMIN', viewer), reader, account.admin]],
    [inDev, [plain, elsewhere], [reader]],
    [plain, [], [reader, plain]],
  ] as const) {
    for (const by of refused) {
      const { webhookId } = (await create(owner)).body;
      for (const answer of await change(by, webhookId))
        requireProblem(answer, 403, 'webhook-of-owner-with-more-rights');
      assert.equal((await by.get(`/webhooks/${webhookId}`)).status, 200);
    }
    for (const by of permitted) {
      const { webhookId } = (await create(owner)).body;
      for (const answer of await change(by, webhookId)) assert.ok(answer.status < 300, answer.text);
    }
  }
});
