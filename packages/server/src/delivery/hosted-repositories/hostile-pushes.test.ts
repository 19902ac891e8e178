/** Hostile clients and hostile repositories: refused with a reason, and nothing is left of them. */
import assert from 'node:assert/strict';
import { readdir, rm, utimes } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { runGit } from '../../../testing/git-host.ts';
import { type HostedProject, makeHostedProject, makeUserGit } from '../../../testing/hosted-project.ts';
import {
  makeCommands,
  makeCommitObject,
  makeDeltaBomb,
  makeObject,
  makePack,
  makeTreeObject,
  noObject,
  type RawObject,
} from '../../../testing/raw-push.ts';
import { startTestServer } from '../../../testing/server.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { openQuarantine } from './quarantine.ts';

const server = await startTestServer({ settings: { HEADGATE_REPOSITORY_MB: '20' } });
const base = await server.listen();
const git = await makeUserGit();
const blob = makeObject('blob', 'type: orchestration\n');
const tree = makeTreeObject([{ mode: '100644', name: 'main.orch.yaml', id: blob.id }]);
const commit = makeCommitObject(tree.id);
const good = [blob, tree, commit];

async function push(hosted: HostedProject, body: Buffer): Promise<{ status: number; text: string }> {
  const response = await fetch(`${base}/git/${hosted.project.projectId}.git/git-receive-pack`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await hosted.account.admin.token()}`,
      'content-type': 'application/x-git-receive-pack-request',
    },
    body: new Uint8Array(body),
  });
  return { status: response.status, text: await response.text() };
}

const pushMain = (hosted: HostedProject, objects: readonly RawObject[]) => {
  const to = objects.findLast(({ type }) => type === 'commit')?.id ?? '';
  return push(hosted, Buffer.concat([makeCommands([{ to, name: 'refs/heads/main' }]), makePack(objects)]));
};

/** Nothing of a refused push may stay: no refs, no objects, no quarantine, no row. */
async function requireNothing({ folder, project }: HostedProject): Promise<void> {
  assert.equal(await git.ok(['for-each-ref'], { cwd: folder }), '');
  assert.deepEqual(await readdir(join(folder, 'objects', 'pack')), []);
  assert.deepEqual((await readdir(join(folder, 'objects'))).toSorted(), ['info', 'pack']);
  const rows = await server.database.query('select from repository_write where project_id = $1', [
    project.projectId,
  ]);
  assert.equal(rows.length, 0);
}

/** Each test that uses it requires that nothing is left. */
const refusing = await makeHostedProject(server, base);

describe('a pack', () => {
  test('that is sound is taken', async () => {
    const hosted = await makeHostedProject(server, base);
    assert.match((await pushMain(hosted, good)).text, /ok refs\/heads\/main/);
  });

  const badTrees: [string, RawObject][] = [
    ['.git', makeTreeObject([{ mode: '100644', name: '.git', id: blob.id }])],
    ['.GiT', makeTreeObject([{ mode: '100644', name: '.GiT', id: blob.id }])],
    ['git~1', makeTreeObject([{ mode: '100644', name: 'git~1', id: blob.id }])],
    ['.g\u200cit', makeTreeObject([{ mode: '100644', name: '.g\u200cit', id: blob.id }])],
    ['..', makeTreeObject([{ mode: '40000', name: '..', id: makeTreeObject([]).id }])],
    ['a/b', makeTreeObject([{ mode: '100644', name: 'a/b', id: blob.id }])],
    ['an empty name', makeTreeObject([{ mode: '100644', name: '', id: blob.id }])],
    [
      'the same name twice',
      makeTreeObject([
        { mode: '100644', name: 'a', id: blob.id },
        { mode: '100644', name: 'a', id: blob.id },
      ]),
    ],
    ['a link as .gitmodules', makeTreeObject([{ mode: '120000', name: '.gitmodules', id: blob.id }])],
  ];
  for (const [name, bad] of badTrees)
    test(`with a tree of ${name} is refused`, async () => {
      const { status, text } = await pushMain(refusing, [
        makeTreeObject([]),
        blob,
        bad,
        makeCommitObject(bad.id),
      ]);
      assert.equal(status, 200);
      assert.match(text, /ng refs\/heads\/main/);
      await requireNothing(refusing);
    });

  test('with a submodule address that runs a program is refused', async () => {
    const modules = makeObject('blob', '[submodule "a"]\n\tpath = a\n\turl = -u./payload\n');
    const top = makeTreeObject([{ mode: '100644', name: '.gitmodules', id: modules.id }]);
    assert.match(
      (await pushMain(refusing, [modules, top, makeCommitObject(top.id)])).text,
      /ng refs\/heads\/main/,
    );
    await requireNothing(refusing);
  });

  const commands = makeCommands([{ to: commit.id, name: 'refs/heads/main' }]);
  const sound = makePack(good);
  const broken: [string, Buffer][] = [
    ['is missing', Buffer.alloc(0)],
    ['is no pack', Buffer.from('GARBAGE'.repeat(100))],
    ['is cut in its header', sound.subarray(0, 7)],
    ['is cut in an object', sound.subarray(0, 60)],
    ['has a wrong checksum', Buffer.concat([sound.subarray(0, -1), Buffer.of(0)])],
    ['has bytes after its end', Buffer.concat([sound, Buffer.from('garbage')])],
    ['has many bytes after its end', Buffer.concat([sound, Buffer.alloc(1_000_000)])],
    ['says that it has four thousand million objects', makePack(good, 0xffff_ffff)],
    ['says that it has more objects than it has', makePack(good, 5)],
    ['lacks the commit', makePack([blob, tree])],
    ['lacks a file', makePack([tree, commit])],
    ['is empty', makePack([])],
  ];
  for (const [name, pack] of broken)
    test(`that ${name} is refused`, async () => {
      const { status, text } = await push(refusing, Buffer.concat([commands, pack]));
      assert.equal(status, 200, text);
      assert.match(text, /ng refs\/heads\/main/);
      await requireNothing(refusing);
    });

  test('that makes the repository too large is refused', async () => {
    const { randomBytes } = await import('node:crypto');
    const large = makeObject('blob', randomBytes(25_000_000));
    const top = makeTreeObject([{ mode: '100644', name: 'large', id: large.id }]);
    const { text } = await pushMain(refusing, [large, top, makeCommitObject(top.id)]);
    assert.match(text, /unpack the repository would have more than 20 MB/);
    await requireNothing(refusing);
  });

  test('that makes it too large begins to free the space of what was deleted', async () => {
    const { randomBytes } = await import('node:crypto');
    const hosted = await makeHostedProject(server, base);
    await git.ok(['ls-remote', hosted.url]);
    runGit(hosted.folder, ['index-pack', '--stdin'], makePack([makeObject('blob', randomBytes(15_000_000))]));
    const packs = join(hosted.folder, 'objects', 'pack');
    const deletedAt = new Date(Date.now() - 3 * 86_400_000);
    for (const name of await readdir(packs)) await utimes(join(packs, name), deletedAt, deletedAt);
    const large = makeObject('blob', randomBytes(8_000_000));
    const top = makeTreeObject([{ mode: '100644', name: 'large', id: large.id }]);
    const send = async () => (await pushMain(hosted, [large, top, makeCommitObject(top.id)])).text;
    assert.match(await send(), /would have more than 20 MB/);
    await waitUntil('there is space', 120, async () => /ok refs\/heads\/main/.test(await send()));
  });

  test('without objects for a branch that was deleted often does not make the repository too large', async () => {
    const { randomBytes } = await import('node:crypto');
    const hosted = await makeHostedProject(server, base);
    await pushMain(hosted, good);
    const large = makeObject('blob', randomBytes(8_000_000));
    const top = makeTreeObject([{ mode: '100644', name: 'large', id: large.id }]);
    const { id } = makeCommitObject(top.id);
    const name = 'refs/heads/x';
    const send = async (objects: readonly RawObject[]) =>
      (await push(hosted, Buffer.concat([makeCommands([{ to: id, name }]), makePack(objects)]))).text;
    const remove = () => push(hosted, makeCommands([{ from: id, to: noObject, name }]));
    assert.match(await send([large, top, makeCommitObject(top.id)]), /ok refs\/heads\/x/);
    await remove();
    assert.match(await send([]), /ok refs\/heads\/x/);
    await remove();
    const packs = join(hosted.folder, 'objects', 'pack');
    const before = (await readdir(packs)).toSorted();
    assert.match(await send([]), /would have more than 20 MB[\s\S]*ng refs\/heads\/x/);
    assert.deepEqual((await readdir(packs)).toSorted(), before);
  });

  test('that lacks an object which only a deleted branch had keeps it when that is removed', async () => {
    const hosted = await makeHostedProject(server, base);
    await git.ok(['ls-remote', hosted.url]);
    const deleted = runGit(hosted.folder, ['index-pack', '--stdin'], makePack([blob]))
      .trim()
      .split('\t')[1];
    const sent = await pushMain(hosted, [tree, commit]);
    assert.match(sent.text, /ok refs\/heads\/main/);
    for (const end of ['idx', 'pack'])
      await rm(join(hosted.folder, 'objects/pack', `pack-${deleted}.${end}`));
    runGit(hosted.folder, ['fsck', '--strict']);
    assert.deepEqual(
      (await readdir(join(hosted.folder, 'objects/pack'))).filter((name) => name.endsWith('.keep')),
      [],
    );
  });

  test('of a file of 100 MB of zeros takes no such memory, and the file is not read', async () => {
    const hosted = await makeHostedProject(server, base);
    const zeros = makeObject('blob', Buffer.alloc(100_000_000));
    const top = makeTreeObject([{ mode: '100644', name: 'zeros', id: zeros.id }]);
    const before = process.memoryUsage().rss;
    assert.match(
      (await pushMain(hosted, [zeros, top, makeCommitObject(top.id)])).text,
      /ok refs\/heads\/main/,
    );
    assert.ok(process.memoryUsage().rss - before < 200_000_000);
  });

  test('of 64 KiB in which 2,000 objects say that they are 16 MiB is given up', async () => {
    const hosted = await makeHostedProject(server, base);
    const { folder, account } = hosted;
    await pushMain(hosted, good);
    const quarantine = await openQuarantine(server.deps.git, {
      folder,
      accountId: account.accountId,
      id: 'bomb',
      limits: { bytes: 20_000_000, objects: 10_000, resolveMilliseconds: 200 },
      signal: new AbortController().signal,
    });
    async function* send() {
      yield makeDeltaBomb(2_000);
    }
    await assert.rejects(quarantine.unpack(send()), /far larger than the pack/);
    await quarantine.remove();
    assert.deepEqual((await readdir(join(folder, 'objects'))).toSorted(), ['info', 'pack']);
  });

  test('of 30,000 folders in each other does not end the server', async () => {
    const hosted = await makeHostedProject(server, base);
    const trees = [tree];
    for (let level = 0; level < 30_000; level += 1)
      trees.push(makeTreeObject([{ mode: '40000', name: 'a', id: trees.at(-1)?.id ?? '' }]));
    const { status, text } = await pushMain(hosted, [
      blob,
      ...trees,
      makeCommitObject(trees.at(-1)?.id ?? ''),
    ]);
    assert.equal(status, 200, text);
    assert.match(text, /(ok|ng) refs\/heads\/main/);
    assert.equal((await fetch(`${base}/livez`)).status, 200);
  });
});

describe('the commands', () => {
  const names: (Buffer | string)[] = [
    'refs/heads/',
    'refs/heads/..',
    'refs/heads/a..b',
    'refs/heads/a b',
    'refs/heads/-x',
    'refs/heads/a.lock',
    'refs/heads/.a',
    'refs/heads/a//b',
    'refs/heads/a~1',
    'refs/heads/a^',
    'refs/heads/a:b',
    'refs/heads/@{1}',
    'refs/heads/a\\b',
    'refs/heads/HEAD',
    'refs/heads/a\u0007',
    `refs/heads/${'long/'.repeat(250)}end`,
    'HEAD',
    'refs/pull/1/head',
    'refs/replace/x',
    'refs/heads/../../config',
    '../../etc/passwd',
    'main',
  ];
  test('with a bad name are refused, each with its reason', async () => {
    for (const name of names) {
      const body = Buffer.concat([makeCommands([{ to: commit.id, name }]), makePack(good)]);
      const { status, text } = await push(refusing, body);
      assert.equal(status, 200, `${name}: ${text}`);
      assert.match(text, /unpack ok/, String(name));
      assert.match(text, /ng .*(only branches and tags|not a valid name)/, String(name));
    }
    await requireNothing(refusing);
  });

  const unreadable: [string, Buffer][] = [
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('hello, this is no packet')],
    ['a cut packet', Buffer.from('00ff0000')],
    ['a packet of two bytes', Buffer.from('0002')],
    ['a command without ids', Buffer.from('000bcommand0000')],
    [
      'a name that is not UTF-8',
      makeCommands([{ to: commit.id, name: Buffer.from([0x72, 0x2f, 0xff, 0xfe]) }]),
    ],
    ['no end', makeCommands([{ to: commit.id, name: 'refs/heads/main' }]).subarray(0, -4)],
    [
      '10,001 branches',
      makeCommands(
        Array.from({ length: 10_001 }, (_, index) => ({ to: commit.id, name: `refs/heads/b${index}` })),
      ),
    ],
    [
      'another object format',
      makeCommands([{ to: commit.id, name: 'refs/heads/main' }], 'object-format=sha256'),
    ],
  ];
  for (const [name, body] of unreadable)
    test(`that are ${name} are answered by 400, or by nothing`, async () => {
      const { status, text } = await push(refusing, body);
      assert.ok(status === 400 || (status === 200 && text === ''), `${status} ${text}`);
      await requireNothing(refusing);
    });

  test('that name a ref twice, or delete one that is not there, are refused', async () => {
    const hosted = await makeHostedProject(server, base);
    const name = 'refs/heads/main';
    const twice = makeCommands([
      { to: commit.id, name },
      { to: commit.id, name },
    ]);
    assert.match(
      (await push(hosted, Buffer.concat([twice, makePack(good)]))).text,
      /ng refs\/heads\/main the push names it twice/,
    );
    const absent = await push(
      hosted,
      makeCommands([{ from: commit.id, to: noObject, name: 'refs/heads/none' }]),
    );
    assert.match(absent.text, /ng refs\/heads\/none it does not exist any more/);
    const nothing = await push(hosted, makeCommands([{ to: noObject, name: 'refs/heads/none' }]));
    assert.match(nothing.text, /ng refs\/heads\/none it does not exist/);
  });

  test('make no branch of a file or a tree', async () => {
    const body = Buffer.concat([makeCommands([{ to: blob.id, name: 'refs/heads/x' }]), makePack(good)]);
    assert.match(
      (await push(refusing, body)).text,
      /ng refs\/heads\/x a branch must name a commit, not a blob/,
    );
    await requireNothing(refusing);
  });

  test('make no branch below the name of another one', async () => {
    const hosted = await makeHostedProject(server, base);
    await pushMain(hosted, good);
    const others = Array.from({ length: 63 }, (_, index) => ({
      to: commit.id,
      name: `refs/heads/other-${index}`,
    }));
    const body = Buffer.concat([
      makeCommands([{ to: commit.id, name: 'refs/heads/main/below' }, ...others]),
      makePack([]),
    ]);
    const { text } = await push(hosted, body);
    assert.match(text, /ng refs\/heads\/main\/below The branch or tag cannot be written/);
    assert.equal(text.match(/ok refs\/heads\/other-/g)?.length, 63);
    // The first push, and the halves of this one that could be moved: 32, 16, 8, 4, 2 and 1 branches.
    const events = await server.database.query(
      `select from event where project_id = $1 and name = 'repository-pushed'`,
      [hosted.project.projectId],
    );
    assert.equal(events.length, 1 + 6);
  });
});

describe('a client', () => {
  test('that leaves in the middle of its pack leaves nothing', async () => {
    const hosted = await makeHostedProject(server, base);
    const { port } = new URL(base);
    const body = Buffer.concat([
      makeCommands([{ to: commit.id, name: 'refs/heads/main' }]),
      makePack(good).subarray(0, 60),
    ]);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      `POST /git/${hosted.project.projectId}.git/git-receive-pack HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n` +
        `Authorization: Bearer ${await hosted.account.admin.token()}\r\nContent-Type: application/x-git-receive-pack-request\r\n\r\n`,
    );
    socket.write(`${body.length.toString(16)}\r\n`);
    socket.write(body);
    const objects = join(hosted.folder, 'objects');
    const listIncoming = async () =>
      (await readdir(objects).catch(() => [])).filter((name) => name.startsWith('incoming-'));
    await waitUntil('the quarantine', 120, async () => (await listIncoming()).length === 1);
    socket.destroy();
    await waitUntil('its removal', 120, async () => (await listIncoming()).length === 0);
    await requireNothing(hosted);
  });

  test('that pushes at the same time as another one to one branch: one wins', async () => {
    const hosted = await makeHostedProject(server, base);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => {
        const own = makeCommitObject(tree.id, `x-push ${index}\n`);
        return pushMain(hosted, [blob, tree, own]);
      }),
    );
    const won = answers.filter(({ text }) => /ok refs\/heads\/main/.test(text));
    assert.equal(won.length, 1, answers.map(({ text }) => text).join('\n'));
    for (const { text } of answers)
      assert.match(text, /ok refs\/heads\/main|changed meanwhile|does not exist/);
    const fsck = await git.run(['fsck', '--full'], { cwd: hosted.folder });
    assert.equal(fsck.code, 0, fsck.text);
  });
});
