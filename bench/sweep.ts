/**
 * The cost of the sweep that runs every second, while 100,000 executions wait for an absent agent.
 */
import pg from 'pg';
import { migrate } from '../packages/server/src/kernel/database/migrate.ts';
import { analyzeGrownTables } from '../packages/server/src/kernel/database/statistics.ts';
import { createLog } from '../packages/server/src/kernel/log.ts';
import { endForbiddenWork } from '../packages/server/src/kernel/work/forbidden-work.ts';
import { sweepWork } from '../packages/server/src/kernel/work/work-sweep.ts';
import { loadConfig } from '../packages/server/src/main/config.ts';
import { createDependencies, type Dependencies } from '../packages/server/src/main/deps.ts';
import { sweepAgents } from '../packages/server/src/runtime/agent-link/agent-sweep.ts';
import { onOwnPostgres } from '../scripts/own-postgres.ts';
import { type Finding, median, percentile, verdictAtMost } from './finding.ts';
import type { Work } from './work.ts';

const queued = 100_000;
const passesOfRound = 100;
const mostMilliseconds = 5;

export const sweep: Work = ({ rounds }) =>
  onOwnPostgres(new AbortController().signal, async (connectionString, folder) => {
    const connection = { connectionString };
    await migrate(connection);
    const stopping = new AbortController();
    const settings = {
      HEADGATE_DATA_DIR: folder,
      HEADGATE_MASTER_KEY: Buffer.alloc(32, 'bench').toString('base64'),
    };
    const log = createLog('error', process.stderr);
    const deps = await createDependencies(loadConfig(settings), {
      connection,
      log,
      stopping: stopping.signal,
    });
    try {
      await fill(connection);
      const began = performance.now();
      while ((await sweepWork(deps, deps.owners, deps.times, deps.clock.now())).isMore);
      const first = performance.now() - began;
      await analyzeGrownTables(deps.database);
      const medians: number[] = [];
      const slow: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const passes = await measure(deps);
        medians.push(median(passes));
        slow.push(percentile(passes, 0.99));
      }
      return findings(medians, slow, first);
    } finally {
      stopping.abort();
      await deps.close();
    }
  });

/** Everything that the sweeper does each second. */
async function measure(deps: Dependencies): Promise<number[]> {
  const passes: number[] = [];
  for (let pass = 0; pass < passesOfRound; pass++) {
    const began = performance.now();
    const now = deps.clock.now();
    await sweepWork(deps, deps.owners, deps.times, now);
    await endForbiddenWork(deps, deps.owners, now);
    await sweepAgents(deps, now);
    passes.push(performance.now() - began);
  }
  return passes;
}

function findings(medians: number[], slow: number[], first: number): Finding[] {
  return [
    {
      work: `sweep with ${queued.toLocaleString('en')} queued works of an absent agent, p50`,
      measured: `${median(medians).toFixed(2)} ms (p99 ${median(slow).toFixed(2)} ms)`,
      limit: `≤ ${mostMilliseconds} ms`,
      verdict: verdictAtMost(median(medians), mostMilliseconds),
      rounds: medians,
    },
    {
      work: 'the first sweep over all of them, once',
      measured: `${first.toFixed(0)} ms`,
      limit: '–',
      verdict: 'for information',
      rounds: [first],
    },
  ];
}

/** An account with an agent that never connected, and executions that wait for it. */
async function fill(connection: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    const id = "'00000000-0000-7000-8000-000000000001'::uuid";
    await client.query(`
      insert into account (account_id, name, created_at) values (${id}, 'bench', now());
      insert into agent (account_id, agent_id, name, description, agent_type, cloud_provider, deployment, status,
        client_id, secret_digest, created_at)
      values (${id}, ${id}, 'absent', '', 'HYBRID', 'AWS', 'FARGATE', 'pending', 'absent', '', now());
      insert into project (account_id, project_id, name, warehouse, agent_deployment_type, version, created_at)
      values (${id}, ${id}, 'bench', 'DUCKDB', 'HYBRID', 1, now());
      insert into work (account_id, work_id, project_id, environment_name, agent_id, kind, name, state,
        created_at, queued_at, due_at)
      select ${id}, gen_random_uuid(), ${id}, 'dev', ${id}, 'pipeline-execution', 'main', 'queued',
        now(), now(), now()
      from generate_series(1, ${queued})`);
  } finally {
    await client.end();
  }
}
