/** A request at one server, and its agent at another: NOTIFY connects both. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '../../testing/client.ts';
import { createSealingAgent } from '../../testing/sealing-agent.ts';
import { startTestServer } from '../../testing/server.ts';

const asked = await startTestServer();
const other = await startTestServer({ database: asked.database });
const writes = 8;
/** Without a wake-up a request looks again after 2 s. Within this time it would get no response. */
const promptMilliseconds = 1_500;

test('the response comes at once, although the agent reports to the other server', async () => {
  const account = await asked.account();
  const registered = await account.agent();
  const owner = { accountId: account.accountId, actorId: registered.agentId, clientId: registered.clientId };
  const client = createClient(other.transport, '/agent/v1', () => other.deps.tokens.issue(owner, 'agent'));
  const agent = await createSealingAgent(account, { agent: { ...registered, client } });
  const times: number[] = [];
  for (let write = 0; write < writes; write += 1) {
    const confirmed = agent.confirmNext();
    const sentAt = performance.now();
    const secret = { name: `of-both-${write}`, type: 'PASSWORD', value: { password: 'x' } };
    const { status, text } = await account.admin.post(`/secrets/${agent.agentId}/secret-value`, { secret });
    times.push(performance.now() - sentAt);
    assert.equal(status, 201, text);
    await confirmed;
  }
  const shown = times.map((time) => time.toFixed(0)).join(', ');
  assert.ok(Math.min(...times) < promptMilliseconds, `answered after ${shown} ms`);
});
