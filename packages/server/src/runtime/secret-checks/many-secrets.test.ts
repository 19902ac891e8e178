/** Checks of many secrets in many environments. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secretCheckLimit } from '@headgate/contract';
import type { NamedSecretRow } from './check-plan.store.ts';
import { pairSecretsWithAgents } from './secret-check.ts';

const bestOf = (rounds: number, work: () => void) => {
  const times = Array.from({ length: rounds }, () => {
    const begun = process.threadCpuUsage();
    work();
    return process.threadCpuUsage(begun).user / 1_000;
  });
  return Math.min(...times);
};

test('10,000 secrets in 1,000 environments are paired at once, and those above the limit are counted', () => {
  const secrets = Array.from(
    { length: 10_000 },
    (_, index): NamedSecretRow => ({
      reference: `secret ${index}`,
      agent_id: null,
      environment_name: null,
      named_by: null,
      secretName: `name ${index}`,
      secretKey: null,
      vaultName: null,
      vaultType: null,
      provider: null,
    }),
  );
  for (const agents of [1, 1_000]) {
    const environments = Array.from({ length: 1_000 }, (_, index) => ({
      name: `place ${index}`,
      agent_id: `agent ${index % agents}`,
    }));
    const pair = () => pairSecretsWithAgents(secrets, environments, undefined);
    const { askings, unchecked } = pair();
    assert.equal(askings.length, secretCheckLimit);
    assert.equal(unchecked, 10_000 * agents - secretCheckLimit);
    const milliseconds = bestOf(3, pair);
    // It takes 20 ms; building all ten million pairs takes seconds.
    assert.ok(milliseconds < 500, `${agents} agents: ${milliseconds} ms`);
  }
});
