/** Unused files are removed after the grace period, and nothing else is. */
import assert from 'node:assert/strict';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Rest } from '../../kernel/retention/retention.ts';
import type { Account } from '../../testing/account.ts';
import { instanceOf } from '../../testing/agent.ts';
import { type Part, smallPipeline, type TestProject, upload } from '../../testing/project.ts';
import { startTestServer } from '../../testing/server.ts';
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

async function passes(count: number): Promise<void> {
  for (let pass = 0; pass < count; pass++) {
    await collect();
    clock.advance(grace);
  }
  await collect();
}

const file = (name: string, content = `the text of ${name}`): Part => ({ name, content });
const many = (count: number, bytes = 100) =>
  Array.from({ length: count }, (_, index) => file(`f${index}.sql`, `${index} `.padEnd(bytes, 'x')));

interface Rows {
  manifests: number;
  blobs: number;
  objects: number;
}

async function rowsOf({ accountId }: Account): Promise<Rows> {
  const [row] = await database.query<Rows>(
    `select (select count(*)::int from manifest where account_id = $1) as manifests,
      (select count(*)::int from blob where account_id = $1) as blobs,
      (select count(*)::int from blob_object where account_id = $1) as objects`,
    [accountId],
  );
  assert.ok(row);
  return row;
}

const folderOf = ({ accountId }: Account) => join(deps.config.dataDirectory, 'blobs', accountId);
const filesOf = (account: Account) => readdir(folderOf(account)).catch(() => []);

async function textOf({ accountId }: Account, digest: string): Promise<string | undefined> {
  const found = await deps.blobs.read(accountId, digest);
  return found && (await buffer(found.stream)).toString();
}

async function manifestOf({ accountId }: Account, project: TestProject, environment: string) {
  return database.query<{ path: string; sha256: string }>(
    `select f.path, encode(f.digest, 'hex') as sha256
     from artifact_version v join manifest m on m.account_id = v.account_id and m.digest = v.manifest_digest,
       manifest_chunk c, unnest(c.paths, c.digests) as f (path, digest)
     where v.account_id = $1 and v.project_id = $2 and v.environment_name = $3
       and c.account_id = v.account_id and c.digest = any(m.chunks)`,
    [accountId, project.projectId, environment],
  );
}

async function scene() {
  const account = await server.account();
  const project = await account.project();
  const published = async (environmentName: string, parts: Part[], versionName = 'v1') =>
    assert.equal((await upload(account.admin, project, parts, { environmentName, versionName })).status, 201);
  const forget = async (environment: string) =>
    assert.equal((await account.admin.delete(`${project.path}/environments/${environment}`)).status, 204);
  return { account, project, published, forget };
}

test('many small files are stored in one object, and each is read by its digest', async () => {
  const { account, project, published } = await scene();
  await published('dev', [...many(50), file('empty', ''), file('bom', '\ufeffa\r\nb\r\n')]);
  assert.deepEqual(await rowsOf(account), { manifests: 1, blobs: 52, objects: 1 });
  assert.equal((await filesOf(account)).length, 1);
  const files = await manifestOf(account, project, 'dev');
  for (const { path, sha256 } of files) {
    const expected = path === 'empty' ? '' : path === 'bom' ? '\ufeffa\r\nb\r\n' : `${path.slice(1, -4)} `;
    assert.ok((await textOf(account, sha256))?.startsWith(expected), path);
  }
});

test('a file that the account already has is not stored again', async () => {
  const { account, published } = await scene();
  await published('dev', many(10));
  await published('prod', many(10));
  assert.deepEqual(await rowsOf(account), { manifests: 1, blobs: 10, objects: 1 });
  await published('prod', [...many(10), file('one more')], 'v2');
  assert.deepEqual(await rowsOf(account), { manifests: 2, blobs: 11, objects: 2 });
});

test('files of no version are removed, each stage after its grace period', async () => {
  const { account, published, forget } = await scene();
  await published('prod', many(10));
  await forget('prod');
  await collect();
  clock.advance(grace - 2 * 3_600);
  await collect();
  assert.deepEqual(await rowsOf(account), { manifests: 1, blobs: 10, objects: 1 });
  clock.advance(2 * 3_600);
  await collect();
  assert.deepEqual(await rowsOf(account), { manifests: 0, blobs: 10, objects: 1 });
  clock.advance(grace);
  await collect();
  assert.deepEqual(await rowsOf(account), { manifests: 0, blobs: 0, objects: 1 });
  assert.equal((await filesOf(account)).length, 1, 'running readers can finish');
  clock.advance(grace);
  await collect();
  assert.deepEqual(await rowsOf(account), { manifests: 0, blobs: 0, objects: 0 });
  assert.deepEqual(await filesOf(account), []);
});

test('files of another version are kept, and moved to a new pack if most of the old one is unused', async () => {
  const { account, project, published, forget } = await scene();
  await published('prod', many(10));
  await published('dev', many(2));
  const [packBefore] = await filesOf(account);
  await forget('prod');
  await passes(stages);
  assert.deepEqual(await rowsOf(account), { manifests: 1, blobs: 2, objects: 1 });
  const packs = await filesOf(account);
  assert.equal(packs.length, 1);
  assert.notEqual(packs[0], packBefore);
  for (const { path, sha256 } of await manifestOf(account, project, 'dev'))
    assert.ok((await textOf(account, sha256))?.startsWith(`${path.slice(1, -4)} `), path);
});

test('a file published again within the grace period is kept', async () => {
  const { account, project, published, forget } = await scene();
  await published('prod', many(5));
  await forget('prod');
  await passes(2);
  const [condemned] = await database.query<{ count: number }>(
    'select count(*)::int as count from blob where account_id = $1 and condemned_at is not null',
    [account.accountId],
  );
  await published('dev', many(5));
  assert.deepEqual(await rowsOf(account), {
    manifests: 1,
    blobs: 5,
    objects: condemned?.count === 5 ? 1 : 2,
  });
  await passes(stages);
  assert.equal((await rowsOf(account)).blobs, 5);
  for (const { sha256 } of await manifestOf(account, project, 'dev'))
    assert.ok(await textOf(account, sha256));
});

test('a running execution keeps the files of its version', async () => {
  const { account, project, published } = await scene();
  const agent = instanceOf(await account.agent('the agent', { status: 'running' }));
  await agent.hello();
  await published('prod', [file('main.orch.yaml', smallPipeline)]);
  const started = await account.admin.post(`${project.path}/pipeline-executions`, {
    pipelineName: 'main',
    environmentName: 'prod',
  });
  assert.equal(started.status, 201);
  // Deleting the environment would end the run, so delete only the version.
  await database.query('delete from artifact_version where account_id = $1', [account.accountId]);
  await passes(stages);
  assert.deepEqual(await rowsOf(account), { manifests: 1, blobs: 1, objects: 1 });
  // No agent has claimed it in time, so it ends.
  await server.sweep();
  await passes(stages);
  assert.deepEqual(await rowsOf(account), { manifests: 0, blobs: 0, objects: 0 });
});

test('files of an interrupted upload and objects without a row are removed', async () => {
  const { account, published } = await scene();
  await published('dev', many(3));
  const left = '00000000-0000-7000-8000-000000000001';
  await database.query(
    `insert into blob_object (account_id, object_key, state, size, live_bytes, since) values ($1, $2, 'pending', 0, 0, $3)`,
    [account.accountId, left, clock.now()],
  );
  const leftovers = [`${left}.part`, 'of-a-restored-database'].map((name) => join(folderOf(account), name));
  const young = join(folderOf(account), 'young');
  for (const path of [...leftovers, young]) await writeFile(path, 'x');
  for (const path of leftovers) await utimes(path, 0, 0);
  await utimes(young, clock.now(), clock.now());
  await collect();
  assert.deepEqual((await filesOf(account)).length, 3, 'only old, unknown objects were removed');
  await passes(2);
  assert.deepEqual(await rowsOf(account), { manifests: 1, blobs: 3, objects: 1 });
  assert.equal((await filesOf(account)).length, 1);
});

test('a damaged pack stays unchanged, is logged, and does not block others', async () => {
  const { account, published, forget } = await scene();
  await published('prod', many(10));
  await published('dev', many(1));
  const [pack = ''] = await filesOf(account);
  await writeFile(join(folderOf(account), pack), '');
  await forget('prod');
  await passes(stages);
  assert.deepEqual(await rowsOf(account), { manifests: 1, blobs: 1, objects: 1 });
  assert.ok(server.logLines.some((line) => line.includes('could not rewrite a pack')));
});

test('one server at a time collects', async () => {
  const { published, forget } = await scene();
  await published('prod', many(3));
  await forget('prod');
  const others: unknown[] = [];
  await collector.collect(async () => {
    if (others.length === 0) others.push(await createCollector(deps).collect(noRest));
  });
  assert.deepEqual(others, [undefined]);
});
