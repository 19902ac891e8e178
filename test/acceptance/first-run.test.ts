/** `npm start` on a new machine: what it sets up, prints and refuses, and how it stops. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import { ended, Installation, isRoot } from './harness/installation.ts';
import { endlessSql, Project, sqlScript } from './harness/project.ts';

const noCredential = { HEADGATE_CLIENT_ID: undefined, HEADGATE_CLIENT_SECRET: undefined };

/** The lines after "Try it:", which people paste. */
function linesToPaste(output: string): string[] {
  const [, rest = ''] = output.split('Try it:\n');
  return rest.split('Files:')[0]?.trim().split('\n') ?? [];
}

function credentialOf(installation: Installation): { clientId: string; clientSecret: string } {
  return JSON.parse(readFileSync(join(installation.dataDirectory, 'credential.json'), 'utf8'));
}

/** A test of the documents starts in a folder that others may enter. */
describe('npm start on an empty data directory, below a folder that is closed to others', () => {
  let headgate: Installation;
  let first: ChildProcess;
  before(async () => {
    headgate = await Installation.create({ environment: noCredential, closedFolder: true });
    first = await headgate.start('npm');
    // It responds shortly before it prints this.
    await waitUntil('the end of what it prints', 120, () => headgate.output.includes('Press Ctrl-C to stop'));
  });
  after(() => headgate.remove());

  it('prints API base, client id and places of data, but no secret, as this is no terminal', () => {
    const { clientId, clientSecret } = credentialOf(headgate);
    for (const text of [
      `${headgate.url}/dpc/v1`,
      clientId,
      join(headgate.dataDirectory, 'credential.json'),
    ]) {
      assert.ok(headgate.output.includes(text), text);
    }
    assert.ok(!headgate.output.includes(clientSecret));
  });

  it('prints three lines that work when pasted', () => {
    const lines = linesToPaste(headgate.output);
    assert.equal(lines.length, 3);
    const script = lines.join('\n');
    const answers = execFileSync('bash', ['-c', `set -eu\n${script.replaceAll('\n', '\necho\n')}`], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    });
    const [projects, executions] = answers.trim().split('\n').slice(-2);
    assert.deepEqual(JSON.parse(projects ?? ''), { page: 0, results: [], size: 25, total: 0 });
    assert.deepEqual(JSON.parse(executions ?? ''), { results: [] });
  });

  it('keeps credential and master key in files that only their owner can read', () => {
    for (const name of ['credential.json', 'master-key', 'instance-id']) {
      assert.equal(statSync(join(headgate.dataDirectory, name)).mode & 0o777, 0o600, name);
    }
  });

  it('runs PostgreSQL and the agent as two users that are not root', { skip: !isRoot }, async () => {
    const users = ['postmaster', 'agent'] as const;
    const ids = await Promise.all(
      users.map(async (kind) => statSync(`/proc/${(await headgate.process(kind)).pid}`).uid),
    );
    assert.equal(new Set([0, ...ids]).size, 3);
  });

  it('refuses a second start on the same data directory, and names the process that uses it', async () => {
    const holder = await headgate.process('server');
    const { code, output } = await headgate.command('start');
    assert.equal(code, 1);
    assert.match(output, new RegExp(`already runs on ${headgate.dataDirectory}: process ${holder.pid}\\b`));
    assert.equal(await headgate.isReady(), true);
  });

  it('`npm run credential` writes a new credential to a new file while the server runs', async () => {
    const before = credentialOf(headgate);
    const { code, output } = await headgate.run('run', 'credential');
    assert.equal(code, 0);
    assert.deepEqual(credentialOf(headgate), before);
    const [, file = ''] = /^credential +(.+)$/m.exec(output) ?? [];
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const made = JSON.parse(readFileSync(file, 'utf8'));
    assert.ok(output.includes(made.clientId) && !output.includes(made.clientSecret), output);
    assert.notEqual(made.clientId, before.clientId);
    for (const { clientId, clientSecret } of [before, made]) {
      assert.deepEqual(
        (await headgate.client(clientId, clientSecret).ask('GET', '/v1/projects')).results,
        [],
      );
    }
  });

  it('the command `account` creates a second account, which sees nothing of the first', async () => {
    const { clientId, clientSecret } = credentialOf(headgate);
    const first = headgate.client(clientId, clientSecret);
    const project = await Project.create(first);
    await project.publish({ 'main.orch.yaml': sqlScript('select 1') });
    const run = await project.run('main');
    assert.equal(run.status, 'SUCCESS', run.message);

    const { code, output } = await headgate.command('account', 'Second & other');
    assert.equal(code, 0, output);
    const [, file = ''] = /^credential +(.+)$/m.exec(output) ?? [];
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const made = JSON.parse(readFileSync(file, 'utf8'));
    assert.ok(output.includes(made.clientId) && !output.includes(made.clientSecret), output);
    const second = headgate.client(made.clientId, made.clientSecret);
    assert.equal((await second.ask('GET', '/v1/projects')).total, 0);
    assert.deepEqual((await second.ask('GET', '/v1/pipeline-executions')).results, []);
    assert.equal((await second.ask('GET', '/v1/agents')).total, 0);
    const foreign = await second.call('GET', project.path);
    const unknown = await second.call('GET', '/v1/projects/00000000-0000-4000-8000-000000000000');
    assert.deepEqual([foreign.status, foreign.body.code], [404, unknown.body.code]);
    const again = await headgate.command('account', 'Second & other');
    assert.equal(again.code, 1);
    assert.match(again.output, /Second & other/);
  });

  it('Ctrl-C during an execution leaves no process; the next start keeps data and credential', async () => {
    const credential = credentialOf(headgate);
    const client = headgate.client(credential.clientId, credential.clientSecret);
    const project = await Project.create(client);
    await project.publish({ 'slow.orch.yaml': sqlScript(endlessSql) });
    await project.stepRunning(await project.start('slow'), 'Script');
    if (isRoot) assert.match(headgate.output, /\/var\/lib\/headgate\//);
    const there = await client.ask('GET', '/v1/projects');
    assert.equal(await headgate.interrupt(first), 0);
    await headgate.gone();

    // Commands work while it is stopped.
    const made = await headgate.command('credential');
    assert.equal(made.code, 0, made.output);
    await headgate.gone();

    const second = await headgate.start('npm');
    assert.deepEqual(credentialOf(headgate), credential);
    assert.deepEqual(await client.ask('GET', '/v1/projects'), there);
    assert.equal(await headgate.interrupt(second), 0);
    await headgate.gone();
    const faults = headgate.output.split('\n').filter((line) => /"level":"?(error|fatal|50|60)/.test(line));
    // Of the start that was refused.
    assert.deepEqual(
      faults.filter((line) => !line.includes('already runs on')),
      [],
    );
  });

  it('Ctrl-C during a start stops that start', async () => {
    for (const milliseconds of [50, 300, 700, 1_100]) {
      const start = headgate.launch('npm');
      await delay(milliseconds);
      await headgate.interrupt(start);
      await headgate.gone();
    }
  });

  it('of two starts at once, one runs, and the other names it and exits', async () => {
    const both = [headgate.launch('npm'), headgate.launch('npm')];
    const refused = await Promise.race(both.map(async (child) => ({ child, code: await ended(child) })));
    assert.equal(refused.code, 1);
    const other = both.find((child) => child !== refused.child);
    assert.ok(other);
    await headgate.ready(other);
    const holder = await headgate.process('server');
    assert.match(headgate.output, new RegExp(`already runs on .*: process ${holder.pid}\\b`));
    assert.equal(await headgate.interrupt(other), 0);
  });
});

describe('an operator’s command without an installation', () => {
  it('is refused, and creates nothing', async (t) => {
    const nothing = await Installation.create({ environment: noCredential });
    t.after(() => nothing.remove());
    for (const [command, ...args] of [
      ['credential'],
      ['account', 'A'],
      ['rotate-signing-key'],
      ['backup', 'f'],
    ] as const) {
      const { code, output } = await nothing.command(command, ...args);
      assert.equal(code, 1, output);
      assert.match(output, /^\/.* has no installation; set HEADGATE_DATA_DIR to .*`npm start` first\.$/m);
      assert.equal(existsSync(nothing.dataDirectory), false, command);
    }
  });
});

describe('a bad setting', () => {
  it('stops the start; all are named, and the password of the database is not printed', async () => {
    const headgate = await Installation.create({
      environment: {
        HEADGATE_PORT: 'eighty',
        HEADGATE_RATE_LIMIT: '-1',
        HEADGATE_CLIENT_SECRET: 'too-short',
        HEADGATE_EXAMPLE: 'maybe',
        HEADGATE_MASTER_KEY: 'c2hvcnQ=',
        DATABASE_URL: 'mysql://somebody:pass-that-is-secret@127.0.0.1/db',
      },
    });
    try {
      const { code, output } = await headgate.command('start');
      assert.equal(code, 1);
      const names = ['PORT', 'RATE_LIMIT', 'CLIENT_SECRET', 'EXAMPLE', 'MASTER_KEY'];
      for (const name of [...names.map((each) => `HEADGATE_${each}`), 'DATABASE_URL']) {
        assert.match(output, new RegExp(`^${name}\\b`, 'm'), name);
      }
      for (const secret of ['pass-that-is-secret', 'too-short', 'c2hvcnQ='])
        assert.ok(!output.includes(secret));
      await headgate.gone();
    } finally {
      await headgate.remove();
    }
  });

  it('a database that cannot be reached is reported without its password', async () => {
    const headgate = await Installation.create({
      environment: { DATABASE_URL: 'postgres://somebody:pass-that-is-secret@127.0.0.1:1/db' },
    });
    try {
      const { code, output } = await headgate.command('start');
      assert.equal(code, 1);
      assert.match(output, /DATABASE_URL/);
      assert.doesNotMatch(output, /pass-that-is-secret/);
    } finally {
      await headgate.remove();
    }
  });
});

describe('an ordinary user', {
  skip: isRoot ? false : 'these tests already run as an ordinary user',
}, () => {
  const nobody = { uid: 65_534, gid: 65_534 };

  it('starts everything as itself', async () => {
    const headgate = await Installation.create({ user: nobody, environment: { HOME: '/nonexistent' } });
    try {
      execFileSync('install', ['-d', '-o', '65534', '-m', '0700', headgate.dataDirectory]);
      await headgate.start('node');
      const project = await Project.create(headgate.client());
      await project.publish({ 'main.orch.yaml': sqlScript('select 1') });
      assert.equal((await project.run('main')).status, 'SUCCESS');
      const owners = headgate.processes().map(({ pid }) => statSync(`/proc/${pid}`).uid);
      assert.deepEqual(new Set(owners), new Set([nobody.uid]));
    } finally {
      await headgate.remove();
    }
  });
});
