/** The list of executions with each filter: in an account with a million, compared with one that has a thousand. */
import type pg from 'pg';
import { compare, type Side } from './comparison.ts';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import { requestText } from './request.ts';
import type { AccountOfBench } from './second-account.ts';
import { openTwoAccounts } from './two-accounts.ts';
import type { Work } from './work.ts';

const most = 1.2;
const connections = 8;
/** As many executions as a page shows, in both accounts. They are the oldest. */
const rare = 25;
const projectIds = [1, 2, 3, 4].map((number) => `0198c2f4-5d1e-7c3a-9b42-00000000000${number}`);

export const executionList: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const { server, load, large, small, latest, compared } = await openTwoAccounts(ending, {
    settings,
    connections,
    table: 'pipeline_execution',
    fill: fillExecutions,
  });
  const findings: Finding[] = [];
  const from = new Date(latest.getTime() - 300_000).toISOString();
  const queries = [
    ['no filter', ''],
    ['the next page', '?paginationToken=next'],
    ['a project', `?projectId=${projectIds[1]}`],
    ['an environment', '?environmentName=prod'],
    ['a part of a common name', '?pipelineName=LOAD'],
    ['a part of a rare name', '?pipelineName=odd%20ONE'],
    ['a name that no pipeline has', '?pipelineName=nothing'],
    ['a common status', '?status=SUCCESS'],
    ['a rare status', '?status=UNKNOWN'],
    ['a time', `?startedAfter=${from}&startedBefore=${latest.toISOString()}`],
    [
      'project, environment, name and status',
      `?projectId=${projectIds[2]}&environmentName=dev&pipelineName=load&status=FAILED`,
    ],
    ['a schedule that is unknown', '?scheduleId=unknown'],
  ] as const;
  for (const [what, query] of queries) {
    const side = async (name: string, { token }: AccountOfBench): Promise<Side> => {
      const sent = query.replace('=next', `=${await findNext(server.port, token)}`);
      const requests = [requestText('GET', `/dpc/v1/pipeline-executions${sent}`, { token })];
      return { name: `${what}, of ${name}`, port: server.port, pid: server.pid, requests };
    };
    const ratios = await compare(
      load,
      [await side('1,000', small), await side('1,000,000', large)],
      compared,
    );
    findings.push({
      work: `executions by ${what}: of 1,000,000 against 1,000`,
      measured: `${spread(ratios)} × the time`,
      limit: `≤ ${most} × the time`,
      verdict: verdictAtMost(median(ratios), most),
      rounds: ratios,
    });
  }
  return findings;
};

async function findNext(port: number, token: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/dpc/v1/pipeline-executions`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return String(((await answer.json()) as { more?: string }).more);
}

/** One execution a second. The oldest have a name and a status that no other has. */
async function fillExecutions(
  client: pg.Client,
  { accountId }: AccountOfBench,
  latest: Date,
  count: number,
): Promise<void> {
  await client.query(
    `insert into project (account_id, project_id, name, warehouse, agent_deployment_type, version, created_at)
     select $1, id, id::text, 'DUCKDB', 'HYBRID', 1, $3 from unnest($2::uuid[]) id`,
    [accountId, projectIds, latest],
  );
  await client.query(
    `insert into pipeline_execution (account_id, execution_id, project_id, environment_name, pipeline_name, pipeline_type, version_name,
       manifest_digest, agent_id, status, trigger, scalar_variables, grid_variables, user_name, started_at, finished_at)
     select $1, (substr(hex, 1, 8) || '-' || substr(hex, 9) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
       ($2::uuid[])[1 + n % 4], case when n % 3 = 0 then 'prod' else 'dev' end,
       case when n > $4 - ${rare} then 'folder/The odd one.orch.yaml' else 'folder/Load ' || n % 10 || '.orch.yaml' end,
       'ORCHESTRATION', 'v1', repeat('0', 64), gen_random_uuid(),
       (case when n > $4 - ${rare} then 'UNKNOWN' when n % 20 = 0 then 'FAILED' else 'SUCCESS' end)::execution_status,
       'API', '{}', '{}', 'bench', at, at + interval '1 second'
     from generate_series(1, $4::integer) n
     cross join lateral (select $3::timestamptz - n * interval '1 second' as at) t
     cross join lateral (select lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') as hex) h`,
    [accountId, projectIds, latest, count],
  );
}
