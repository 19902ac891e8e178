/** Work cycles per second of one agent over HTTP, one by one and in batches. */
import { prepareAgentScene, requireCycles } from './agent-scene.ts';
import { startChild } from './child.ts';
import type { CycleReply } from './cycle-process.ts';
import { type Finding, median, spread, verdictAtLeast } from './finding.ts';
import { postgresSeconds, processorSeconds } from './processor-time.ts';
import { startServer } from './server-process.ts';
import type { Work, WorkSettings } from './work.ts';

interface Kind {
  work: string;
  least: number;
  /** Number of works in one round. */
  works: number;
  starters: number;
  claimers: number;
  batch: number;
}

const kinds: readonly Kind[] = [
  { work: 'work cycles, one work a call', least: 600, works: 3_000, starters: 8, claimers: 8, batch: 1 },
  {
    work: 'work cycles, claims and reports in batches',
    least: 2_000,
    works: 6_000,
    starters: 16,
    claimers: 2,
    batch: 100,
  },
];

export const workCycles: Work = async (settings) => {
  const findings: Finding[] = [];
  for (const kind of kinds) findings.push(await cycles(settings, kind));
  return findings;
};

async function cycles({ rounds, profileFolder }: WorkSettings, kind: Kind): Promise<Finding> {
  await using ending = new AsyncDisposableStack();
  // On a busy machine all works of a round may wait.
  const queue = { HEADGATE_QUEUED_RUNS: '1000000' };
  const server = ending.adopt(await startServer(profileFolder, queue), (started) => started.stop());
  const scene = await prepareAgentScene(server);
  const child = ending.adopt(await startChild(new URL('./cycle-process.ts', import.meta.url)), (started) =>
    started.stop(),
  );
  const rates: number[] = [];
  /** Processor time per cycle, in microseconds. */
  const cost: { server: number[]; postgres: number[]; others: number[] } = {
    server: [],
    postgres: [],
    others: [],
  };
  // The first round is the warm-up.
  for (let round = 0; round <= rounds; round++) {
    const before = { server: processorSeconds(server.pid), postgres: postgresSeconds(server.dataDirectory) };
    const reply = (await child.ask({ ...kind, ...scene, port: server.port })) as CycleReply;
    if ('failure' in reply) throw new Error(reply.failure);
    const { seconds } = reply.result;
    if (round === 0) continue;
    rates.push(kind.works / seconds);
    const perCycle = (taken: number) => (taken * 1e6) / kind.works;
    cost.server.push(perCycle(processorSeconds(server.pid) - before.server));
    cost.postgres.push(perCycle(postgresSeconds(server.dataDirectory) - before.postgres));
    cost.others.push(perCycle(reply.result.cores * seconds));
  }
  await requireCycles(server, (rounds + 1) * kind.works);
  console.log(
    `  ${kind.work}: a cycle takes ${median(cost.server).toFixed(0)} µs of the server, ` +
      `${median(cost.postgres).toFixed(0)} µs of PostgreSQL, ${median(cost.others).toFixed(0)} µs of agent and starters`,
  );
  return {
    work: kind.work,
    measured: `${spread(rates, 0)} a second`,
    limit: `≥ ${kind.least} a second`,
    verdict: verdictAtLeast(median(rates), kind.least),
    rounds: rates,
  };
}
