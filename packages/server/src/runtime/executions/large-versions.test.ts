/** Starts in a version with many pipelines. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireProblem } from '../../../testing/client.ts';
import { createPlace, mainPipeline } from '../../../testing/place.ts';
import { upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import type { Read } from '../../kernel/database/database.ts';
import { findStarts } from './start-places.ts';

const server = await startTestServer({});

/** In bytes, of 8 MB of descriptions. */
const mostRead = 10_000;

test('a start reads only its pipeline of a version with 10,000 pipelines', async () => {
  const { account, project } = await createPlace(await server.account());
  await upload(account.admin, project, [mainPipeline]);
  await server.database.query(
    `update manifest set pipelines = pipelines || (select jsonb_agg(jsonb_build_object('name', 'folder/pipeline ' || n,
       'type', 'ORCHESTRATION', 'variables', '[]'::jsonb, 'description', (select string_agg(md5(n::text || k), '') from generate_series(1, 24) k)))
       from generate_series(1, 10000) n) where account_id = $1`,
    [account.accountId],
  );
  const start = (pipelineName: string) =>
    account.admin.post(`${project.path}/pipeline-executions`, { pipelineName, environmentName: 'dev' });
  assert.equal((await start('folder/pipeline 9999')).status, 201);
  const missing = requireProblem(await start('folder/pipelin 77'), 404, 'pipeline-not-found');
  assert.match(missing.detail, /folder\/pipeline 77\b/);

  let size = 0;
  const read: Read = async (statement, parameters) => {
    const rows = await server.deps.database.read(statement, parameters);
    size += JSON.stringify(rows).length;
    return rows;
  };
  const { accountId } = account;
  const { projectId } = project;
  const expected = { accountId, projectId, environmentName: 'dev', pipelineName: 'folder/pipeline 77' };
  const [found] = await findStarts(read, [expected], 'the schedule', server.deps.config, new Date());
  assert.equal(found?.problem?.code, undefined);
  assert.ok(size < mostRead, `${size} bytes`);
});
