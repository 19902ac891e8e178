import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Problem } from '../../kernel/http/problems.ts';
import { createLog } from '../../kernel/log.ts';
import type { GitOptions } from './git-runner.ts';
import { createGit, type Git, type GitCall, type GitRepository, openGitRepository } from './index.ts';

const rootOnly = { skip: process.getuid?.() === 0 ? false : 'needs root' };
const accountId = 'an account';
const author = { name: 'Ada', email: 'ada@example.com' };
const at = new Date('2026-01-02T03:04:05Z');
let folder: string;
let git: Git;
const stopping = new AbortController();

function createTestGit(own: Partial<GitOptions> & { ofAccount?: number } = {}): Git {
  return createGit({
    folder: own.folder ?? join(folder, 'git'),
    user: own.user,
    searchPath: own.searchPath ?? process.env.PATH,
    mostBytes: 100_000_000,
    processes: { ofServer: 4, ofAccount: own.ofAccount ?? 2 },
    log: createLog('error', { write: () => undefined }),
    stopping: stopping.signal,
  });
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-git-test-'));
  git = createTestGit();
});
after(async () => {
  stopping.abort();
  await rm(folder, { recursive: true, force: true });
});

async function openNew(name: string): Promise<GitRepository> {
  const path = join(folder, `${name}.git`);
  await git.makeRepository(path);
  return openGitRepository(git, { folder: path, accountId });
}

const text = (content: string) => Buffer.from(content);

function hasCode(code: string) {
  return (failure: unknown) => failure instanceof Problem && failure.code === code;
}

describe('a bare repository', () => {
  test('gets all objects of a commit, also those that only a deleted branch has', async () => {
    const repository = await openNew('again');
    const packs = join(folder, 'again.git', 'objects', 'pack');
    const write = { message: 'files', author, at };
    const file = { path: 'large.txt', content: text('the same text') };
    const old = await repository.writeCommit({ ...write, branch: 'old', expectedHead: null, files: [file] });
    assert.ok(old !== undefined);
    await repository.updateRefs([{ name: 'refs/heads/old', from: old, to: null }]);
    const readme = { path: 'README.md', content: text('first') };
    const head = await repository.writeCommit({
      ...write,
      branch: 'main',
      expectedHead: null,
      files: [readme],
    });
    assert.ok(head !== undefined);
    const before = await readdir(packs);
    await repository.writeCommit({ ...write, branch: 'main', expectedHead: head, files: [file] });
    const added = (await readdir(packs)).filter((name) => name.endsWith('.idx') && !before.includes(name));
    assert.equal(added.length, 1);
    const args = ['verify-pack', '--verbose', join(packs, added[0] ?? '')];
    const { stdout } = await git.run(args, { folder: join(folder, 'again.git'), accountId });
    assert.deepEqual(
      [...stdout.toString('utf8').matchAll(/^[0-9a-f]{40} (\w+)/gm)].map(([, type]) => type).sort(),
      ['blob', 'commit', 'tree'],
    );
  });

  test('takes commits of several files, and is read again', async () => {
    const repository = await openNew('written');
    const first = await repository.writeCommit({
      branch: 'main',
      expectedHead: null,
      files: [
        { path: 'Load.orch.yaml', content: text('type: orchestration\n') },
        { path: 'quo"ted\\n', content: text('') },
        { path: 'folder/ünï.sql', content: text('select 1\n') },
        { path: 'run.sh', content: text('true\n'), executable: true },
      ],
      message: 'first: ✓',
      author,
      at,
    });
    assert.ok(first);
    const second = await repository.writeCommit({
      branch: 'main',
      expectedHead: first,
      files: [
        { path: 'Load.orch.yaml', content: undefined },
        { path: 'run.sh', content: text('false\n') },
        { path: 'folder/more.sql', content: text('select 2\n') },
      ],
      message: 'second',
      author,
      at: new Date(at.getTime() + 1_000),
    });
    assert.ok(second);
    const commit = await repository.readCommit(first);
    assert.equal(commit?.message, 'first: ✓\n');
    assert.deepEqual(commit?.author, { ...author, at });
    assert.deepEqual(
      (await repository.listCommits('main', { most: 10 })).map(({ commitId }) => commitId),
      [second, first],
    );
    assert.deepEqual(
      (await repository.listTree(second, { recursive: true })).map(({ path, kind, size }) => [
        path,
        kind,
        size,
      ]),
      [
        ['folder/more.sql', 'file', 9],
        ['folder/ünï.sql', 'file', 9],
        ['quo"ted\\n', 'file', 0],
        ['run.sh', 'executable', 6],
      ],
    );
    assert.deepEqual(
      (await repository.listTree(second, { recursive: false })).map(({ path, kind }) => [path, kind]),
      [
        ['folder', 'folder'],
        ['quo"ted\\n', 'file'],
        ['run.sh', 'executable'],
      ],
    );
    assert.equal((await repository.findEntry(second, 'folder'))?.kind, 'folder');
    assert.equal(await repository.findEntry(second, 'Load.orch.yaml'), undefined);
    const entry = await repository.findEntry(second, 'folder/ünï.sql');
    const contents = [];
    for await (const content of repository.readBlobs([entry?.objectId ?? ''], 100))
      contents.push(String(content));
    assert.deepEqual(contents, ['select 1\n']);
    const difference = await repository.diffCommits(first, second, 100_000);
    assert.deepEqual(
      difference.files.map(({ kind, path, additions, deletions }) => [kind, path, additions, deletions]),
      [
        ['deleted', 'Load.orch.yaml', 0, 1],
        ['added', 'folder/more.sql', 1, 0],
        ['modified', 'run.sh', 1, 1],
      ],
    );
    assert.match(difference.patch, /^diff --git a\/Load.orch.yaml/);
    assert.equal((await repository.diffCommits(first, second, 400)).isCut, true);
    assert.equal(await repository.isAncestor(first, second), true);
    assert.equal(await repository.isAncestor(second, first), false);
    assert.equal(await repository.findMergeBase(first, second), first);
    assert.equal(await repository.countCommits({ from: second, without: first, most: 100 }), 1);
  });

  test('refuses a commit on a branch that has moved', async () => {
    const repository = await openNew('moved');
    const write = { branch: 'main', files: [{ path: 'a', content: text('a') }], message: 'm', author, at };
    const head = await repository.writeCommit({ ...write, expectedHead: null });
    assert.ok(head);
    assert.equal(await repository.writeCommit({ ...write, expectedHead: null }), undefined);
    assert.equal(await repository.findCommitId('main'), head);
  });

  test('moves all refs or none', async () => {
    const repository = await openNew('refs');
    const write = { branch: 'main', files: [{ path: 'a', content: text('a') }], message: 'm', author, at };
    const head = (await repository.writeCommit({ ...write, expectedHead: null })) ?? '';
    const add = (name: string) => ({ name, from: null, to: head });
    assert.equal(await repository.updateRefs([add('refs/heads/größe'), add('refs/tags/v1')]), true);
    assert.equal(await repository.updateRefs([add('refs/heads/new'), add('refs/heads/main')]), false);
    assert.deepEqual(
      (await repository.listRefs(['refs/'])).map(({ name }) => name),
      ['refs/heads/größe', 'refs/heads/main', 'refs/tags/v1'],
    );
    await assert.rejects(repository.updateRefs([add('refs/heads/main/below')]), hasCode('ref-refused'));
    assert.equal(await repository.updateRefs([{ name: 'refs/tags/v1', from: head, to: null }]), true);
  });

  test('knows no name that is an option, an expression or not there', async () => {
    const repository = await openNew('names');
    const write = { branch: 'main', files: [{ path: 'a', content: text('a') }], message: 'm', author, at };
    await repository.writeCommit({ ...write, expectedHead: null });
    for (const name of [
      '--help',
      'main~0',
      'main^{tree}',
      ':/m',
      '@',
      'HEAD',
      'main\nmain',
      '',
      'dead',
      'a'.repeat(40),
    ])
      assert.equal(await repository.findCommitId(name), undefined, name);
  });

  test('takes no tag for a branch, whatever the name of the tag is', async () => {
    const repository = await openNew('tags');
    const write = { branch: 'main', files: [{ path: 'a', content: text('a') }], message: 'm', author, at };
    const head = (await repository.writeCommit({ ...write, expectedHead: null })) ?? '';
    const add = (name: string) => ({ name, from: null, to: head });
    await repository.updateRefs([add('refs/tags/refs/heads/release'), add('refs/heads/release/1')]);
    assert.equal(await repository.findCommitId('refs/heads/release'), undefined);
    assert.equal(await repository.findCommitId('release'), undefined);
    assert.equal(await repository.findCommitId('release/1'), head);
    assert.equal(await repository.findCommitId(head.slice(0, 8)), head);
  });

  test('is freed of the locks that a killed git has left', async () => {
    const repository = await openNew('locked');
    const write = { branch: 'main', files: [{ path: 'a', content: text('a') }], message: 'm', author, at };
    const head = (await repository.writeCommit({ ...write, expectedHead: null })) ?? '';
    await repository.updateRefs([{ name: 'refs/heads/other', from: null, to: head }]);
    const remove = { name: 'refs/heads/other', from: head, to: null };
    const packed = join(repository.folder, 'packed-refs.lock');
    await writeFile(packed, '');
    await assert.rejects(repository.updateRefs([remove]), hasCode('ref-refused'));
    const killedAt = new Date(Date.now() - 120_000);
    await utimes(packed, killedAt, killedAt);
    assert.equal(await repository.updateRefs([remove]), true);
    const lock = join(repository.folder, 'HEAD.lock');
    await writeFile(lock, '');
    await utimes(lock, killedAt, killedAt);
    await repository.writeDefaultBranch('trunk');
    assert.equal(await repository.readDefaultBranch(), 'trunk');
  });

  test('has no commits when it is empty', async () => {
    const repository = await openNew('empty');
    assert.deepEqual(await repository.listRefs(['refs/']), []);
    assert.equal(await repository.findCommitId('main'), undefined);
    assert.equal(await repository.readDefaultBranch(), 'main');
    await repository.writeDefaultBranch('trunk/one');
    assert.equal(await repository.readDefaultBranch(), 'trunk/one');
  });

  test('gets its settings back before each use', async () => {
    const repository = await openNew('changed');
    const marker = join(folder, 'marker');
    const program = join(folder, 'program.sh');
    await writeFile(program, `#!/bin/sh\ntouch ${marker}\n`);
    await chmod(program, 0o755);
    await writeFile(
      join(repository.folder, 'config'),
      `[core]\n\tfsmonitor = ${program}\n\tpager = ${program}\n[alias]\n\tlog = !${program}\n`,
    );
    await repository.listRefs(['refs/']);
    assert.doesNotMatch(await readFile(join(repository.folder, 'config'), 'utf8'), /program/);
    await assert.rejects(readFile(marker), { code: 'ENOENT' });
  });

  test('refuses a file that is too large before reading it', async () => {
    const repository = await openNew('large');
    const content = Buffer.alloc(1_000_000);
    const write = { branch: 'main', files: [{ path: 'zeros', content }], message: 'm', author, at };
    const head = (await repository.writeCommit({ ...write, expectedHead: null })) ?? '';
    const [entry] = await repository.listTree(head, { recursive: true });
    const reading = repository.readBlobs([entry?.objectId ?? ''], 999_999);
    await assert.rejects(async () => {
      for await (const each of reading) assert.fail(String(each.length));
    }, hasCode('git-answer-too-large'));
  });
});

describe('the git program', () => {
  test('has an environment of its own', async () => {
    const at = await git.makeScratch();
    const { stdout } = await git.run(['config', '--list', '--show-origin'], { folder: at.folder, accountId });
    const origins = new Set(
      stdout
        .toString()
        .trim()
        .split('\n')
        .map((line) => line.split('\t')[0]),
    );
    assert.deepEqual([...origins], ['command line:']);
    await at.remove();
  });

  test('speaks no protocol without a remote', async () => {
    const at = await git.makeScratch();
    for (const url of [
      'file:///etc',
      'http://127.0.0.1:1/a',
      'ssh://localhost/a',
      'git://localhost/a',
      'ext::true',
    ]) {
      const { code, stderr } = await git.run(['ls-remote', '--end-of-options', url], {
        folder: at.folder,
        accountId,
      });
      assert.notEqual(code, 0);
      assert.match(stderr, /not allowed/, url);
    }
    await at.remove();
  });

  test('is ended at its time limit, with its children', async () => {
    const repository = await openNew('hanging');
    const hanging = git.run(['cat-file', '--batch'], {
      folder: repository.folder,
      accountId,
      // Never ends.
      stdin: new (await import('node:stream')).Readable({ read: () => undefined }),
      timeoutMilliseconds: 200,
    });
    await assert.rejects(hanging, hasCode('git-timeout'));
  });

  test('refuses more output than asked for', async () => {
    const repository = await openNew('output');
    const call = { folder: repository.folder, accountId, mostOutputBytes: 10 };
    await assert.rejects(git.run(['help', '-a'], call), hasCode('git-answer-too-large'));
  });

  test('gives an account its share of turns only', async () => {
    const repository = await openNew('turns');
    const call = { folder: repository.folder, accountId };
    const held = [
      await git.spawn(['cat-file', '--batch'], call),
      await git.spawn(['cat-file', '--batch'], call),
    ];
    let isThird = false;
    const third = git.run(['--version'], call).then(() => {
      isThird = true;
    });
    await git.run(['--version'], { ...call, accountId: 'another' });
    assert.equal(isThird, false);
    for (const each of held) each.kill();
    await third;
  });

  test('reads no files of other users', rootOnly, async () => {
    const user = { name: 'nobody', uid: 65_534, gid: 65_534 };
    const own = await mkdtemp(join(tmpdir(), 'headgate-git-test-'));
    await chmod(own, 0o711);
    const secret = join(own, 'secret');
    await writeFile(secret, '[a]\n\tb = c\n', { mode: 0o600 });
    const confined = createTestGit({ user, folder: join(own, 'git') });
    await confined.makeFolder(join(own, 'git'));
    const at = await confined.makeScratch();
    const read = (file: string) =>
      confined.run(['config', '--file', file, '--list'], { folder: at.folder, accountId });
    const refused = await read(secret);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /Permission denied|unable to access/);
    await chmod(secret, 0o644);
    assert.equal((await read(secret)).stdout.toString(), 'a.b=c\n');
    await rm(own, { recursive: true });
  });

  test('works in the background, and at long calls, at a low priority', async () => {
    const repository = await openNew('priority');
    const call = { folder: repository.folder, accountId };
    const readPriority = async (as: Pick<GitCall, 'kind' | 'isBackground'>) => {
      // Git runs what an alias names, and so says what it has given to it.
      const args = ['-c', 'alias.priority=!nice', 'priority'];
      return Number((await git.run(args, { ...call, ...as })).stdout);
    };
    assert.equal(await readPriority({}), getPriority());
    assert.equal(await readPriority({ isBackground: true }), 19);
    assert.equal(await readPriority({ kind: 'long' }), 10, 'it packs or checks objects');
  });

  test('is missing: every call says what to install', async () => {
    const old = join(folder, 'old');
    await git.makeFolder(old);
    await writeFile(join(old, 'git'), '#!/bin/sh\necho git version 2.29.9\n');
    await chmod(join(old, 'git'), 0o755);
    const lacking = createTestGit({ searchPath: old });
    await assert.rejects(lacking.run(['--version'], { folder, accountId }), hasCode('git-missing'));
    const checked = await lacking.check();
    assert.match('fault' in checked ? checked.fault : '', /install git 2.30 or later/);
  });
});
