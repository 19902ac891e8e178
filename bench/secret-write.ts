/**
 * The time of POST secret-value: the secret is sealed, relayed, opened by the local agent and stored in its
 * vault.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { percentile, verdictAtMost } from './finding.ts';
import { startServer } from './server-process.ts';
import type { Work } from './work.ts';

const warmUps = 50;
const writes = 300;
const certificateWithinMilliseconds = 60_000;

export const secretWrite: Work = async ({ profileFolder }) => {
  await using ending = new AsyncDisposableStack();
  const settings = { HEADGATE_LOCAL_AGENT: 'on' };
  const server = ending.adopt(await startServer(profileFolder, settings), (started) => started.stop());
  const { results } = (await server.call('GET', '/agents')) as { results: { agentId: string }[] };
  const agentId = results[0]?.agentId;
  await untilCertified(() => server.call('GET', `/agents/${agentId}/certificate`));
  const times: number[] = [];
  for (let turn = 0; turn < warmUps + writes; turn++) {
    const secret = {
      name: `bench-${turn % 20}`,
      type: 'PASSWORD',
      value: { password: `a password ${turn}` },
    };
    const sentAt = performance.now();
    await server.call('POST', `/secrets/${agentId}/secret-value`, { secret });
    if (turn >= warmUps) times.push(performance.now() - sentAt);
  }
  const median = percentile(times, 0.5);
  return [
    {
      work: 'POST secret-value through the local agent into its vault',
      measured: `median ${median.toFixed(1)} ms, p99 ${percentile(times, 0.99).toFixed(1)} ms`,
      limit: 'median ≤ 25 ms',
      verdict: verdictAtMost(median, 25),
      rounds: times,
    },
  ];
};

async function untilCertified(ask: () => Promise<unknown>): Promise<void> {
  const until = performance.now() + certificateWithinMilliseconds;
  for (;;) {
    try {
      await ask();
      return;
    } catch (failure) {
      if (performance.now() > until) throw failure;
      await delay(100);
    }
  }
}
