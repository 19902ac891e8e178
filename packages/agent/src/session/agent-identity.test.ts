import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HelloRequest } from '@headgate/contract';
import { requireAgent } from './agent-identity.ts';
import type { ControlPlane } from './control-plane.ts';

const welcome = { agentId: 'the-agent-of-the-credential', name: 'oslo-1' };
const controlPlane = { hello: async () => welcome } as unknown as ControlPlane;
const hello = (agentId: string | undefined) =>
  requireAgent(agentId, controlPlane).hello({} as HelloRequest, new AbortController().signal);

test('the credential of another agent is refused with a message that names both', async () => {
  assert.equal(await hello(undefined), welcome);
  assert.equal(await hello(welcome.agentId), welcome);
  await assert.rejects(
    hello('another'),
    /belongs to the agent the-agent-of-the-credential \(oslo-1\), expected the agent another/,
  );
});
