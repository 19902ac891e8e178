/** What a receiver gets: order, signatures, filters and rights. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Webhook as Verifier } from 'standardwebhooks';
import { startTestServer } from '../../../testing/server.ts';
import {
  createWebhookScene,
  loopbackAllowed,
  type SceneOptions,
  subjectsOf,
} from '../../../testing/webhook-scene.ts';

const server = await startTestServer(loopbackAllowed);
const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));

async function createScene(options: SceneOptions = {}) {
  const scene = await createWebhookScene(server, options);
  closing.push(scene.receiver.close);
  return scene;
}

test('events arrive in the order of the log, signed, with the event as data', async () => {
  const scene = await createScene();
  const names: string[] = [];
  for (let count = 0; count < 120; count += 1) names.push(await scene.makeEvent());
  await scene.send();
  assert.deepEqual(scene.subjects(), names);
  const verifier = new Verifier(scene.secret);
  for (const { body, headers, id, event } of scene.receiver.received) {
    assert.doesNotThrow(() => verifier.verify(body, headers));
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(id, event.data.eventId);
    assert.equal(event.type, 'variable-created');
    assert.equal(event.timestamp, event.data.eventTimestamp);
  }
  const { lastStatus, lastDeliveryAt, failingSince } = await scene.read();
  assert.deepEqual([lastStatus, failingSince], [204, undefined]);
  assert.ok(lastDeliveryAt);
  const [last] = await scene.deliveries('size=1');
  const { attempts, status, deliveryId, eventId, eventName } = last ?? assert.fail();
  assert.deepEqual([attempts, status, eventName], [1, 'delivered', 'variable-created']);
  assert.equal(deliveryId, scene.receiver.received.at(-1)?.id);
  assert.equal(eventId, deliveryId);
});

test('a forged body or another secret is not verified', async () => {
  const [scene, other] = [await createScene(), await createScene()];
  await scene.makeEvent();
  await scene.send();
  const [first] = scene.receiver.received;
  const { body, headers } = first ?? assert.fail();
  assert.throws(() => new Verifier(other.secret).verify(body, headers));
  assert.throws(() => new Verifier(scene.secret).verify(`${body} `, headers));
});

test('events from before the webhook are not sent', async () => {
  const first = await createScene();
  await first.makeEvent();
  const second = await createScene({ account: first.account });
  const name = await first.makeEvent();
  await first.send();
  assert.deepEqual(second.subjects(), [name]);
  assert.equal(first.subjects().length, 2);
});

test('during the overlap of a rotation, both secrets verify; afterwards only the new one', async () => {
  const scene = await createScene();
  const rotate = (overlapSeconds: number) =>
    scene.account.admin.post<{ secret: string }>(`${scene.path}/rotate`, { overlapSeconds });
  const { secret } = (await rotate(60)).body;
  assert.ok((await scene.read()).previousSecretUntil);
  await scene.makeEvent();
  await scene.send();
  server.clock.advance(61);
  await scene.makeEvent();
  await scene.send();
  const [during, later] = scene.receiver.received;
  assert.ok(during && later);
  // The library compares the time of a delivery with its own clock.
  const verify = (by: string, { body, headers }: typeof during) => {
    const at = new Date(Number(headers['webhook-timestamp']) * 1_000);
    return headers['webhook-signature']
      ?.split(' ')
      .includes(new Verifier(by).sign(headers['webhook-id'] ?? '', at, body));
  };
  assert.deepEqual([verify(scene.secret, during), verify(secret, during)], [true, true]);
  assert.deepEqual([verify(scene.secret, later), verify(secret, later)], [false, true]);
  assert.equal((await scene.read()).previousSecretUntil, undefined);
});

test('filters select by event, project and environment, and all must match', async () => {
  const account = await server.account();
  const { projectId, path } = await account.project();
  const other = await account.project();
  const wanted = (members: object) => createScene({ account, wanted: { eventNames: [], ...members } });
  const ofProject = await wanted({ projectId, eventNames: ['variable-created'] });
  const ofEnvironment = await wanted({ environmentName: 'dev' });
  const ofBoth = await wanted({ projectId, environmentName: 'prod' });
  for (const project of [path, other.path]) {
    await account.admin.post(`${project}/variables`, { name: 'city', type: 'TEXT', behaviour: 'SHARED' });
    for (const environmentName of ['dev', 'prod']) {
      const override = { environmentName, value: 'Oslo' };
      await account.admin.post(`${project}/variables/city/environment-overrides`, override);
    }
  }
  await ofProject.send();
  const receivedBy = ({ receiver }: typeof ofProject) =>
    receiver.received.map(({ event: { type, data } }) => [
      type,
      data.eventProjectId,
      data.eventEnvironmentName,
    ]);
  assert.deepEqual(receivedBy(ofProject), [['variable-created', projectId, undefined]]);
  assert.deepEqual(
    receivedBy(ofEnvironment).filter(([type]) => type === 'override-written'),
    [
      ['override-written', projectId, 'dev'],
      ['override-written', other.projectId, 'dev'],
    ],
  );
  assert.deepEqual(receivedBy(ofBoth), [['override-written', projectId, 'prod']]);
});

test('a webhook gets what its owner may read at that moment, and passes over the rest', async () => {
  const account = await server.account();
  const { projectId, path } = await account.project();
  const owner = await account.actor('ADMIN', { projectId, role: 'VIEWER' });
  const scene = await createScene({ account, owner });
  const create = (project: string, name: string) =>
    account.admin.post(`${project}/variables`, { name, type: 'TEXT', behaviour: 'SHARED' });
  await create(path, 'seen');
  await scene.makeEvent();
  await scene.send();
  assert.deepEqual(scene.subjects(), ['seen'], 'the other project is not in its reach');
  await server.database.query('delete from role_grant where credential_id = $1', [owner.actorId]);
  await create(path, 'hidden');
  await scene.send();
  await server.database.query(
    `insert into role_grant (account_id, credential_id, project_id, role) values ($1, $2, $3, 'VIEWER')`,
    [account.accountId, owner.actorId, projectId],
  );
  await create(path, 'seen_again');
  await scene.send();
  assert.deepEqual(scene.subjects(), ['seen', 'seen_again']);
});

test('without its owner a webhook is paused, says so, and goes on for who resumes it', async () => {
  const account = await server.account();
  const owner = await account.actor('SUPER_ADMIN');
  const scene = await createScene({ account, owner });
  assert.equal((await account.admin.delete(`/credentials/${owner.actorId}`)).status, 204);
  const name = await scene.makeEvent();
  await scene.send();
  assert.deepEqual(scene.subjects(), []);
  const { state, pauseReason, problem } = await scene.read();
  assert.equal(state, 'paused');
  assert.match(pauseReason ?? '', /owner .* was deleted/);
  assert.match(problem ?? '', /owner no longer exists/);
  await account.admin.patch(scene.path, { state: 'active' });
  await scene.send();
  assert.deepEqual(scene.subjects(), [name]);
  const resumed = await scene.read();
  assert.deepEqual(
    [resumed.state, resumed.problem, resumed.ownerId],
    ['active', undefined, account.admin.actorId],
  );
});

test('no webhook gets an event of another account', async () => {
  const [one, other] = [await createScene({ wanted: { eventNames: [] } }), await createScene()];
  await other.makeEvent();
  await one.send();
  await other.send();
  assert.deepEqual(subjectsOf(other.receiver.received), ['v1']);
  assert.ok(!subjectsOf(one.receiver.received).includes('v1'));
});

test('a test event reaches its webhook only, whatever its filters and the rights of its owner are', async () => {
  const account = await server.account();
  const owner = await account.actor('ADMIN');
  const scene = await createScene({ account, owner });
  const neighbour = await createScene({ account });
  assert.equal((await owner.post(`${scene.path}/test`)).status, 202);
  await scene.send();
  assert.deepEqual(
    scene.receiver.received.map(({ event }) => event.type),
    ['webhook-tested'],
  );
  assert.equal(neighbour.receiver.received.length, 0);
});

test('an alert reaches the webhooks that it names', async () => {
  const scene = await createScene();
  const neighbour = await createScene({ account: scene.account });
  await server.database.query(
    `insert into event (account_id, occurred_at, event_id, name, actor_kind, subject_type, subject_id, state_after)
     values ($1, now(), gen_random_uuid(), 'alert-raised', 'system', 'alert-rule', 'x', $2)`,
    [scene.account.accountId, JSON.stringify({ webhookIds: [scene.webhookId] })],
  );
  await scene.send();
  assert.deepEqual(
    scene.receiver.received.map(({ event }) => event.type),
    ['alert-raised'],
  );
  assert.equal(neighbour.receiver.received.length, 0);
});

test('the bodies hold no secret', async () => {
  const scene = await createScene({ wanted: { eventNames: [] } });
  const tokenUrl = 'http://127.0.0.1:1/services/secret-token';
  await scene.account.admin.post('/webhooks', { name: 'other', url: tokenUrl });
  await scene.account.admin.post('/credentials', { name: 'ci', role: 'MEMBER' });
  const { secret } = (await scene.account.admin.post<{ secret: string }>(`${scene.path}/rotate`)).body;
  await scene.send();
  const sent = scene.receiver.received.map(({ body }) => body).join();
  assert.match(sent, /credential-created.*webhook-rotated/s);
  for (const each of [scene.secret, secret, 'clientSecret', 'whsec_', 'secret-token'])
    assert.ok(!sent.includes(each));
});
