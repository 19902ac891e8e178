/** A request at one server, and its agent at another: NOTIFY connects both. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '../../../testing/client.ts';
import { createSealingAgent } from '../../../testing/sealing-agent.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';

const request = await startTestServer(patientRequests);
const other = await startTestServer({ database: request.database });
/** Without a wake-up a request looks again after 2 s. Within this time it would get no response. */
const promptMilliseconds = 1_500;
/** A busy machine may be slower than that for a while. */
const mostWrites = 40;

test('the response comes at once, although the agent reports to the other server', async () => {
  const account = await request.account();
  const registered = await account.agent();
  const owner = { accountId: account.accountId, actorId: registered.agentId, clientId: registered.clientId };
  const client = createClient(other.transport, '/agent/v1', () => other.deps.tokens.issue(owner, 'agent'));
  const agent = await createSealingAgent(account, { agent: { ...registered, client } });
  const times: number[] = [];
  while (times.length < mostWrites && Math.min(...times) > promptMilliseconds) {
    const confirmed = agent.confirmNext();
    const sentAt = performance.now();
    const secret = { name: `of-both-${times.length}`, type: 'PASSWORD', value: { password: 'x' } };
    const { status, text } = await account.admin.post(`/secrets/${agent.agentId}/secret-value`, { secret });
    times.push(performance.now() - sentAt);
    assert.equal(status, 201, text);
    await confirmed;
  }
  const shown = times.map((time) => time.toFixed(0)).join(', ');
  assert.ok(Math.min(...times) < promptMilliseconds, `answered after ${shown} ms`);
});
