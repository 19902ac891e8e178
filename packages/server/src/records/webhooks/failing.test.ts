/** Receivers that fail: retries, dead deliveries, redelivery, pauses. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AccountEventItem, Page } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { claimDue } from '../../../testing/server-work.ts';
import {
  createWebhookScene,
  loopbackAllowed,
  type SceneOptions,
  type WebhookScene,
} from '../../../testing/webhook-scene.ts';
import { claimWork } from '../../kernel/work/due-work.ts';
import { readLogBounds } from '../events/index.ts';
import { removeOldDeliveries } from './delivery.store.ts';
import { hastenRetries, listReadyWebhooks } from './delivery-queue.store.ts';

const server = await startTestServer(loopbackAllowed);
const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));
const hour = 3_600;
const attemptsUntilDead = 18;

async function createScene(options: SceneOptions = {}): Promise<WebhookScene> {
  const scene = await createWebhookScene(server, options);
  closing.push(scene.receiver.close);
  return scene;
}

async function listEvents({ account: { admin }, webhookId }: WebhookScene, name: string) {
  const range = 'from=2020-01-01T00:00:00.000Z&to=2100-01-01T00:00:00.000Z';
  const query = `${range}&eventName=${name}&subjectId=${webhookId}`;
  return (await admin.get<Page<AccountEventItem>>(`/events?${query}`)).body.results;
}

/** Sends until the first event is dead. */
async function exhaust(scene: WebhookScene): Promise<void> {
  for (let attempt = 0; attempt < attemptsUntilDead; attempt += 1) {
    await scene.send();
    server.clock.advance(3 * hour);
  }
}

test('an event that fails is sent again after a pause, before the events behind it, with the same id', async () => {
  const scene = await createScene();
  scene.receiver.answer = 503;
  const names = [await scene.makeEvent(), await scene.makeEvent(), await scene.makeEvent()];
  await scene.send();
  await scene.send();
  assert.equal(scene.receiver.received.length, 1, 'not before the pause is over');
  const [pending, ...others] = await scene.deliveries();
  assert.deepEqual(
    [pending?.status, pending?.attempts, pending?.lastStatus, others],
    ['pending', 1, 503, []],
  );
  assert.equal(pending?.lastError, 'The receiver answered 503.');
  const pause = Date.parse(pending?.nextAttemptAt ?? '') - server.clock.now().getTime();
  assert.ok(pause >= 5_000 && pause <= 5_500, `${pause} ms`);
  const failing = await scene.read();
  assert.equal(failing.lastStatus, 503);
  assert.equal(failing.nextAttemptAt, pending?.nextAttemptAt);
  assert.ok(failing.failingSince);
  server.clock.advance(6);
  scene.receiver.answer = 204;
  await scene.send();
  assert.deepEqual(scene.subjects(), [names[0], ...names]);
  const [first, second] = scene.receiver.received;
  assert.equal(first?.id, second?.id);
  assert.deepEqual(
    (await scene.deliveries()).map(({ status, attempts }) => [status, attempts]),
    [
      ['delivered', 1],
      ['delivered', 1],
      ['delivered', 2],
    ],
  );
  const healed = await scene.read();
  assert.deepEqual([healed.failingSince, healed.nextAttemptAt], [undefined, undefined]);
});

test('after its last attempt a delivery is dead, and the next event is sent', async () => {
  const scene = await createScene();
  const poison = await scene.makeEvent();
  const next = await scene.makeEvent();
  scene.receiver.answer = (response, { event }) =>
    response.writeHead(event.data.eventSubjectName === poison ? 500 : 200).end();
  await exhaust(scene);
  assert.equal(scene.receiver.received.length, attemptsUntilDead + 1);
  assert.equal(scene.subjects().at(-1), next);
  const [dead, ...others] = await scene.deliveries('status=dead');
  assert.deepEqual(
    [dead?.attempts, dead?.lastError, others],
    [attemptsUntilDead, 'The receiver answered 500.', []],
  );
  assert.equal(dead?.nextAttemptAt, undefined);
});

test('a dead delivery is sent again, all at once or by its id', async () => {
  const scene = await createScene();
  const { admin } = scene.account;
  await scene.makeEvent();
  scene.receiver.answer = 500;
  await exhaust(scene);
  const [dead] = await scene.deliveries('status=dead');
  const redeliver = (body: object) => admin.post<{ redelivered: number }>(`${scene.path}/redeliver`, body);
  assert.deepEqual((await redeliver({})).body, { redelivered: 1 });
  await scene.send();
  const [pending] = await scene.deliveries('status=pending');
  assert.deepEqual([pending?.attempts, pending?.deliveryId], [1, dead?.deliveryId]);
  requireProblem(await redeliver({ deliveryIds: [dead?.deliveryId] }), 422, 'unknown-delivery');
  scene.receiver.answer = 200;
  server.clock.advance(6);
  await scene.send();
  assert.equal((await scene.deliveries())[0]?.status, 'delivered');
  assert.deepEqual((await redeliver({ deliveryIds: [dead?.deliveryId] })).body, { redelivered: 1 });
  await scene.send();
  assert.deepEqual((await redeliver({})).body, { redelivered: 0 });
  assert.deepEqual(scene.subjects().slice(-2), ['v1', 'v1']);
  requireProblem(await redeliver({ deliveryIds: ['no-such'] }), 422, 'unknown-delivery');
});

test('a redelivery that fails does not hold up new events', async () => {
  const scene = await createScene();
  const { admin } = scene.account;
  const names = [await scene.makeEvent(), await scene.makeEvent()];
  await scene.send();
  scene.receiver.answer = (response, { event }) =>
    response.writeHead(names.includes(event.data.eventSubjectName ?? '') ? 500 : 200).end();
  const deliveryIds = (await scene.deliveries()).map(({ deliveryId }) => deliveryId);
  await admin.post(`${scene.path}/redeliver`, { deliveryIds });
  const later = await scene.makeEvent();
  await scene.send();
  assert.deepEqual(scene.subjects(), [...names, names[0], later], 'the second one waits for the first one');
  scene.receiver.answer = 200;
  server.clock.advance(6);
  await scene.send();
  assert.deepEqual(scene.subjects().slice(-2), names);
  assert.deepEqual(await scene.deliveries('status=pending'), []);
});

test('a redelivery of an event that retention removed is dead', async () => {
  const scene = await createScene();
  await scene.makeEvent();
  await scene.send();
  await server.database.query(`delete from event where account_id = $1`, [scene.account.accountId]);
  const [{ deliveryId } = { deliveryId: '' }] = await scene.deliveries();
  await scene.account.admin.post(`${scene.path}/redeliver`, { deliveryIds: [deliveryId] });
  await scene.send();
  const [dead] = await scene.deliveries('status=dead');
  assert.match(dead?.lastError ?? '', /^Retention removed the event/);
  assert.equal(scene.receiver.received.length, 1);
});

test('410 pauses a webhook at once, with an event; resumed, it goes on where it stopped', async () => {
  const scene = await createScene();
  scene.receiver.answer = 410;
  const names = [await scene.makeEvent(), await scene.makeEvent()];
  await scene.send();
  await scene.send();
  assert.equal(scene.receiver.received.length, 1);
  const paused = await scene.read();
  assert.equal(paused.state, 'paused');
  assert.match(paused.pauseReason ?? '', /410/);
  const [event] = await listEvents(scene, 'webhook-paused');
  assert.equal(event?.eventSource, 'system');
  assert.deepEqual(event?.additionalInfo.after, { state: 'paused', pauseReason: paused.pauseReason });
  requireProblem(await scene.account.admin.post(`${scene.path}/test`), 409, 'webhook-is-paused');
  scene.receiver.answer = 200;
  const resumed = await scene.account.admin.patch<{ state: string }>(scene.path, { state: 'active' });
  assert.equal(resumed.body.state, 'active');
  await scene.send();
  assert.deepEqual(scene.subjects(), [names[0], ...names]);
});

test('a webhook is paused after three days without a success', async () => {
  const scene = await createScene();
  scene.receiver.answer = 500;
  await scene.makeEvent();
  for (let sent = 0; sent < 23; sent += 1) {
    await scene.send();
    server.clock.advance(3 * hour);
    if (sent % 5 === 0) await scene.makeEvent();
  }
  assert.equal((await scene.read()).state, 'active', 'after 69 hours');
  server.clock.advance(4 * hour);
  await scene.send();
  const { state, pauseReason } = await scene.read();
  assert.equal(state, 'paused');
  assert.match(pauseReason ?? '', /^No delivery has succeeded since /);
  const count = scene.receiver.received.length;
  server.clock.advance(24 * hour);
  await scene.send();
  assert.equal(scene.receiver.received.length, count);
});

test('a paused webhook keeps its place', async () => {
  const scene = await createScene();
  await scene.account.admin.patch(scene.path, { state: 'paused' });
  const names = [await scene.makeEvent(), await scene.makeEvent()];
  await scene.send();
  assert.deepEqual(scene.subjects(), []);
  assert.match((await scene.read()).pauseReason ?? '', /by its owner/);
  await scene.account.admin.patch(scene.path, { state: 'active' });
  await scene.send();
  assert.deepEqual(scene.subjects(), names);
});

test('events that retention removed in the pause are counted, with an event', async () => {
  const scene = await createScene();
  await scene.account.admin.patch(scene.path, { state: 'paused' });
  await scene.makeEvent();
  await scene.makeEvent();
  await readLogBounds(server.deps.database, scene.account.accountId);
  await server.database.query(
    `update event_position set removed_position = last_position where account_id = $1`,
    [scene.account.accountId],
  );
  await server.database.query(`delete from event where account_id = $1`, [scene.account.accountId]);
  const later = await scene.makeEvent();
  await scene.account.admin.patch(scene.path, { state: 'active' });
  await scene.send();
  assert.deepEqual(scene.subjects(), [later]);
  const { missedEvents } = await scene.read();
  assert.ok(missedEvents !== undefined && missedEvents >= 2, `${missedEvents}`);
  const [event] = await listEvents(scene, 'webhook-events-missed');
  assert.deepEqual(event?.additionalInfo.after, { missedEvents });
});

test('a failed event that no longer matches makes way', async () => {
  const scene = await createScene();
  scene.receiver.answer = 500;
  await scene.makeEvent();
  await scene.send();
  scene.receiver.answer = 200;
  await scene.account.admin.patch(scene.path, { eventNames: ['webhook-updated'], state: 'active' });
  await scene.send();
  const [dead] = await scene.deliveries('status=dead');
  assert.match(dead?.lastError ?? '', /no longer match/);
  assert.deepEqual(await scene.deliveries('status=pending'), []);
  assert.equal(scene.receiver.received.at(-1)?.event.type, 'webhook-updated');
});

test('a receiver that hangs holds up its own webhook only, and the attempt ends', async () => {
  const scene = await createScene();
  const other = await createScene({ account: scene.account });
  scene.receiver.answer = () => undefined;
  const name = await scene.makeEvent();
  await scene.send();
  assert.deepEqual(other.subjects(), [name]);
  const [pending] = await scene.deliveries();
  assert.deepEqual([pending?.status, pending?.lastError], ['pending', 'There was no response within 1 s.']);
});

test('an address that begins to lead to a private range is refused at its use, and tried again', async () => {
  let address = '93.184.215.14';
  const rebound = await startTestServer({ resolve: async () => [address] });
  const scene = await createWebhookScene(rebound, { wanted: { url: 'https://hooks.example.org/' } });
  address = '10.0.0.8';
  await scene.makeEvent();
  await scene.send();
  const [pending] = await scene.deliveries();
  assert.equal(pending?.status, 'pending');
  assert.match(pending?.lastError ?? '', /hooks\.example\.org leads to an address in a private range/);
  await scene.receiver.close();
});

test('after the clock was moved back, nothing waits longer than its pause', async () => {
  const scene = await createScene();
  scene.receiver.answer = 500;
  await scene.makeEvent();
  await scene.send();
  server.clock.advance(-hour);
  scene.receiver.answer = 200;
  await hastenRetries(server.deps.database.read, server.clock.now());
  await scene.send();
  assert.deepEqual(scene.subjects(), ['v1', 'v1']);
  server.clock.advance(hour);
});

test('old deliveries are removed: delivered ones after 7 days, dead ones after 30', async () => {
  const scene = await createScene();
  const poison = await scene.makeEvent();
  await scene.makeEvent();
  scene.receiver.answer = (response, { event }) =>
    response.writeHead(event.data.eventSubjectName === poison ? 500 : 200).end();
  await exhaust(scene);
  const { retention } = server.deps.config;
  const remove = () => removeOldDeliveries(server.deps.database.read, server.clock.now(), retention);
  const statuses = async () => (await scene.deliveries()).map(({ status }) => status);
  await remove();
  assert.deepEqual(await statuses(), ['delivered', 'dead']);
  server.clock.advance(8 * 24 * hour);
  await remove();
  assert.deepEqual(await statuses(), ['dead']);
  server.clock.advance(23 * 24 * hour);
  await remove();
  assert.deepEqual(await statuses(), []);
});

test('what resumes a webhook counts, although a redelivery is being sent', async () => {
  const scene = await createScene();
  const { admin } = scene.account;
  await scene.makeEvent();
  await scene.send();
  scene.receiver.answer = 500;
  const failing = await scene.makeEvent();
  await scene.send();
  const [, { deliveryId } = { deliveryId: '' }] = await scene.deliveries();
  await admin.post(`${scene.path}/redeliver`, { deliveryIds: [deliveryId] });
  scene.receiver.answer = async (response) => {
    scene.receiver.answer = 204;
    await admin.patch(scene.path, { state: 'active' });
    response.writeHead(204).end();
  };
  await scene.send();
  await scene.send();
  assert.deepEqual(scene.subjects(), ['v1', failing, 'v1', failing]);
});

test('a webhook that does not fail has nothing to send again when it is resumed', async () => {
  const scene = await createScene();
  await scene.account.admin.patch(scene.path, { state: 'active' });
  assert.equal((await scene.read()).nextAttemptAt, undefined);
});

/** A server takes the webhook and is killed. */
async function killServer({ account }: WebhookScene): Promise<void> {
  const { clock, deps } = server;
  await readLogBounds(deps.database, account.accountId);
  const { read } = deps.database;
  // After a death the webhook is due.
  const ready = await listReadyWebhooks(read, account.accountId, 10);
  const about = { kind: 'webhook', leaseSeconds: 20, mostInterrupted: 10, now: clock.now() };
  const claims =
    ready.length > 0
      ? await claimWork(server.deps.database, ready, { ...about, isReady: true })
      : await claimDue(deps, { ...about, interruptedAtOnce: 10 });
  assert.equal(claims.length, 1);
  clock.advance(21);
}

test('a webhook whose server was killed five times in a row is paused, and goes on when it is resumed', async () => {
  const scene = await createScene();
  const name = await scene.makeEvent();
  for (let kill = 0; kill < 5; kill += 1) await killServer(scene);
  await scene.send();
  const paused = await scene.read();
  assert.equal(paused.state, 'paused');
  assert.match(paused.pauseReason ?? '', /^A server stopped 5 times in a row while it sent for the webhook/);
  assert.equal((await listEvents(scene, 'webhook-paused')).length, 1);
  assert.deepEqual(scene.subjects(), []);
  await scene.account.admin.patch(scene.path, { state: 'active' });
  await scene.send();
  assert.equal(scene.subjects()[0], name);
});

test('a delivery forgets the deaths before it', async () => {
  const scene = await createScene();
  for (let round = 0; round < 2; round += 1) {
    await scene.makeEvent();
    for (let kill = 0; kill < 4; kill += 1) await killServer(scene);
    await scene.send();
  }
  assert.equal((await scene.read()).state, 'active');
  assert.equal(scene.receiver.received.length, 2);
});
