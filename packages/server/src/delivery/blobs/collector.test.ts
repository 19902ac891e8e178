/** Unused files are removed after the grace period, and nothing else is. */
import assert from 'node:assert/strict';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Account } from '../../../testing/account.ts';
import { createInstance } from '../../../testing/agent.ts';
import { type Part, smallPipeline, type TestProject, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';
import type { Rest } from '../../kernel/retention/retention.ts';
import { createCollector } from './collector.ts';

const server = await startTestServer();
const { deps, clock, database } = server;
const collector = createCollector(deps);
const noRest: Rest = async () => undefined;
const grace = 25 * 3_600;
/** Manifests, blobs and objects each have a grace period of their own. */
const stages = 4;

async function collect(): Promise<void> {
  assert.ok(await collector.collect(noRest));
}

async function runPasses(count: number): Promise<void> {
  for (let pass = 0; pass < count; pass++) {
    await collect();
    clock.advance(grace);
  }
  await collect();
}

const buildFile = (name: string, content = `the text of ${name}`): Part => ({ name, content });
const buildManyFiles = (count: number, bytes = 100) =>
  Array.from({ length: count }, (_, index) => buildFile(`f${index}.sql`, `${index} `.padEnd(bytes, 'x')));

interface Rows {
  manifests: number;
  blobs: number;
  objects: number;
}

async function countRows({ accountId }: Account): Promise<Rows> {
  const [row] = await database.query<Rows>(
    `select (select count(*)::int from manifest where account_id = $1) as manifests,
      (select count(*)::int from blob where account_id = $1) as blobs,
      (select count(*)::int from blob_object where account_id = $1) as objects`,
    [accountId],
  );
  assert.ok(row);
  return row;
}

const getFolder = ({ accountId }: Account) => join(deps.config.dataDirectory, 'blobs', accountId);
const listFiles = (account: Account) => readdir(getFolder(account)).catch(() => []);

async function readText({ accountId }: Account, digest: string): Promise<string | undefined> {
  const found = await deps.blobs.read(accountId, digest);
  return found && (await buffer(found.stream)).toString();
}

async function findManifest({ accountId }: Account, project: TestProject, environment: string) {
  return database.query<{ path: string; sha256: string }>(
    `select f.path, encode(f.digest, 'hex') as sha256
     from artifact_version v join manifest m on m.account_id = v.account_id and m.digest = v.manifest_digest,
       manifest_chunk c, unnest(c.paths, c.digests) as f (path, digest)
     where v.account_id = $1 and v.project_id = $2 and v.environment_name = $3
       and c.account_id = v.account_id and c.digest = any(m.chunks)`,
    [accountId, project.projectId, environment],
  );
}

async function createScene() {
  const account = await server.account();
  const project = await account.project();
  const publishVersion = async (environmentName: string, parts: Part[], versionName = 'v1') =>
    assert.equal((await upload(account.admin, project, parts, { environmentName, versionName })).status, 201);
  const deleteVersions = async (environment: string) =>
    assert.equal(
      (await account.admin.delete(`${project.path}/environments/${environment}?confirm=true`)).status,
      204,
    );
  return { account, project, publishVersion, deleteVersions };
}

test('many small files are stored in one object, and each is read by its digest', async () => {
  const { account, project, publishVersion } = await createScene();
  await publishVersion('dev', [
    ...buildManyFiles(50),
    buildFile('empty', ''),
    buildFile('bom', '\ufeffa\r\nb\r\n'),
  ]);
  assert.deepEqual(await countRows(account), { manifests: 1, blobs: 52, objects: 1 });
  assert.equal((await listFiles(account)).length, 1);
  const files = await findManifest(account, project, 'dev');
  for (const { path, sha256 } of files) {
    const expected = path === 'empty' ? '' : path === 'bom' ? '\ufeffa\r\nb\r\n' : `${path.slice(1, -4)} `;
    assert.ok((await readText(account, sha256))?.startsWith(expected), path);
  }
});

test('a file that the account already has is not stored again', async () => {
  const { account, publishVersion } = await createScene();
  await publishVersion('dev', buildManyFiles(10));
  await publishVersion('prod', buildManyFiles(10));
  assert.deepEqual(await countRows(account), { manifests: 1, blobs: 10, objects: 1 });
  await publishVersion('prod', [...buildManyFiles(10), buildFile('one more')], 'v2');
  assert.deepEqual(await countRows(account), { manifests: 2, blobs: 11, objects: 2 });
});

test('files of no version are removed, each stage after its grace period', async () => {
  const { account, publishVersion, deleteVersions } = await createScene();
  await publishVersion('prod', buildManyFiles(10));
  await deleteVersions('prod');
  await collect();
  clock.advance(grace - 2 * 3_600);
  await collect();
  assert.deepEqual(await countRows(account), { manifests: 1, blobs: 10, objects: 1 });
  clock.advance(2 * 3_600);
  await collect();
  assert.deepEqual(await countRows(account), { manifests: 0, blobs: 10, objects: 1 });
  clock.advance(grace);
  await collect();
  assert.deepEqual(await countRows(account), { manifests: 0, blobs: 0, objects: 1 });
  assert.equal((await listFiles(account)).length, 1, 'running readers can finish');
  clock.advance(grace);
  await collect();
  assert.deepEqual(await countRows(account), { manifests: 0, blobs: 0, objects: 0 });
  assert.deepEqual(await listFiles(account), []);
});

test('files of another version are kept, and moved to a new pack if most of the old one is unused', async () => {
  const { account, project, publishVersion, deleteVersions } = await createScene();
  await publishVersion('prod', buildManyFiles(10));
  await publishVersion('dev', buildManyFiles(2));
  const [packBefore] = await listFiles(account);
  await deleteVersions('prod');
  await runPasses(stages);
  assert.deepEqual(await countRows(account), { manifests: 1, blobs: 2, objects: 1 });
  const packs = await listFiles(account);
  assert.equal(packs.length, 1);
  assert.notEqual(packs[0], packBefore);
  for (const { path, sha256 } of await findManifest(account, project, 'dev'))
    assert.ok((await readText(account, sha256))?.startsWith(`${path.slice(1, -4)} `), path);
});

test('a file published again within the grace period is kept', async () => {
  const { account, project, publishVersion, deleteVersions } = await createScene();
  await publishVersion('prod', buildManyFiles(5));
  await deleteVersions('prod');
  await runPasses(2);
  const [condemned] = await database.query<{ count: number }>(
    'select count(*)::int as count from blob where account_id = $1 and condemned_at is not null',
    [account.accountId],
  );
  await publishVersion('dev', buildManyFiles(5));
  assert.deepEqual(await countRows(account), {
    manifests: 1,
    blobs: 5,
    objects: condemned?.count === 5 ? 1 : 2,
  });
  await runPasses(stages);
  assert.equal((await countRows(account)).blobs, 5);
  for (const { sha256 } of await findManifest(account, project, 'dev'))
    assert.ok(await readText(account, sha256));
});

test('a running execution keeps the files of its version', async () => {
  const { account, project, publishVersion } = await createScene();
  const agent = createInstance(await account.agent('the agent', { status: 'running' }));
  await agent.hello();
  await publishVersion('prod', [buildFile('main.orch.yaml', smallPipeline)]);
  const started = await account.admin.post(`${project.path}/pipeline-executions`, {
    pipelineName: 'main',
    environmentName: 'prod',
  });
  assert.equal(started.status, 201);
  // Deleting the environment would end the run, so delete only the version.
  await database.query('delete from artifact_version where account_id = $1', [account.accountId]);
  await runPasses(stages);
  assert.deepEqual(await countRows(account), { manifests: 1, blobs: 1, objects: 1 });
  // No agent has claimed it in time, so it ends.
  await server.sweep();
  await runPasses(stages);
  assert.deepEqual(await countRows(account), { manifests: 0, blobs: 0, objects: 0 });
});

test('files of an interrupted upload and objects without a row are removed', async () => {
  const { account, publishVersion } = await createScene();
  await publishVersion('dev', buildManyFiles(3));
  const left = '00000000-0000-7000-8000-000000000001';
  await database.query(
    `insert into blob_object (account_id, object_key, state, size, live_bytes, since) values ($1, $2, 'pending', 0, 0, $3)`,
    [account.accountId, left, clock.now()],
  );
  const leftovers = [`${left}.part`, 'of-a-restored-database'].map((name) => join(getFolder(account), name));
  const young = join(getFolder(account), 'young');
  for (const path of [...leftovers, young]) await writeFile(path, 'x');
  for (const path of leftovers) await utimes(path, 0, 0);
  await utimes(young, clock.now(), clock.now());
  await collect();
  assert.deepEqual((await listFiles(account)).length, 3, 'only old, unknown objects were removed');
  await runPasses(2);
  assert.deepEqual(await countRows(account), { manifests: 1, blobs: 3, objects: 1 });
  assert.equal((await listFiles(account)).length, 1);
});

test('a damaged pack stays unchanged, is logged, and does not block others', async () => {
  const { account, publishVersion, deleteVersions } = await createScene();
  await publishVersion('prod', buildManyFiles(10));
  await publishVersion('dev', buildManyFiles(1));
  const [pack = ''] = await listFiles(account);
  await writeFile(join(getFolder(account), pack), '');
  await deleteVersions('prod');
  await runPasses(stages);
  assert.deepEqual(await countRows(account), { manifests: 1, blobs: 1, objects: 1 });
  assert.ok(server.logLines.some((line) => line.includes('could not rewrite a pack')));
});

test('one server at a time collects', async () => {
  const { publishVersion, deleteVersions } = await createScene();
  await publishVersion('prod', buildManyFiles(3));
  await deleteVersions('prod');
  const others: unknown[] = [];
  await collector.collect(async () => {
    if (others.length === 0) others.push(await createCollector(deps).collect(noRest));
  });
  assert.deepEqual(others, [undefined]);
});
