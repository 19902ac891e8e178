import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../../testing/server.ts';
import { readNextEvents } from './next-events.store.ts';

const server = await startTestServer();

test('large events are read in smaller parts, and all of them are read', async () => {
  const { admin, accountId } = await server.account();
  const { body } = await admin.post<{ webhookId: string }>('/webhooks', {
    name: 'all',
    url: 'https://receiver.example.com/',
    eventNames: ['project-created'],
  });
  for (let index = 0; index < 8; index += 1)
    await admin.post('/projects', { name: `large ${index}`, agentDeploymentType: 'HYBRID' });
  await server.database.query(
    `update event set state_after = jsonb_build_object('name', repeat('x', 5000000))
     where account_id = $1 and name = 'project-created'`,
    [accountId],
  );
  // Gives the events their positions.
  await admin.get('/events?after=oldest');
  const claim = { account_id: accountId, webhook_id: body.webhookId } as Parameters<typeof readNextEvents>[1];
  const parts: number[] = [];
  for (let after = 0, hasMore = true; hasMore; ) {
    const request = { after, reach: { all: true } as const, limit: 50 };
    const next = await readNextEvents(server.deps.database.read, claim, request);
    parts.push(next.events.length);
    ({ through: after, hasMore } = next);
  }
  assert.equal(
    parts.reduce((sum, count) => sum + count),
    8,
  );
  assert.ok(Math.max(...parts) < 8, parts.join());
});
