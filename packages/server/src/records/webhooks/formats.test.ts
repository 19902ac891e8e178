/** Messages for Slack and Microsoft Teams: what people read, what the receivers take, and who changes the format. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AccountEventItem, Webhook, WebhookFormat } from '@headgate/contract';
import { Webhook as Verifier } from 'standardwebhooks';
import { type ChatReceiver, playSlack, playTeams } from '../../../testing/chat-receivers.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createWebhookScene, loopbackAllowed } from '../../../testing/webhook-scene.ts';
import { renderBody } from './body.ts';

const server = await startTestServer(loopbackAllowed);
const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));

async function createScene(format: WebhookFormat) {
  const scene = await createWebhookScene(server, { wanted: { format } });
  closing.push(scene.receiver.close);
  return scene;
}

const players = [
  ['slack', playSlack],
  ['teams', playTeams],
] as const;

for (const [format, play] of players) {
  test(`${format} takes the message, which says what happened, where, by whom and when`, async () => {
    const scene = await createScene(format);
    const chat = play(scene.receiver);
    await scene.makeEvent();
    await scene.send();
    assert.deepEqual(chat.faults, []);
    const [delivery] = scene.receiver.received;
    const { results } = (
      await scene.account.admin.get<{ results: AccountEventItem[] }>(
        `/events?after=oldest&eventName=variable-created`,
      )
    ).body;
    const event = results.at(-1) ?? assert.fail();
    const lines = chat.shown[0]?.split('\n') ?? [];
    assert.equal(lines[0], 'Variable created: v1');
    for (const line of [
      `project: ${event.eventProjectId}`,
      `by: credential ${event.actorId}`,
      `time: ${event.eventTimestamp}`,
      'behaviour: SHARED',
      `event: ${event.eventId}`,
    ])
      assert.ok(lines.includes(line), `${line} in ${lines.join('; ')}`);
    assert.ok(delivery);
    assert.doesNotThrow(() => new Verifier(scene.secret).verify(delivery.body, delivery.headers));
    const [listed] = await scene.deliveries();
    assert.equal(listed?.status, 'delivered');
  });

  test(`${format} takes the test event, and an event whose every text is as long as it may be`, async () => {
    const scene = await createScene(format);
    const chat = play(scene.receiver);
    await scene.account.admin.post(`${scene.path}/test`);
    await scene.send();
    const long = makeEvent('𝄞<&>'.repeat(100_000));
    await deliver(scene.receiver.url, renderBody(format, long, 'headgate'));
    assert.deepEqual([chat.faults, chat.shown.length], [[], 2]);
    assert.match(chat.shown[0] ?? '', /^Webhook tested: hook\n/);
    assert.ok((chat.shown[1] ?? '').split('\n').length <= 13);
  });

  test(`a name makes no mention, link or line of its own in ${format}`, async () => {
    const scene = await createScene(format);
    const chat: ChatReceiver = play(scene.receiver);
    const name =
      '<!channel> <https://evil.example|Your bank> &lt; [x](https://evil.example) *a*\r\nby: root\u202e';
    await deliver(scene.receiver.url, renderBody(format, makeEvent(name), 'headgate'));
    assert.deepEqual(chat.faults, []);
    const shown = '<!channel> <https://evil.example|Your bank> &lt; [x](https://evil.example) *a* by: root';
    assert.equal(chat.shown[0]?.split('\n')[0], `Variable created: ${shown}`);
  });
}

test('the format is JSON unless another one is chosen, can be changed, and is in the events', async () => {
  const { admin } = await server.account();
  const hook = { name: 'hook', url: 'https://hooks.example.com/services/T/B/x' };
  const create = async (more: object) => {
    const made = await admin.post<{ webhookId: string }>('/webhooks', { ...hook, ...more });
    return { status: made.status, path: `/webhooks/${made.body.webhookId}` };
  };
  const plain = await create({});
  assert.equal((await admin.get<Webhook>(plain.path)).body.format, 'json');
  const { path } = await create({ format: 'slack' });
  assert.equal((await admin.get<Webhook>(path)).body.format, 'slack');
  assert.equal((await admin.patch<Webhook>(path, { name: 'renamed' })).body.format, 'slack');
  assert.equal((await admin.patch<Webhook>(path, { format: 'teams' })).body.format, 'teams');
  const { results } = (
    await admin.get<{ results: AccountEventItem[] }>('/events?after=oldest&eventName=webhook-updated')
  ).body;
  const formats = results.map(({ additionalInfo: { before, after: later } }) => [
    (before as Webhook).format,
    (later as Webhook).format,
  ]);
  assert.deepEqual(formats, [
    ['slack', 'slack'],
    ['slack', 'teams'],
  ]);
  requireProblem(await admin.post('/webhooks', { ...hook, format: 'discord' }), 400, 'invalid-request');
  requireProblem(await admin.patch(path, { format: null }), 400, 'invalid-request');
});

test('an event that a receiver refused is sent in the new format', async () => {
  const scene = await createScene('json');
  const chat = playSlack(scene.receiver);
  await scene.makeEvent();
  await scene.send();
  assert.deepEqual(chat.faults, ['400 no_text']);
  await scene.account.admin.patch(scene.path, { format: 'slack', state: 'active' });
  await scene.send();
  assert.match(chat.shown[0] ?? '', /^Variable created: v1\n/);
});

test('a channel of Slack that is archived pauses the webhook', async () => {
  const scene = await createScene('slack');
  scene.receiver.answer = 410;
  await scene.makeEvent();
  await scene.send();
  assert.equal((await scene.read()).state, 'paused');
});

const deliver = (url: string, body: string) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });

function makeEvent(text: string): AccountEventItem {
  const after = Object.fromEntries(Array.from({ length: 100 }, (_, each) => [`${each}${text}`, text]));
  return {
    eventId: '01a1fd70-f1c0-7f06-86ea-1f8cc1c8319c',
    eventName: 'variable-created',
    eventType: 'CREATE',
    eventDescription: `Variable created: ${text}`,
    eventSource: 'credential',
    eventTimestamp: '2026-11-21T09:30:00.000Z',
    eventEnvironmentName: text,
    actorId: text,
    actorName: text,
    additionalInfo: { after },
  };
}
