/** Reading a page of variables and writing one, each compared with a bare route on the same database. */
import pg from 'pg';
import type { BarePeerSettings } from './bare-peer.ts';
import { startChild } from './child.ts';
import { compare, type Side } from './comparison.ts';
import { median, spread, verdictAtLeast } from './finding.ts';
import { type LoadGenerator, startLoadGenerator } from './load.ts';
import { requestText, uniqueNumber } from './request.ts';
import { type MeasuredServer, startServer } from './server-process.ts';
import type { Work, WorkSettings } from './work.ts';

const connections = 16;
/** The default of the server. */
const databaseConnections = 10;

export const pageOfVariables: Work = async (settings) => {
  const ratios = await againstBare(settings, ({ server, barePort, barePid, projectId }) => [
    {
      name: 'the page with total, rights checked',
      port: server.port,
      pid: server.pid,
      requests: [requestText('GET', `/dpc/v1/projects/${projectId}/variables`, { token: server.token })],
    },
    { name: 'the bare page', port: barePort, pid: barePid, requests: [requestText('GET', '/page')] },
  ]);
  const verdict = verdictAtLeast(median(ratios), 0.6, 0.75);
  const work = 'GET page of 25 variables with total, against a bare SELECT';
  return [{ work, measured: `${spread(ratios)} ×`, limit: '≥ 0.6 ×, stretch 0.75', verdict, rounds: ratios }];
};

export const writeVariable: Work = async (settings) => {
  const body = {
    name: `written_${uniqueNumber}`,
    type: 'TEXT',
    behaviour: 'SHARED',
    value: 'a value of some length',
  };
  const ratios = await againstBare(settings, ({ server, barePort, barePid, projectId }) => [
    {
      name: 'a variable with event and idempotency key',
      port: server.port,
      pid: server.pid,
      requests: [
        requestText('POST', `/dpc/v1/projects/${projectId}/variables`, {
          token: server.token,
          headers: { 'Idempotency-Key': `bench-${uniqueNumber}` },
          body,
        }),
      ],
    },
    { name: 'the bare row', port: barePort, pid: barePid, requests: [requestText('POST', '/row', { body })] },
  ]);
  const verdict = verdictAtLeast(median(ratios), 0.4, 0.5);
  const work = 'POST variable with event and key, against a bare INSERT';
  return [{ work, measured: `${spread(ratios)} ×`, limit: '≥ 0.4 ×, stretch 0.5', verdict, rounds: ratios }];
};

interface Scene {
  server: MeasuredServer;
  barePort: number;
  barePid: number;
  projectId: string;
}

async function againstBare(settings: WorkSettings, sides: (scene: Scene) => [Side, Side]): Promise<number[]> {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const { projectId, accountId } = await projectWithVariables(server, 100);
  const bareSettings: BarePeerSettings = {
    connection: server.connection,
    connections: databaseConnections,
    accountId,
    projectId,
  };
  const bare = ending.adopt(
    await startChild(new URL('./bare-peer.ts', import.meta.url), { BARE_PEER: JSON.stringify(bareSettings) }),
    (child) => child.stop(),
  );
  const load: LoadGenerator = ending.adopt(await startLoadGenerator(), (generator) => generator.stop());
  const scene = { server, barePort: Number(bare.first), barePid: bare.pid, projectId };
  // Awaited here, because the processes end with this function.
  return await compare(load, sides(scene), { ...settings, connections, dataDirectory: server.dataDirectory });
}

/** Inserts a project of the first account with this many variables, as the public interface would. */
export async function projectWithVariables(server: MeasuredServer, count: number) {
  const project = { name: `bench ${count}`, warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
  const projectId = String((await server.call('POST', '/projects', project)).projectId);
  const client = new pg.Client(server.connection);
  await client.connect();
  try {
    const { rows } = await client.query<{ account_id: string }>(
      'select account_id from project where project_id = $1',
      [projectId],
    );
    const accountId = rows[0]?.account_id ?? '';
    await fillProject(client, accountId, projectId, count);
    await client.query('analyze variable, project_counter');
    return { projectId, accountId };
  } finally {
    await client.end();
  }
}

export async function fillProject(
  client: pg.Client,
  accountId: string,
  projectId: string,
  count: number,
): Promise<void> {
  await client.query(
    `insert into variable (account_id, project_id, name, variable_id, type, behaviour, description, value,
       supports_double_resolution, version, created_at)
     select $1, $2, 'variable_' || lpad(n::text, 7, '0'), gen_random_uuid(), 'TEXT', 'SHARED', null,
       to_jsonb('value of the variable ' || n), false, 1, now()
     from generate_series(1, $3::integer) n`,
    [accountId, projectId, count],
  );
  await client.query(
    `insert into project_counter (account_id, project_id, kind, slot, count) values ($1, $2, 'variable', 0, $3)`,
    [accountId, projectId, count],
  );
}
