/** The time from the start of a pipeline to the response to the waiting claim of an idle agent. */

import { setTimeout as delay } from 'node:timers/promises';
import type { ClaimResponse } from '@headgate/contract';
import { prepareAgentScene, requireCycles } from './agent-scene.ts';
import { percentile, verdictAtMost } from './finding.ts';
import { RawConnection } from './raw-connection.ts';
import { requestText } from './request.ts';
import { startServer } from './server-process.ts';
import type { Work } from './work.ts';

const warmUps = 200;
const starts = 1_000;
/** Between two starts, so that the next claim waits. */
const pauseMilliseconds = 4;

export const claimLatency: Work = async ({ profileFolder }) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(profileFolder), (started) => started.stop());
  const { agentToken: token, instanceId, start } = await prepareAgentScene(server);
  const user = ending.adopt(await RawConnection.open(server.port), (connection) => connection.close());
  const agent = ending.adopt(await RawConnection.open(server.port), (connection) => connection.close());
  const claim = requestText('POST', '/agent/v1/claims', {
    token,
    body: { instanceId, max: 1, waitSeconds: 25 },
  });
  const posts: number[] = [];
  const claims: number[] = [];
  for (let turn = 0; turn < warmUps + starts; turn++) {
    const claimed = agent.request(claim).then((answer) => ({ answer, at: performance.now() }));
    await delay(pauseMilliseconds);
    const sentAt = performance.now();
    const started = await user.request(start);
    const startedAt = performance.now();
    const { answer, at } = await claimed;
    const { work } = JSON.parse(answer.body) as ClaimResponse;
    const [item] = work;
    if (started.status !== 201 || item === undefined) throw new Error(`${started.body} ${answer.body}`);
    const final = await agent.request(endOf(token, instanceId, item));
    if (final.status !== 200) throw new Error(final.body);
    if (turn < warmUps) continue;
    posts.push(startedAt - sentAt);
    claims.push(at - sentAt);
  }
  await requireCycles(server, warmUps + starts);
  const show = (numbers: number[]) =>
    `p50 ${percentile(numbers, 0.5).toFixed(1)} ms, p99 ${percentile(numbers, 0.99).toFixed(1)} ms`;
  console.log(`  response to the start: ${show(posts)}; ${starts} starts`);
  const verdicts = [verdictAtMost(percentile(claims, 0.5), 5), verdictAtMost(percentile(claims, 0.99), 20)];
  return [
    {
      work: 'POST pipeline-executions to the claim answered',
      measured: show(claims),
      limit: 'p50 ≤ 5 ms, p99 ≤ 20 ms',
      verdict: verdicts.includes('MISSED') ? 'MISSED' : 'reached',
      rounds: claims,
    },
  ];
};

function endOf(
  token: string,
  instanceId: string,
  { workId, epoch }: { workId: string; epoch: number },
): string {
  const reports = [
    { workId, epoch, sequence: 1, type: 'started' },
    { workId, epoch, sequence: 2, type: 'completed', outcome: { status: 'SUCCESS' } },
  ];
  return requestText('POST', '/agent/v1/reports', { token, body: { instanceId, reports } });
}
