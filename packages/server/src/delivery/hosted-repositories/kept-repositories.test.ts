/** What becomes of hosted repositories when servers die, projects are deleted, or folders are missing. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { commitByApi } from '../../../testing/git-delivery.ts';
import { runGit } from '../../../testing/git-host.ts';
import {
  associateHosted,
  type HostedProject,
  makeHostedProject,
  makeUserGit,
} from '../../../testing/hosted-project.ts';
import type { TestServer } from '../../../testing/open-server.ts';
import { makeObject, makePack } from '../../../testing/raw-push.ts';
import { startTestServer } from '../../../testing/server.ts';
import { doDueWork } from '../../../testing/server-work.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { removeLeftObjects } from '../git/index.ts';
import { createDroppedRepositoriesJob } from './dropped-repositories.ts';
import { unfinishedAfterSeconds } from './hosted-repositories.ts';
import { withIdleLimit } from './idle-limit.ts';
import { hostedRepositories } from './index.ts';
import { createRepositoryWriteWork } from './repository-write.work.ts';

const server = await startTestServer();
const base = await server.listen();
const git = await makeUserGit();
const daySeconds = 86_400;

let trees = 0;
async function arrange(): Promise<HostedProject & { head: string; tree: string }> {
  const hosted = await makeHostedProject(server, base);
  trees += 1;
  const tree = await git.makeTree(`tree-${trees}`);
  await git.ok(['push', '-q', hosted.url, 'main'], { cwd: tree });
  return { ...hosted, tree, head: await git.ok(['rev-parse', 'HEAD'], { cwd: tree }) };
}

/** Runs the periodic jobs of the slice once. */
async function runJobs({ deps }: TestServer): Promise<void> {
  const writes = createRepositoryWriteWork(deps);
  await doDueWork(deps, writes);
  for (const job of hostedRepositories.periodic?.(deps) ?? [])
    if (job.name !== writes.name) while (await job.run(async () => undefined));
}

async function countPushes(hosted: HostedProject): Promise<number> {
  const rows = await server.database.query(
    "select from event where project_id = $1 and name = 'repository-pushed'",
    [hosted.project.projectId],
  );
  return rows.length;
}

/** What a server that was killed leaves: a write, and refs that git has moved or not. */
async function leaveWrite(hosted: HostedProject, ...moves: object[]): Promise<void> {
  await server.database.query(
    `insert into repository_write (account_id, project_id, write_id, moves, actor_id, actor_kind, begun_at, lease_until)
     values ($1, $2, $3, $4, $5, 'credential', now(), $6)`,
    [
      hosted.account.accountId,
      hosted.project.projectId,
      randomUUID(),
      JSON.stringify(moves),
      hosted.account.admin.actorId,
      new Date(server.clock.now().getTime() + unfinishedAfterSeconds * 1_000),
    ],
  );
}

describe('a server that dies in a push', () => {
  test('after git has moved the refs: another one records the push', async () => {
    const hosted = await arrange();
    await git.ok(['update-ref', 'refs/heads/other', hosted.head], { cwd: hosted.folder });
    await leaveWrite(hosted, { name: 'refs/heads/other', from: null, to: hosted.head });
    await runJobs(server);
    assert.equal(await countPushes(hosted), 1);
    server.clock.advance(unfinishedAfterSeconds + 1);
    await runJobs(server);
    assert.equal(await countPushes(hosted), 2);
    await runJobs(server);
    assert.equal(await countPushes(hosted), 2);
  });

  test('after git has moved a branch that has moved on since: it records the push too', async () => {
    const hosted = await arrange();
    await leaveWrite(hosted, { name: 'refs/heads/main', from: null, to: hosted.head });
    await commitByApi(hosted.account.admin, hosted.project, { expectedHead: hosted.head, files: { a: 'a' } });
    assert.equal(await countPushes(hosted), 2);
    server.clock.advance(unfinishedAfterSeconds + 1);
    await runJobs(server);
    assert.equal(await countPushes(hosted), 3);
  });

  test('while git moves many refs: another one moves the rest, unless one was changed meanwhile', async () => {
    const hosted = await arrange();
    const { head } = hosted;
    const readEvent = async () => {
      const rows = await server.database.query<{ state_after: { refs: { name: string }[] } }>(
        "select state_after from event where project_id = $1 and name = 'repository-pushed' order by event_id desc limit 1",
        [hosted.project.projectId],
      );
      return rows[0]?.state_after.refs.map(({ name }) => name);
    };
    const moves = ['a', 'b', 'c'].map((name) => ({ name: `refs/heads/${name}`, from: null, to: head }));
    runGit(hosted.folder, ['update-ref', 'refs/heads/a', head]);
    await leaveWrite(hosted, ...moves);
    server.clock.advance(unfinishedAfterSeconds + 1);
    await runJobs(server);
    for (const { name } of moves) assert.equal(runGit(hosted.folder, ['rev-parse', name]).trim(), head, name);
    assert.deepEqual(await readEvent(), ['refs/heads/a', 'refs/heads/b', 'refs/heads/c']);

    const other = runGit(hosted.folder, ['commit-tree', '-m', 'other', `${head}^{tree}`]).trim();
    for (const name of ['d', 'e', 'f']) moves.push({ name: `refs/heads/${name}`, from: null, to: head });
    runGit(hosted.folder, ['update-ref', 'refs/heads/d', head]);
    runGit(hosted.folder, ['update-ref', 'refs/heads/e', other]);
    await leaveWrite(hosted, ...moves.slice(3));
    server.clock.advance(unfinishedAfterSeconds + 1);
    await runJobs(server);
    assert.deepEqual(await readEvent(), ['refs/heads/d']);
    assert.equal(runGit(hosted.folder, ['for-each-ref', 'refs/heads/f']), '');
  });

  test('by a power failure that leaves files of branches empty: they are as before the push, or as after it', async () => {
    const hosted = await arrange();
    const { head, folder } = hosted;
    const next = runGit(folder, ['commit-tree', '-m', 'next', '-p', head, `${head}^{tree}`]).trim();
    runGit(folder, ['update-ref', 'refs/heads/moved', next]);
    await leaveWrite(
      hosted,
      { name: 'refs/heads/main', from: head, to: next },
      { name: 'refs/heads/new/one', from: null, to: next },
      { name: 'refs/heads/moved', from: null, to: next },
    );
    await mkdir(join(folder, 'refs/heads/new'));
    for (const name of ['main', 'new/one']) await writeFile(join(folder, 'refs/heads', name), '');
    server.clock.advance(unfinishedAfterSeconds + 1);
    await runJobs(server);
    for (const name of ['main', 'new/one', 'moved'])
      assert.equal(runGit(folder, ['rev-parse', `refs/heads/${name}`]).trim(), next, name);

    await leaveWrite(hosted, { name: 'refs/heads/main', from: next, to: head });
    await writeFile(join(folder, 'refs/heads/main'), '\0'.repeat(41));
    server.clock.advance(unfinishedAfterSeconds + 1);
    await runJobs(server);
    assert.equal(runGit(folder, ['rev-parse', 'refs/heads/main']).trim(), next);
    await git.ok(['push', '-q', hosted.url, 'HEAD:refs/heads/later'], { cwd: hosted.tree });
  });

  test('a branch whose file is damaged otherwise does not keep others from being pushed', async () => {
    const { folder, tree, url } = await arrange();
    await writeFile(join(folder, 'refs/heads/cut'), '');
    await git.ok(['push', '-q', url, 'HEAD:refs/heads/later'], { cwd: tree });
  });

  test('before git has moved them: nothing is recorded', async () => {
    const hosted = await arrange();
    await leaveWrite(hosted, { name: 'refs/heads/other', from: null, to: hosted.head });
    server.clock.advance(unfinishedAfterSeconds + 1);
    await runJobs(server);
    assert.equal(await countPushes(hosted), 1);
    const at = { accountId: hosted.account.accountId, projectId: hosted.project.projectId };
    await server.deps.hosted.waitForWrites(at, AbortSignal.timeout(120_000));
  });

  test('a migration waits for the push that is under way', async () => {
    const hosted = await arrange();
    await leaveWrite(hosted, { name: 'refs/heads/other', from: null, to: hosted.head });
    const at = { accountId: hosted.account.accountId, projectId: hosted.project.projectId };
    await assert.rejects(server.deps.hosted.waitForWrites(at, AbortSignal.timeout(300)));
    server.clock.advance(unfinishedAfterSeconds + 1);
    await runJobs(server);
    await server.deps.hosted.waitForWrites(at, AbortSignal.timeout(120_000));
  });
});

describe('a dropped repository', () => {
  test('is kept for 30 days after its project was deleted', async () => {
    const hosted = await arrange();
    await hosted.account.admin.delete(hosted.project.path);
    await runJobs(server);
    assert.equal(existsSync(hosted.folder), false);
    const dropped = join(server.deps.repositoriesFolder, 'dropped');
    const find = async () =>
      (await readdir(dropped)).filter((name) => name.startsWith(hosted.project.projectId));
    const [retained = ''] = await find();
    assert.equal(await git.ok(['rev-parse', 'main'], { cwd: join(dropped, retained) }), hosted.head);
    server.clock.advance(29 * daySeconds);
    await runJobs(server);
    assert.equal((await find()).length, 1);
    server.clock.advance(2 * daySeconds);
    await runJobs(server);
    assert.equal((await find()).length, 0);
  });

  test('that was dropped twice before its folder was moved is kept under the older of its names', async () => {
    const hosted = await arrange();
    const { projectId } = hosted.project;
    const names: string[] = [];
    for (let time = 0; time < 2; time += 1) {
      if (time > 0) await associateHosted(server, hosted.account, projectId);
      await server.database.query('delete from repository where project_id = $1', [projectId]);
      const found = await server.database.query<{ folder: string }>(
        'select folder from dropped_repository where project_id = $1',
        [projectId],
      );
      names.push(...found.map(({ folder }) => folder).filter((folder) => !names.includes(folder)));
    }
    // The rows come in the order in which they were written, unless they are sorted.
    await server.database.query(
      "update dropped_repository set dropped_at = dropped_at - interval '1 hour' where folder = $1",
      [names[1]],
    );
    await runJobs(server);
    const retained = join(server.deps.repositoriesFolder, 'dropped', `${names[1]}.git`);
    assert.equal(await git.ok(['rev-parse', 'main'], { cwd: retained }), hosted.head);
  });

  test('one whose folder cannot be moved does not keep the others', async () => {
    const [broken, other] = [await arrange(), await arrange()];
    for (const { project } of [broken, other])
      await server.database.query('delete from repository where project_id = $1', [project.projectId]);
    const { hosted } = server.deps;
    const moveDropped: typeof hosted.moveDropped = async (at) => {
      if (at.projectId === broken.project.projectId) throw new Error('it cannot be moved');
      await hosted.moveDropped(at);
    };
    const job = createDroppedRepositoriesJob({ ...server.deps, hosted: { ...hosted, moveDropped } });
    await assert.rejects(
      job.run(async () => undefined),
      /it cannot be moved/,
    );
    assert.deepEqual([existsSync(broken.folder), existsSync(other.folder)], [true, false]);
    await runJobs(server);
  });

  test('is not what the project gets when it is associated again', async () => {
    const hosted = await arrange();
    const { projectId } = hosted.project;
    for (let time = 0; time < 2; time += 1) {
      await server.database.query('delete from repository where project_id = $1', [projectId]);
      await associateHosted(server, hosted.account, projectId);
      assert.equal(await git.ok(['ls-remote', await hosted.urlOf(hosted.account.admin)]), '');
    }
    await runJobs(server);
    assert.equal(existsSync(hosted.folder), true);
  });
});

describe('the folder of hosted repositories', () => {
  test('that a server does not see: 503 with the remedy, and told by /readyz', async () => {
    const hosted = await arrange();
    const folder = await mkdtemp(join(tmpdir(), 'headgate-other-folder-'));
    after(() => rm(folder, { recursive: true, force: true }));
    const other = await startTestServer({
      database: server.database,
      settings: { HEADGATE_REPOSITORIES_DIR: folder },
    });
    const address = await other.listen();
    const url = hosted.url.replace(new URL(base).host, new URL(address).host);
    const refused = await git.run(['ls-remote', url]);
    assert.match(refused.text, /HEADGATE_REPOSITORIES_DIR/);
    assert.match(refused.text, /503/);
    const ready = (await (await fetch(`${address}/readyz`)).json()) as { repositories: { status: string } };
    assert.equal(ready.repositories.status, 'unavailable');
    assert.deepEqual(await readdir(folder), []);
    const well = (await (await fetch(`${base}/readyz`)).json()) as { repositories: { status: string } };
    assert.equal(well.repositories.status, 'ready');
  });

  test('that two servers see is used by both', async () => {
    const hosted = await arrange();
    const other = await startTestServer({
      database: server.database,
      settings: { HEADGATE_REPOSITORIES_DIR: server.deps.repositoriesFolder },
    });
    const address = await other.listen();
    const url = hosted.url.replace(new URL(base).host, new URL(address).host);
    assert.match(await git.ok(['ls-remote', url]), new RegExp(hosted.head));
  });

  test('that goes away is noticed, and comes back', async () => {
    const own = await startTestServer();
    const hosted = await makeHostedProject(own, await own.listen());
    await git.ok(['ls-remote', hosted.url]);
    const folder = own.deps.repositoriesFolder;
    await rename(folder, `${folder}-away`);
    await mkdir(folder);
    assert.match((await git.run(['ls-remote', hosted.url])).text, /503/);
    await rm(folder, { recursive: true });
    await rename(`${folder}-away`, folder);
    server.clock.advance(2_000);
    await waitUntil('the folder', 120, async () => (await git.run(['ls-remote', hosted.url])).code === 0);
    assert.match(await readFile(join(folder, 'headgate-repositories'), 'utf8'), /^[0-9a-f-]{36}\n$/);
  });
});

test('a repository with more than 50 packs is repacked after a commit, and keeps its files', async () => {
  const { account, project, folder, head } = await arrange();
  for (let index = 0; index < 51; index += 1)
    runGit(folder, ['index-pack', '--stdin'], makePack([makeObject('blob', `blob ${index}`)]));
  const countPacks = async () =>
    (await readdir(join(folder, 'objects', 'pack'))).filter((name) => name.endsWith('.pack')).length;
  assert.equal(await countPacks(), 52);
  const next = await commitByApi(account.admin, project, { expectedHead: head });
  // The last step packs the branches too. Before it, git removes what fsck reads.
  await waitUntil('the packs are joined', 120, () => existsSync(join(folder, 'packed-refs')));
  assert.ok((await countPacks()) <= 2);
  assert.match(runGit(folder, ['fsck', '--strict', '--connectivity-only']), /^(dangling .*\n)*$/);
  assert.equal(runGit(folder, ['rev-parse', 'main']).trim(), next);
});

test('what a push of a killed server has left is removed, though nobody pushes any more', async () => {
  const { folder } = await arrange();
  const killedAt = new Date(Date.now() - 3 * 3_600_000);
  // Damaged folders keep no other repository from being tidied.
  for (const name of ['00', 'zz']) {
    const objects = join(server.deps.repositoriesFolder, `${name}.git`, 'objects', '00');
    await mkdir(objects, { recursive: true });
    await writeFile(join(objects, '11'), '');
    await utimes(join(objects, '11'), new Date(0), new Date(0));
  }
  const loose = ['loose', 'young'].map((text) => {
    const id = runGit(folder, ['hash-object', '-w', '--stdin'], Buffer.from(text)).trim();
    return join(folder, 'objects', id.slice(0, 2), id.slice(2));
  });
  const looseSince = new Date(Date.now() - 3 * daySeconds * 1_000);
  await utimes(loose[0] ?? '', looseSince, looseSince);
  const [old, fresh] = ['incoming-old', 'incoming-new'].map((name) => join(folder, 'objects', name));
  const lock = join(folder, 'refs', 'heads', 'main.lock');
  assert.ok(old !== undefined && fresh !== undefined);
  for (const path of [old, fresh]) await mkdir(join(path, 'pack'), { recursive: true });
  await writeFile(lock, '');
  for (const path of [old, lock]) await utimes(path, killedAt, killedAt);
  await runJobs(server);
  assert.deepEqual(
    [old, fresh, lock, ...loose].map((path) => existsSync(path)),
    [false, true, false, false, true],
  );
});

test('files of packs that a killed server has left are removed, but not those of a backup being restored', async () => {
  const { folder } = await arrange();
  const packs = join(folder, 'objects', 'pack');
  const whole = (await readdir(packs)).toSorted();
  const pack = `pack-${'a'.repeat(40)}`;
  const left = [`${pack}.pack`, `${pack}.rev`, '.tmp-7-pack-1.pack', 'tmp_pack_1'];
  for (const name of left) await writeFile(join(packs, name), '');
  for (const name of [...left, ...whole]) await utimes(join(packs, name), new Date(0), new Date(0));
  await runJobs(server);
  assert.deepEqual((await readdir(packs)).toSorted(), [...left, ...whole].toSorted());
  await removeLeftObjects(folder, Date.now() + 3 * 3_600_000);
  assert.deepEqual((await readdir(packs)).toSorted(), whole);
});

test('a client that sends nothing for too long is refused', async () => {
  async function* bring() {
    yield Buffer.from('a');
    await new Promise(() => undefined);
  }
  const read: string[] = [];
  await assert.rejects(
    async () => {
      for await (const chunk of withIdleLimit(bring(), 20)) read.push(String(chunk));
    },
    { code: 'request-timeout' },
  );
  assert.deepEqual(read, ['a']);
});
