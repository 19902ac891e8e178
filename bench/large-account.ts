/** A page with its exact total in a large project of a large account, compared with a small project. */
import pg from 'pg';
import { compare, type Side } from './comparison.ts';
import { median, spread, verdictAtMost } from './finding.ts';
import { startLoadGenerator } from './load.ts';
import { requestText } from './request.ts';
import { type MeasuredServer, startServer } from './server-process.ts';
import { fillProject } from './variables.ts';
import type { Work } from './work.ts';

const largeProject = 10_000;
const smallProject = 100;
/** Other projects, so that there are a million variables. */
const otherProjects = 99;
const connections = 16;
const lastPage = largeProject / 25 - 1;

export const pageInLargeAccount: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const load = ending.adopt(await startLoadGenerator(), (generator) => generator.stop());
  const { large, small } = await fillAccount(server);
  const side = (name: string, projectId: string, page = 0): Side => ({
    name,
    port: server.port,
    pid: server.pid,
    requests: [
      requestText('GET', `/dpc/v1/projects/${projectId}/variables?page=${page}`, { token: server.token }),
    ],
  });
  const compared = { ...settings, connections, dataDirectory: server.dataDirectory };
  const inSmall = side(`in a project of ${smallProject}`, small);
  const first = await compare(load, [inSmall, side(`in a project of ${largeProject}`, large)], compared);
  const last = await compare(load, [inSmall, side('the last page of it', large, lastPage)], {
    ...compared,
    rounds: 1,
  });
  return [
    {
      work: 'the page in a project of 10,000 among 1,000,000, against one of 100',
      measured: `${spread(first)} × the time`,
      limit: '≤ 1.2 × the time',
      verdict: verdictAtMost(median(first), 1.2),
      rounds: first,
    },
    {
      work: 'the last page of that project, against the first of the small one',
      measured: `${spread(last)} × the time`,
      limit: '–',
      verdict: 'for information',
      rounds: last,
    },
  ];
};

async function fillAccount(server: MeasuredServer): Promise<{ large: string; small: string }> {
  const client = new pg.Client(server.connection);
  await client.connect();
  try {
    const create = async (name: string, count: number) => {
      const project = { name, warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
      const projectId = String((await server.call('POST', '/projects', project)).projectId);
      const { rows } = await client.query<{ account_id: string }>(
        'select account_id from project where project_id = $1',
        [projectId],
      );
      await fillProject(client, rows[0]?.account_id ?? '', projectId, count);
      return projectId;
    };
    // The inserted rows satisfy the foreign keys; checking a million of them would only take time.
    await client.query("set session_replication_role = 'replica'");
    const large = await create('large', largeProject);
    const small = await create('small', smallProject);
    for (let index = 0; index < otherProjects; index++) await create(`other ${index}`, largeProject);
    await client.query('vacuum analyze variable, project_counter, project, role_grant');
    return { large, small };
  } finally {
    await client.end();
  }
}
