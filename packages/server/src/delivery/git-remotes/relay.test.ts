/** The relay between git and other hosts, against `git http-backend` on loopback. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { commitFiles, gitEnvironment, runGit, startGitHost } from '../../../testing/git-host.ts';
import { createLog, silentLog } from '../../kernel/log.ts';
import { createEgressGuard, parseEgressAllow, type Resolve } from '../../kernel/security/egress.ts';
import { Secret } from '../../kernel/security/sealed.ts';
import { createCredential } from './credential.ts';
import { createRelayThread } from './relay-thread.ts';
import type { OpenedRemote, RemoteOptions, Remotes } from './remote.ts';
import { createRemotes } from './remotes.ts';

const scratch = mkdtempSync(join(tmpdir(), 'relay-'));
const host = await startGitHost();
const closing: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closing) await close();
  await host.close();
  rmSync(scratch, { recursive: true, force: true });
});

const onLoopback: Resolve = async () => ['127.0.0.1'];

function createTestRemotes(allow = ['127.0.0.0/8'], resolve = onLoopback, trusted: string[] = []): Remotes {
  const guard = createEgressGuard(parseEgressAllow(allow), resolve);
  const remotes = createRemotes({ guard, log: silentLog, trustedAddresses: trusted });
  closing.push(() => remotes.close());
  return remotes;
}
const remotes = createTestRemotes();

const credentialFor = (url: string, token: string) =>
  createCredential('git', { url, token: new Secret(token) });

let folders = 0;
/** A new bare repository. */
function makeFolder(): string {
  folders += 1;
  const folder = join(scratch, `r${folders}`);
  runGit(scratch, ['init', '--quiet', '--bare', folder]);
  return folder;
}

interface Ran {
  code: number | null;
  errors: string;
}

function git(folder: string, args: readonly string[], remote: OpenedRemote): Promise<Ran> {
  const child = spawn('git', args, {
    cwd: folder,
    env: { ...gitEnvironment, ...remote.environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, errors })));
}

async function fetchInto(folder: string, input: Omit<RemoteOptions, 'direction'>, from = remotes) {
  const remote = await from.openRemote({ ...input, direction: 'read' });
  const ran = await git(folder, ['fetch', '--quiet', remote.url, '+refs/heads/*:refs/heads/*'], remote);
  const failure = await remote.readFailure();
  remote.close();
  return { ...ran, remote, failure };
}

test('git fetches through the relay, with the credential that only the relay has', async () => {
  const repository = host.addRepository('acme/etl.git', { readers: ['t0ken-of-ada'] });
  const commit = commitFiles(repository.folder, { files: { 'a.txt': 'hello' } });
  const folder = makeFolder();
  let counted = 0;
  const { code, errors, remote, failure } = await fetchInto(folder, {
    url: repository.cloneUrl,
    credential: credentialFor(repository.cloneUrl, 't0ken-of-ada'),
    onBytes: (bytes) => {
      counted += bytes;
    },
  });
  assert.deepEqual([code, errors, failure], [0, '', undefined]);
  assert.equal(runGit(folder, ['rev-parse', 'refs/heads/main']).trim(), commit);
  assert.ok(counted > 250, String(counted));
  assert.ok(!JSON.stringify(remote).includes('t0ken-of-ada'));
  assert.ok(host.requests.every((request) => request.headers['git-protocol'] === 'version=2'));
});

test('git pushes through a remote that is opened for writing, and not through another', async () => {
  const repository = host.addRepository('acme/push.git', { readers: ['r'], writers: ['w'] });
  const folder = makeFolder();
  const commit = commitFiles(folder, { files: { 'big.bin': Buffer.alloc(3_000_000, 'abcdefg') } });
  const push = async (direction: 'read' | 'write', token: string) => {
    const credential = credentialFor(repository.cloneUrl, token);
    const remote = await remotes.openRemote({ url: repository.cloneUrl, credential, direction });
    const ran = await git(folder, ['push', '--quiet', remote.url, 'main:main'], remote);
    const failure = await remote.readFailure();
    remote.close();
    return { ...ran, failure };
  };
  assert.notEqual((await push('read', 'w')).code, 0);
  const refused = await push('write', 'r');
  assert.notEqual(refused.code, 0);
  assert.deepEqual(
    [refused.failure?.kind, refused.failure?.status, refused.failure?.text],
    ['status', 403, 'You are not allowed to push code to this project.'],
  );
  assert.equal((await push('write', 'w')).code, 0);
  assert.equal(repository.git('rev-parse', 'main').trim(), commit);
});

test('a token, its encodings and control characters are removed from what a host writes', async () => {
  const repository = host.addRepository('acme/talks.git');
  const token = 'glpat-öcret+1/2';
  const shown = Buffer.from(`headgate:${token}`).toString('base64');
  repository.behaviour = {
    answer: {
      status: 401,
      body: `<html><style>p{}</style><p>no \u001b[31m${token} ${shown} ${encodeURIComponent(token)} https://a:b@c/</p>`,
    },
  };
  const { failure } = await fetchInto(makeFolder(), {
    url: repository.cloneUrl,
    credential: credentialFor(repository.cloneUrl, token),
  });
  assert.equal(failure?.text, 'no [31m[credential] [credential] [credential] https://c/');
  assert.match(failure?.reason ?? '', /rejects the token \(401\)/);
});

test('a credential is not sent to another scheme, host or port', async () => {
  const other = await startGitHost();
  closing.push(() => other.close());
  const repository = other.addRepository('acme/etl.git');
  const credential = credentialFor(host.url, 'made for another port');
  const url = `http://git.example:${other.port}/acme/etl.git`;
  const inputs = [
    { url: repository.cloneUrl, credential },
    { url, credential: { ...credential, origin: repository.cloneUrl } },
  ];
  for (const each of inputs) assert.equal((await fetchInto(makeFolder(), each)).code, 0);
  await (
    await remotes.fetch(`${other.url}/x`, { mostBytes: 10_000, timeoutMilliseconds: 120_000, credential })
  ).body.toArray();
  assert.ok(other.requests.length >= 4);
  assert.ok(other.requests.every(({ authorization }) => authorization === undefined));
});

test('a redirect is not followed, and its target gets nothing', async () => {
  const target = host.addRepository('acme/moved.git');
  commitFiles(target.folder, { files: { a: 'b' } });
  const repository = host.addRepository('acme/old.git');
  repository.behaviour = { redirectTo: `http://ada:pw@127.0.0.1:${host.port}/acme/moved.git` };
  const before = host.requests.length;
  const { code, errors, failure } = await fetchInto(makeFolder(), { url: repository.cloneUrl });
  assert.notEqual(code, 0);
  assert.equal(failure?.kind, 'redirect');
  assert.match(
    failure?.reason ?? '',
    /redirects to http:\/\/127\.0\.0\.1:\d+\/acme\/moved\.git\. Redirects are not/,
  );
  assert.equal(host.requests.length, before + 1);
  assert.ok(!errors.includes('ada:pw'));
});

test('the address is checked at each use, and the connection goes to the checked address', async () => {
  const repository = host.addRepository('acme/pinned.git');
  commitFiles(repository.folder, { files: { a: 'b' } });
  const url = `http://git.example:${host.port}/acme/pinned.git`;
  let lookups = 0;
  const rebinding: Resolve = async () => (++lookups <= 3 ? ['127.0.0.1'] : ['10.0.0.1']);
  const rebound = createTestRemotes(['127.0.0.0/8'], rebinding);
  assert.equal((await fetchInto(makeFolder(), { url }, rebound)).code, 0);
  const { failure } = await fetchInto(makeFolder(), { url }, rebound);
  assert.equal(failure?.kind, 'address-refused');
  assert.match(failure?.reason ?? '', /git\.example leads to an address in a private range/);

  // A name that moves in the middle of a clone: the second request is checked too.
  let answers = 0;
  const moving: Resolve = async () => [++answers === 1 ? '127.0.0.1' : '127.0.0.2'];
  const trap = createServer((socket) => socket.destroy());
  let connections = 0;
  trap.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => trap.listen(host.port, '127.0.0.2', resolve));
  const middle = await fetchInto(makeFolder(), { url }, createTestRemotes(['127.0.0.1/32'], moving));
  await new Promise((resolve) => trap.close(resolve));
  assert.deepEqual([middle.failure?.kind, answers, connections], ['address-refused', 2, 0]);

  const strict = createTestRemotes([]);
  for (const refused of [repository.cloneUrl, 'http://[::1]/x', 'http://169.254.169.254/latest', url])
    assert.equal((await fetchInto(makeFolder(), { url: refused }, strict)).failure?.kind, 'address-refused');
  const trusting = createTestRemotes([], onLoopback, [host.url]);
  assert.equal((await fetchInto(makeFolder(), { url: repository.cloneUrl }, trusting)).code, 0);
});

test('what hosts do wrong has a reason', async () => {
  const repository = host.addRepository('acme/faults.git');
  commitFiles(repository.folder, {
    files: { a: Buffer.from(Array.from({ length: 400_000 }, () => Math.random() * 256)) },
  });
  const reasonFor = async (behaviour: typeof repository.behaviour, limits: RemoteOptions['limits'] = {}) => {
    repository.behaviour = behaviour;
    const { code, failure } = await fetchInto(makeFolder(), { url: repository.cloneUrl, limits });
    assert.notEqual(code, 0);
    return `${failure?.kind}: ${failure?.reason}`;
  };
  for (const [behaviour, reason, limits] of [
    [
      { isHidden: true },
      /^status: .* has no such repository, or hides it from callers without a token \(404\)/,
    ],
    [{ answer: { status: 429, headers: { 'retry-after': '30' } } }, /^status: .*\(429\). Try again in 30 s/],
    [{ answer: { status: 503, body: 'down' } }, /^status: .* failed \(503\)/],
    [{ answer: { status: 200, headers: { 'content-type': 'text/html' } } }, /^not-git: .* smart HTTP/],
    [{ answer: { status: 302 } }, /^redirect: .* an invalid address/],
    [{ hangs: true }, /^timeout: .* sent and took nothing for 0.3 s/, { idleMilliseconds: 300 }],
    [{ cutAfterBytes: 100_000 }, /^cut: .* before its answer was complete/],
    [{ chunkMilliseconds: 200 }, /^timeout: .* was not done within 0.4 s/, { totalMilliseconds: 400 }],
    [{}, /^too-large: .* sent more than 0 MiB/, { mostBytesReceived: 50_000 }],
  ] as const)
    assert.match(await reasonFor(behaviour, limits), reason);
  const gone = await startGitHost();
  await gone.close();
  const { failure } = await fetchInto(makeFolder(), { url: `${gone.url}/x.git` });
  assert.match(
    `${failure?.kind}: ${failure?.reason}`,
    /^unreachable: 127\.0\.0\.1:\d+: The connection was refused/,
  );
});

test('the relay passes nothing but the three requests of Git, and only with the token of the session', async () => {
  const repository = host.addRepository('acme/narrow.git');
  const remote = await remotes.openRemote({ url: repository.cloneUrl, direction: 'read' });
  const [, token = ''] = /Bearer ([\w-]+)/.exec(remote.environment.GIT_CONFIG_PARAMETERS ?? '') ?? [];
  const before = host.requests.length;
  const ask = async (path: string, method = 'GET', authorization = `Bearer ${token}`) =>
    (await fetch(`${remote.url}${path}`, { method, headers: { authorization } })).status;
  for (const [path, method] of [
    ['info/refs'],
    ['info/refs?service=git-receive-pack'],
    ['info/refs?service=git-upload-pack&x=1'],
    ['HEAD'],
    ['objects/info/packs'],
    ['git-upload-pack'],
    ['git-receive-pack', 'POST'],
    ['../../metadata', 'GET'],
    ['%2e%2e/info/refs?service=git-upload-pack'],
  ])
    assert.equal(await ask(path ?? '', method), 403, path);
  const discovery = 'info/refs?service=git-upload-pack';
  for (const wrong of ['', 'Bearer x', `Basic ${token}`])
    assert.equal(await ask(discovery, 'GET', wrong), 403);
  assert.equal(host.requests.length, before);
  assert.equal(await ask(discovery), 200);
  remote.close();
  assert.equal(await ask(discovery), 403);
});

test('a closed session ends its requests', async () => {
  const repository = host.addRepository('acme/slow.git');
  repository.behaviour = { hangs: true };
  const remote = await remotes.openRemote({ url: repository.cloneUrl, direction: 'read' });
  const ran = git(makeFolder(), ['fetch', remote.url], remote);
  while (!host.requests.some(({ url }) => url.startsWith('/acme/slow.git'))) await new Promise(setImmediate);
  remote.close();
  assert.notEqual((await ran).code, 0);
});

test('a relay that has ended is named as the reason, and the next remote has another one', async () => {
  const repository = host.addRepository('acme/again.git');
  const ending = createTestRemotes();
  const remote = await ending.openRemote({ url: repository.cloneUrl, direction: 'read' });
  await ending.close();
  assert.notEqual((await git(makeFolder(), ['fetch', remote.url], remote)).code, 0);
  const failure = await remote.readFailure();
  assert.match(`${failure?.kind}: ${failure?.reason}`, /^unreachable: .* were interrupted\. Try again/);
  remote.close();
  assert.equal((await fetchInto(makeFolder(), { url: repository.cloneUrl }, ending)).code, 0);
});

test('a relay that cannot start is a problem, and its failure is logged', async () => {
  const lines: string[] = [];
  const log = createLog('error', { write: (line) => lines.push(line) });
  const guard = createEgressGuard(parseEgressAllow([]), onLoopback);
  // No list: the thread fails at its start.
  const broken = createRelayThread({ guard, log, trustedOrigins: 1 as never, ca: undefined });
  const opening = broken.openRemote({ url: 'https://git.example.com/a.git', direction: 'read' });
  await assert.rejects(opening, { code: 'git-failed' });
  assert.match(lines.join(''), /is not iterable/);
});

const onlyLinux = { skip: process.platform === 'linux' ? false : 'reads /proc' };

test('the thread of the relay has a lower priority than the requests', onlyLinux, async () => {
  const repository = host.addRepository('acme/priority.git');
  const remote = await remotes.openRemote({ url: repository.cloneUrl, direction: 'read' });
  const tasks = `/proc/${process.pid}/task`;
  // The fields after the name, which is in brackets; see proc_pid_stat(5).
  const readPriority = (task: string): number =>
    Number(
      readFileSync(join(tasks, task, 'stat'), 'utf8')
        .split(') ')[1]
        ?.split(' ')[16],
    );
  const priorities = readdirSync(tasks).map(readPriority);
  assert.ok(priorities.includes(Math.max(getPriority(), 10)), priorities.join());
  // By its id: a folder is listed in alphabetical order, in which task 10000 stands before process 9999.
  assert.equal(readPriority(`${process.pid}`), getPriority(), 'the thread of the requests keeps its own');
  remote.close();
});
