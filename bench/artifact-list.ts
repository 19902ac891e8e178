/** The list of versions and the newest version, in an environment with 10,000 versions and in one with 10. */
import pg from 'pg';
import { compare, type Side } from './comparison.ts';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import { startLoadGenerator } from './load.ts';
import { requestText } from './request.ts';
import { type MeasuredServer, startServer } from './server-process.ts';
import type { Work } from './work.ts';

const many = 10_000;
const few = 10;
const connections = 16;
const lastPage = many / 25 - 1;
const most = 1.2;

export const artifactList: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const load = ending.adopt(await startLoadGenerator(), (generator) => generator.stop());
  const { large, small } = await fillProjects(server);
  const side = (name: string, projectId: string, path: string): Side => ({
    name,
    port: server.port,
    pid: server.pid,
    requests: [requestText('GET', `/dpc/v1/projects/${projectId}/artifacts${path}`, { token: server.token })],
  });
  const compared = { ...settings, connections, dataDirectory: server.dataDirectory };
  async function measure(what: string, path: string, limit?: number): Promise<Finding> {
    const sides = [
      side(`${what}, of ${few}`, small, path),
      side(`${what}, of ${many}`, large, path),
    ] as const;
    const ratios = await compare(load, sides, compared);
    return {
      work: `${what} among 10,000 versions, against 10`,
      measured: `${spread(ratios)} × the time`,
      limit: limit === undefined ? '–' : `≤ ${limit} × the time`,
      verdict: limit === undefined ? 'for information' : verdictAtMost(median(ratios), limit),
      rounds: ratios,
    };
  }
  return [
    // The same number of results in both.
    await measure('E11, a page', `?environmentName=dev&size=${few}`, most),
    await measure('E12, the newest version', '/details?environmentName=dev', most),
    await measure('E12, a named version', '/details?environmentName=dev&versionName=version%203', most),
    await measure('E11, few enabled', '?environmentName=prod', most),
    await measure('E12, few enabled', '/details?environmentName=prod', most),
    await lastPageOf(),
  ];

  async function lastPageOf(): Promise<Finding> {
    const sides = [
      side('the first page', large, '?environmentName=dev'),
      side('the last page', large, `?environmentName=dev&page=${lastPage}`),
    ] as const;
    const ratios = await compare(load, sides, { ...compared, rounds: 1 });
    return {
      work: 'E11, the last page of 10,000 versions, against the first',
      measured: `${spread(ratios)} × the time`,
      limit: '–',
      verdict: 'for information',
      rounds: ratios,
    };
  }
};

/** In dev all versions are enabled, in prod only the oldest ten. */
async function fillProjects(server: MeasuredServer): Promise<{ large: string; small: string }> {
  const client = new pg.Client(server.connection);
  await client.connect();
  try {
    const create = async (name: string, count: number) => {
      const project = { name, warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
      const projectId = String((await server.call('POST', '/projects', project)).projectId);
      for (const environment of ['dev', 'prod']) {
        await server.call('POST', `/projects/${projectId}/environments`, { name: environment });
        await client.query(insertVersions, [
          projectId,
          environment,
          count,
          environment === 'dev' ? count : few,
        ]);
      }
      return projectId;
    };
    await client.query(insertManifest);
    const large = await create('large', many);
    const small = await create('small', few);
    await client.query(
      'vacuum analyze artifact_version, artifact_counter, manifest, manifest_chunk, environment, project',
    );
    return { large, small };
  } finally {
    await client.end();
  }
}

/** All versions have the same twenty files: only the number of versions differs. */
const insertManifest = `
  with chunk as (
    insert into manifest_chunk (account_id, digest, paths, digests, sizes)
    select account_id, '\\x00', array_agg('a folder/file ' || n || '.sql'), array_agg('\\x11'::bytea), array_agg(4096)
    from account, generate_series(1, 20) n group by account_id
    returning account_id, digest)
  insert into manifest (account_id, digest, chunks, pipelines, created_at)
  select account_id, repeat('0', 64), array[digest], '[]', now() from chunk`;
const insertVersions = `
  with made as (
    insert into artifact_version (account_id, project_id, environment_name, version_name, manifest_digest, branch, commit_hash,
      provider, enabled, created_by, created_at, deployed_at)
    select account_id, project_id, $2, 'version ' || n, repeat('0', 64), 'main', repeat('a', 40),
      'headgate', n <= $4::integer, account_id, now(), now() + n * interval '1 second'
    from project, generate_series(1, $3::integer) n where project_id = $1)
  insert into artifact_counter (account_id, project_id, environment_name, versions, enabled_versions)
  select account_id, project_id, $2, $3::integer, $4::integer from project where project_id = $1`;
