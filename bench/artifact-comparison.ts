/** The comparison of two versions of 10,000 files each. */
import pg from 'pg';
import { median, spread, verdictAtMost } from './finding.ts';
import { startServer } from './server-process.ts';
import type { Work } from './work.ts';

const files = 10_000;
const mostMilliseconds = 100;
const warmUp = 5;

export const artifactComparison: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const project = { name: 'compared', warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
  const { projectId } = await server.call('POST', '/projects', project);
  await server.call('POST', `/projects/${projectId}/environments`, { name: 'dev' });
  const client = new pg.Client(server.connection);
  await client.connect();
  for (const [version, first] of [
    ['old', 1],
    ['new', 101],
  ])
    await client.query(insertVersion, [version, first, projectId]);
  await client.end();
  const sides = 'environmentName=dev&versionName=new&againstEnvironmentName=dev&againstVersionName=old';
  const milliseconds: number[] = [];
  for (let round = -warmUp; round < settings.rounds; round++) {
    const began = performance.now();
    const { added, changed } = await server.call('GET', `/projects/${projectId}/artifacts/compare?${sides}`);
    if (round >= 0) milliseconds.push(performance.now() - began);
    if ((added as string[]).length !== 100 || (changed as string[]).length !== 0)
      throw new Error('The comparison is wrong.');
  }
  return [
    {
      work: 'two versions of 10,000 files compared',
      measured: `${spread(milliseconds, 0)} ms`,
      limit: `≤ ${mostMilliseconds} ms`,
      verdict: verdictAtMost(median(milliseconds), mostMilliseconds),
      rounds: milliseconds,
    },
  ];
};

/** The two versions have no chunk in common. */
const insertVersion = `
  with chunk as (
    insert into manifest_chunk (account_id, digest, paths, digests, sizes)
    select account_id, sha256(convert_to($1 || n / 64, 'UTF8')), array_agg('a folder/a file of some length ' || n || '.sql' order by n),
      array_agg(decode(lpad(n::text, 64, '0'), 'hex') order by n), array_agg(4096 order by n)
    from project, generate_series($2::integer, $2::integer + ${files - 1}) n
    where project_id = $3 group by account_id, n / 64
    returning account_id, digest
  ), made as (
    insert into manifest (account_id, digest, chunks, pipelines, created_at)
    select account_id, repeat(right($1, 1), 64), array_agg(digest), '[]', now() from chunk group by account_id
    returning account_id, digest)
  insert into artifact_version (account_id, project_id, environment_name, version_name, manifest_digest, provider, enabled,
    created_by, created_at, deployed_at)
  select account_id, $3, 'dev', $1, digest, 'headgate', true, account_id, now(), now() from made`;
