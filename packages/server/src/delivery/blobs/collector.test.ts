/** What nothing refers to goes after its grace, and nothing else does. */
import assert from 'node:assert/strict';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Rest } from '../../kernel/retention/retention.ts';
import type { Account } from '../../testing/account.ts';
import { createInstance } from '../../testing/agent.ts';
import { type Part, smallPipeline, type TestProject, upload } from '../../testing/project.ts';
import { startTestServer } from '../../testing/server.ts';
import { createCollector } from './collector.ts';

const server = await startTestServer();
const { deps, clock, database } = server;
const collector = createCollector(deps);
const noRest: Rest = async () => undefined;
const grace = 25 * 3_600;
/** Manifest, blobs, objects: each has a grace of its own. */
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

test('many small files are one object, and each is read back by its digest', async () => {
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

test('a file that the account has is not stored again', async () => {
  const { account, published } = await scene();
  await published('dev', many(10));
  await published('prod', many(10));
  assert.deepEqual(await rowsOf(account), { manifests: 1, blobs: 10, objects: 1 });
  await published('prod', [...many(10), file('one more')], 'v2');
  assert.deepEqual(await rowsOf(account), { manifests: 2, blobs: 11, objects: 2 });
});

test('what no version has goes, each stage after its grace, until nothing is left', async () => {
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
  assert.equal((await filesOf(account)).length, 1, 'who reads it still can');
  clock.advance(grace);
  await collect();
  assert.deepEqual(await rowsOf(account), { manifests: 0, blobs: 0, objects: 0 });
  assert.deepEqual(await filesOf(account), []);
});

test('what another version has too stays, in a pack of its own when little is left of the first', async () => {
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

test('what is published again before its grace is over stays', async () => {
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

test('an execution that is under way keeps the files of its version', async () => {
  const { account, project, published } = await scene();
  const agent = createInstance(await account.agent('the agent', { status: 'running' }));
  await agent.hello();
  await published('prod', [file('main.orch.yaml', smallPipeline)]);
  const started = await account.admin.post(`${project.path}/pipeline-executions`, {
    pipelineName: 'main',
    environmentName: 'prod',
  });
  assert.equal(started.status, 201);
  // Its environment's end would end it: this is the version alone.
  await database.query('delete from artifact_version where account_id = $1', [account.accountId]);
  await passes(stages);
  assert.deepEqual(await rowsOf(account), { manifests: 1, blobs: 1, objects: 1 });
  // Nobody has claimed it in time: it ends.
  await server.sweep();
  await passes(stages);
  assert.deepEqual(await rowsOf(account), { manifests: 0, blobs: 0, objects: 0 });
});

test('what a killed server left of an upload goes, and so does an object that no row names', async () => {
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
  assert.deepEqual((await filesOf(account)).length, 3, 'only what is old and unknown went');
  await passes(2);
  assert.deepEqual(await rowsOf(account), { manifests: 1, blobs: 3, objects: 1 });
  assert.equal((await filesOf(account)).length, 1);
});

test('a pack that is damaged stays as it is, is told, and holds up nothing else', async () => {
  const { account, published, forget } = await scene();
  await published('prod', many(10));
  await published('dev', many(1));
  const [pack = ''] = await filesOf(account);
  await writeFile(join(folderOf(account), pack), '');
  await forget('prod');
  await passes(stages);
  assert.deepEqual(await rowsOf(account), { manifests: 1, blobs: 1, objects: 1 });
  assert.ok(server.logLines.some((line) => line.includes('could not be written anew')));
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
