/** Receivers that hang take no place from the webhooks of other accounts. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestServer } from '../../../testing/server.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { createWebhookScene, loopbackAllowed } from '../../../testing/webhook-scene.ts';
import { createDeliveryQueue } from './webhook.work.ts';

const server = await startTestServer(loopbackAllowed);
const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));
const places = 8;

/** An account with this many webhooks. */
async function createScenes(count: number) {
  const account = await server.account();
  const scenes = [];
  for (let index = 0; index < count; index += 1)
    scenes.push(await createWebhookScene(server, { account, wanted: { name: `hook ${index}` } }));
  closing.push(...scenes.map(({ receiver }) => receiver.close));
  return scenes;
}

for (const from of ['new events', 'retries'] as const)
  test(`accounts with hanging receivers leave places for others: ${from}`, async () => {
    const stopping = new AbortController();
    const config = { ...server.deps.config, webhookTimeoutSeconds: 600 };
    const services = { ...server.deps, config, stopping: stopping.signal };
    const hanging = [await createScenes(places), await createScenes(places), await createScenes(places)];
    const [good] = await createScenes(1);
    assert.ok(good);
    for (const [scene] of hanging) await scene?.makeEvent();
    if (from === 'retries') {
      for (const scene of hanging.flat()) scene.receiver.answer = 503;
      for (const [scene] of hanging) await scene?.send();
      server.clock.advance(60);
    }
    const before = hanging.flat().reduce((sum, { receiver }) => sum + receiver.received.length, 0);
    for (const scene of hanging.flat()) scene.receiver.answer = () => undefined;
    const running = createDeliveryQueue(services, places).run();
    const countHeld = () =>
      hanging.flat().reduce((sum, { receiver }) => sum + receiver.received.length, -before);
    // Of 8 places, two are only for the first webhook of an account.
    await waitUntil('the hanging receivers', 120, () => countHeld() >= 5);
    await good.makeEvent();
    await good.makeEvent();
    await waitUntil('the deliveries of the other account', 120, () => good.subjects().length === 2);
    assert.ok(countHeld() < places, `${countHeld()} of ${places}`);
    stopping.abort();
    await running;
    await server.database.query('delete from webhook');
  });
