/**
 * Lineage events by time: with a million events, compared with an account that has a thousand. And a graph of depth 3
 * in an environment with 10,000 datasets.
 */
import type pg from 'pg';
import { compare, type Side } from './comparison.ts';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import { requestText } from './request.ts';
import type { AccountOfBench } from './second-account.ts';
import { few, many, openTwoAccounts } from './two-accounts.ts';
import type { Work } from './work.ts';

const connections = 16;
/** A thousand events in this time, in both accounts. */
const thousandSeconds = 3_600;
const datasets = 10_000;
const graphMilliseconds = 50;
const graphRequests = 30;

export const lineageGraph: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const { server, load, client, large, small, latest, compared } = await openTwoAccounts(ending, {
    settings,
    connections,
    table: 'lineage_event',
    fill: fillEvents,
  });

  const side = (name: string, { token }: AccountOfBench, from: Date): Side => {
    const range = `generatedFrom=${from.toISOString()}&generatedBefore=${new Date(latest.getTime() + 1_000).toISOString()}`;
    const requests = [requestText('GET', `/dpc/v1/lineage/events?${range}`, { token })];
    return { name, port: server.port, pid: server.pid, requests };
  };
  const hour = new Date(latest.getTime() - thousandSeconds * 1_000);
  const sides = [side(`of ${few}`, small, hour), side(`of ${many}`, large, hour)] as const;
  const ratios = await compare(load, sides, compared);
  const window: Finding = {
    work: 'GET lineage events, the last hour: in 1,000,000 against in 1,000',
    measured: `${spread(ratios)} × the time`,
    limit: '≤ 1.5 × the time',
    verdict: verdictAtMost(median(ratios), 1.5),
    rounds: ratios,
  };
  return [window, await measureGraph(client, server.port, large)];
};

async function measureGraph(client: pg.Client, port: number, account: AccountOfBench): Promise<Finding> {
  const base = `http://127.0.0.1:${port}/dpc/v1`;
  const headers = { authorization: `Bearer ${account.token}`, 'content-type': 'application/json' };
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (answer.status !== 201) throw new Error(await answer.text());
    return (await answer.json()) as { projectId: string };
  };
  const { projectId } = await post('/projects', {
    name: 'Lineage',
    agentDeploymentType: 'HYBRID',
    warehouse: 'DUCKDB',
  });
  await post(`/projects/${projectId}/environments`, { name: 'prod' });
  await fillGraph(client, account, projectId);
  const path = `${base}/projects/${projectId}/lineage/graph?environmentName=prod&dataset=t_5000&depth=3`;
  const times: number[] = [];
  for (let request = 0; request < graphRequests; request += 1) {
    const began = performance.now();
    const answer = await fetch(path, { headers });
    const { edges } = (await answer.json()) as { edges?: object[] };
    times.push(performance.now() - began);
    if (edges === undefined || edges.length < 100) throw new Error(`a graph of ${edges?.length} edges`);
  }
  return {
    work: 'GET lineage graph of depth 3 among 10,000 datasets',
    measured: `${median(times).toFixed(1)} ms`,
    limit: `≤ ${graphMilliseconds} ms`,
    verdict: verdictAtMost(median(times), graphMilliseconds),
    rounds: times,
  };
}

async function fillEvents(
  client: pg.Client,
  { accountId }: AccountOfBench,
  latest: Date,
  count: number,
): Promise<void> {
  await client.query(
    `insert into lineage_event (account_id, generated_at, run_id, event_type, is_new, record)
     select $1, $2::timestamptz - make_interval(secs => n * $3::float8 / 1000), md5(n::text)::uuid, 'COMPLETE', false,
       jsonb_build_object('runId', md5(n::text)::uuid, 'eventType', 'COMPLETE', 'eventTime', '2026-11-21T09:30:00.000Z',
         'projectId', $1::uuid, 'environmentId', $1::uuid, 'environmentName', 'prod', 'executionId', md5(n::text)::uuid,
         'pipelineName', 'load.orch.yaml', 'pipelineType', 'ORCHESTRATION', 'versionName', 'v1')
     from generate_series($4::integer - 1, 0, -1) n`,
    [accountId, latest, thousandSeconds, count],
  );
}

/** Each pipeline reads three datasets and writes one, with ten columns. */
async function fillGraph(client: pg.Client, { accountId }: AccountOfBench, projectId: string): Promise<void> {
  const place = [accountId, projectId, datasets];
  await client.query(
    `insert into pipeline_lineage (account_id, project_id, environment_name, pipeline_name, run_id, execution_id, version_name, finished_at, digest)
     select $1, $2, 'prod', 'p_' || n, gen_random_uuid(), gen_random_uuid(), 'v1', now(), '' from generate_series(1, $3::integer) n`,
    place,
  );
  await client.query(
    `insert into dataset_use (account_id, project_id, environment_name, pipeline_key, is_write, dataset, fields)
     select $1, $2, 'prod', md5('p_' || n), reads = 0, 'warehouse:t_' || case reads when 0 then n else (n * 7 + reads * 13) % $3::integer + 1 end,
       (select jsonb_agg(jsonb_build_object('name', 'column_' || c, 'type', 'VARCHAR')) from generate_series(1, 10) c)
     from generate_series(1, $3::integer) n cross join generate_series(0, 3) reads on conflict do nothing`,
    place,
  );
  await client.query('analyze pipeline_lineage, dataset_use');
}
