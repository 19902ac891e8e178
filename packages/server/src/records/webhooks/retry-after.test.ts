/** Receivers that say when they want the next attempt. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestServer } from '../../../testing/server.ts';
import { createWebhookScene, loopbackAllowed } from '../../../testing/webhook-scene.ts';
import { readRetryAfter } from './retry-times.ts';

const server = await startTestServer(loopbackAllowed);
const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));
const now = new Date('2026-11-20T10:00:00.000Z');

test('seconds and dates are read, up to 24 hours from now; anything else is ignored', () => {
  const cases: [string | undefined, string | undefined][] = [
    ['120', '2026-11-20T10:02:00.000Z'],
    [' 120 ', '2026-11-20T10:02:00.000Z'],
    ['Fri, 20 Nov 2026 11:00:00 GMT', '2026-11-20T11:00:00.000Z'],
    ['999999999999999999999999', '2026-11-21T10:00:00.000Z'],
    ['Mon, 23 Nov 2099 11:00:00 GMT', '2026-11-21T10:00:00.000Z'],
    ['Fri, 20 Nov 2026 09:00:00 GMT', undefined],
    ['0', undefined],
    ['-5', undefined],
    ['1e3', undefined],
    ['tomorrow', undefined],
    ['nonsense GMT', undefined],
    ['', undefined],
    [undefined, undefined],
  ];
  for (const [header, expected] of cases)
    assert.equal(readRetryAfter(header, now)?.toISOString(), expected, String(header));
});

for (const [status, header, least, most] of [
  [503, '3600', 3_600, 3_600],
  [429, '600', 600, 600],
  [503, '1', 5, 5.5],
  [500, '3600', 5, 5.5],
] as const)
  test(`a receiver that answers ${status} with Retry-After: ${header} gets the next attempt in time`, async () => {
    const scene = await createWebhookScene(server);
    closing.push(scene.receiver.close);
    scene.receiver.answer = (response) => response.writeHead(status, { 'retry-after': header }).end();
    await scene.makeEvent();
    await scene.send();
    const [pending] = await scene.deliveries();
    const pause = (Date.parse(pending?.nextAttemptAt ?? '') - server.clock.now().getTime()) / 1_000;
    assert.ok(pause >= least && pause <= most, `${pause} s`);
  });
