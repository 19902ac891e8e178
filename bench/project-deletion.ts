/** The deletion of a project with 100,000 rows, and its effect on other accounts. */
import pg from 'pg';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import { type LoadGenerator, startLoadGenerator } from './load.ts';
import { requestText, uniqueNumber } from './request.ts';
import { type AccountOfBench, anotherAccount } from './second-account.ts';
import { type MeasuredServer, startServer } from './server-process.ts';
import { fillProject, projectWithVariables } from './variables.ts';
import type { Work } from './work.ts';

const variables = 60_000;
const overrides = 30_000;
const executions = 10_000;
/** Requests of the other account, so few that they do not wait for each other. */
const connections = 4;
const secondsOfWarmUp = 3;

export const projectDeletion: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const load = ending.adopt(await startLoadGenerator(), (generator) => generator.stop());
  const owner = await projectWithVariables(server, 100);
  const others = await requestsOfOthers(server);
  await p99(server, load, others, secondsOfWarmUp);
  // The others are measured only during the deletion: later requests would hide its effect.
  let window = await measureDeletion(server, await largeProject(server, owner.accountId, 0));
  const [seconds, factors]: [number[], number[]] = [[], []];
  for (let round = 1; round <= settings.rounds; round++) {
    const projectId = await largeProject(server, owner.accountId, round);
    const quiet = await p99(server, load, others, window);
    const [took, busy] = await Promise.all([
      measureDeletion(server, projectId),
      p99(server, load, others, window),
    ]);
    console.log(
      `  deleted in ${took.toFixed(2)} s; p99 of the other account ${busy.toFixed(1)} ms, before ${quiet.toFixed(1)} ms`,
    );
    seconds.push(took);
    factors.push(busy / quiet);
    window = took;
  }
  return [
    {
      work: 'DELETE of a project with 100,000 rows',
      measured: `${spread(seconds)} s`,
      limit: '≤ 5 s',
      verdict: verdictAtMost(median(seconds), 5),
      rounds: seconds,
    },
    {
      work: 'p99 of reads and writes of another account meanwhile, against before',
      measured: `${spread(factors)} ×`,
      limit: '≤ 2 ×',
      verdict: verdictAtMost(median(factors), 2),
      rounds: factors,
    },
  ] satisfies Finding[];
};

async function measureDeletion(server: MeasuredServer, projectId: string): Promise<number> {
  const began = performance.now();
  await server.call('DELETE', `/projects/${projectId}`);
  return (performance.now() - began) / 1_000;
}

/** The p99 of the other account over this many seconds. */
async function p99(
  server: MeasuredServer,
  load: LoadGenerator,
  requests: readonly string[],
  seconds: number,
) {
  const { p99Milliseconds } = await load.run({
    port: server.port,
    connections,
    requests,
    milliseconds: seconds * 1_000,
  });
  return p99Milliseconds;
}

/** Reads a page and writes in a project of another account. */
async function requestsOfOthers(server: MeasuredServer): Promise<string[]> {
  const { token, accountId }: AccountOfBench = await anotherAccount(server, 'another');
  const projectId = await ownProject(server, token);
  const client = new pg.Client(server.connection);
  await client.connect();
  await fillProject(client, accountId, projectId, 100);
  await client.end();
  const path = `/dpc/v1/projects/${projectId}/variables`;
  const body = { name: `written_${uniqueNumber}`, type: 'TEXT', behaviour: 'SHARED', value: 'a value' };
  return [requestText('GET', path, { token }), requestText('POST', path, { token, body })];
}

async function ownProject(server: MeasuredServer, token: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${server.port}/dpc/v1/projects`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'theirs', warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' }),
  });
  return ((await answer.json()) as { projectId: string }).projectId;
}

async function largeProject(server: MeasuredServer, accountId: string, round: number): Promise<string> {
  const project = { name: `large ${round}`, warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
  const projectId = String((await server.call('POST', '/projects', project)).projectId);
  await server.call('POST', `/projects/${projectId}/environments`, { name: 'dev' });
  const client = new pg.Client(server.connection);
  await client.connect();
  try {
    await fillProject(client, accountId, projectId, variables);
    await client.query(
      `insert into variable_override (account_id, project_id, variable_name, environment_name, value)
       select account_id, project_id, name, 'dev', value from variable
       where account_id = $1 and project_id = $2 order by name limit $3`,
      [accountId, projectId, overrides],
    );
    await client.query(
      `insert into pipeline_execution (account_id, execution_id, project_id, environment_name, pipeline_name,
         pipeline_type, version_name, manifest_digest, agent_id, status, trigger, scalar_variables, grid_variables, started_at, finished_at)
       select $1, gen_random_uuid(), $2, 'dev', 'main', 'ORCHESTRATION', 'v1', 'x', gen_random_uuid(), 'SUCCESS', 'API', '{}', '{}', now(), now()
       from generate_series(1, $3::integer)`,
      [accountId, projectId, executions],
    );
    await client.query('vacuum analyze variable, variable_override, pipeline_execution, project_counter');
    return projectId;
  } finally {
    await client.end();
  }
}
