/**
 * The agent as a process, against a control plane over HTTP: as an unprivileged user where the tests run as
 * root.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FakeServer, testCredential } from '../testing/fake-server.ts';
import { removeTree } from './host/folders.ts';

const entry = fileURLToPath(new URL('./main.ts', import.meta.url));
const projectId = '11111111-1111-4111-8111-111111111111';
const nobody = { uid: 65_534, gid: 65_534 };
const isRoot = process.getuid?.() === 0;
/** A clone in a folder that only root can enter cannot be run by another user. */
const unprivileged =
  isRoot &&
  spawnSync(process.execPath, ['-e', `fs.readFileSync(${JSON.stringify(entry)})`], nobody).status === 0;
const user = unprivileged ? nobody : {};
/** The compiled sources of the agent, which is started for each test. */
const compiled = mkdtempSync(join(tmpdir(), 'headgate-compiled-'));
if (unprivileged) chownSync(compiled, nobody.uid, nobody.gid);
after(() => removeTree(compiled));

/** One SQL statement per component, in order. */
function orchestration(...statements: string[]): string {
  const names = statements.map((_, index) => `Step ${index + 1}`);
  const next = (index: number) => (names[index] ? [names[index]] : []);
  const components = Object.fromEntries([
    [
      'Start',
      { type: 'start', parameters: { componentName: 'Start' }, transitions: { unconditional: next(0) } },
    ],
    ...statements.map((sqlScript, index) => [
      names[index],
      {
        type: 'sql-script',
        parameters: { componentName: names[index], sqlScript },
        transitions: { success: next(index + 1) },
      },
    ]),
  ]);
  return JSON.stringify({ type: 'orchestration', version: '1.0', pipeline: { components }, design: {} });
}

/** Part of the command line of the processes of runs. */
const runs = 'run-code-';

/** On one thread: other tests need the other processors. */
const endless =
  'with recursive n(i) as (select 1::hugeint union all select i + 1 from n) select count(*) from n';

describe('the agent', () => {
  let server: FakeServer;
  let folder: string;
  let agent: ChildProcess;
  let output = '';

  function start(environment: Record<string, string> = {}, standardOutput: 'pipe' | number = 'pipe'): void {
    output = '';
    agent = spawn(process.execPath, [entry], {
      ...user,
      cwd: '/',
      stdio: ['pipe', standardOutput, 'pipe'],
      env: {
        HEADGATE_SERVER_URL: server.url,
        HEADGATE_AGENT_CREDENTIAL_FILE: join(folder, 'credential.json'),
        HEADGATE_AGENT_DIR: join(folder, 'agent'),
        HEADGATE_AGENT_END_WITH_STDIN: 'yes',
        // Two fifths of it are for the last reports, which a busy machine delays.
        HEADGATE_AGENT_SHUTDOWN_SECONDS: '12',
        HEADGATE_AGENT_ALLOW_ROOT: isRoot && !unprivileged ? 'yes' : 'no',
        NODE_COMPILE_CACHE: compiled,
        ...environment,
      },
    });
    for (const stream of [agent.stdout, agent.stderr]) stream?.on('data', (text) => (output += text));
  }

  /** The agent's child processes, found by their command line. */
  function children(name: string): number[] {
    return readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid))
      .map(Number)
      .filter((pid) => {
        try {
          const parent = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1];
          return Number(parent) === agent.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(name);
        } catch {
          return false;
        }
      });
  }

  const gone = (pid: number) => {
    try {
      return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
    } catch {
      return true;
    }
  };

  /** Only the limit of a test bounds it. */
  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  async function open(): Promise<void> {
    server = await new FakeServer().start();
    folder = mkdtempSync(join(tmpdir(), 'headgate-agent-'));
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'credential.json'), JSON.stringify(testCredential), { mode: 0o600 });
    if (unprivileged)
      for (const path of [folder, join(folder, 'credential.json')]) chownSync(path, nobody.uid, nobody.gid);
  }

  async function close(): Promise<void> {
    if (agent.exitCode === null && agent.signalCode === null) {
      agent.stdin?.end();
      await once(agent, 'exit');
    }
    await server.stop();
    await removeTree(folder);
    assert.deepEqual(server.violations, []);
    assert.equal(output.includes(testCredential.clientSecret), false, 'the log holds the secret');
  }

  describe('during many runs', () => {
    before(async () => {
      await open();
      start();
    });
    after(close);

    it('claims an execution, runs it in its warehouse and reports each step and SUCCESS', async () => {
      const step = (name: string, type: string, parameters: object, next: string[] = []) => ({
        [name]: { type, parameters: { componentName: name, ...parameters }, transitions: { success: next } },
      });
      const components = {
        Start: {
          type: 'start',
          parameters: { componentName: 'Start' },
          transitions: { unconditional: ['Load'] },
        },
        ...step(
          'Load',
          'file-load',
          { source: 'data/towns.csv', fileType: 'CSV', header: 'Yes', targetTable: 'towns' },
          ['Keep'],
        ),
        ...step('Keep', 'sql-script', { sqlScript: 'delete from towns where people < 120000' }, ['Unload']),
        ...step('Unload', 'file-unload', {
          table: 'towns',
          target: 'out/towns.parquet',
          fileType: 'PARQUET',
        }),
      };
      const main = JSON.stringify({
        type: 'orchestration',
        version: '1.0',
        pipeline: { components },
        design: {},
      });
      const towns = 'name,people\nUlm,126000\nJena,111000\n';
      const digest = server.publish({ 'flows/main.orch.yaml': main, 'data/towns.csv': towns });
      const workId = server.enqueue({ artifactDigest: digest, pipelineName: 'flows/main' });
      assert.deepEqual(await server.outcome(workId), { status: 'SUCCESS' });
      const steps = [...server.work(workId).steps.values()].map(({ name, status, rowCount }) => [
        name,
        status,
        rowCount,
      ]);
      assert.deepEqual(steps.slice(-3), [
        ['Load', 'SUCCESS', 2],
        ['Keep', 'SUCCESS', 1],
        ['Unload', 'SUCCESS', 1],
      ]);
      const file = readFileSync(join(folder, 'agent', 'files', projectId, 'dev', 'out', 'towns.parquet'));
      assert.equal(file.subarray(0, 4).toString(), 'PAR1');
      const missing = await server.outcome(
        server.enqueue({ artifactDigest: digest, pipelineName: 'flows/none' }),
      );
      assert.equal(missing.status, 'FAILED');
      assert.match(missing.message ?? '', /flows\/none/);
    });

    it('does not let SQL write into the artifact', {
      skip: isRoot && !unprivileged && 'root writes everywhere',
    }, async () => {
      const project = join(folder, 'agent', 'artifacts', projectId);
      const digest = server.publish({ 'main.orch.yaml': orchestration('select 1') });
      const place = join(project, digest);
      const attempts = ['evil.csv', 'files/evil.csv', 'files/main.orch.yaml', '../evil.csv'].map((name) =>
        join(place, name),
      );
      const attack = server.publish({
        ...Object.fromEntries(
          attempts.map((path, index) => [
            `${index}.orch.yaml`,
            orchestration(`copy (select 1) to '${path}'`),
          ]),
        ),
      });
      assert.equal((await server.outcome(server.enqueue({ artifactDigest: digest }))).status, 'SUCCESS');
      for (const [index, path] of attempts.entries()) {
        const outcome = await server.outcome(
          server.enqueue({ artifactDigest: attack, pipelineName: String(index) }),
        );
        assert.equal(outcome.status, 'FAILED', path);
        assert.match(outcome.message ?? '', /files are written only in the files folder/, path);
      }
    });

    it('refuses an artifact with a wrong hash', async () => {
      const digest = server.publish({ 'main.orch.yaml': orchestration('select 2') });
      server.damage(digest, 'main.orch.yaml');
      const { status, message } = await server.outcome(server.enqueue({ artifactDigest: digest }));
      assert.equal(status, 'FAILED');
      assert.match(message ?? '', /"main.orch.yaml" differs from the published one/);
    });

    it('kills endless statements and expressions at the time limit, and continues to work', async () => {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of the format
      const loop = orchestration('select ${(() => { while (true) {} })()}');
      const digest = server.publish({
        'sql.orch.yaml': orchestration(endless),
        'loop.orch.yaml': loop,
        'main.orch.yaml': orchestration('select 1'),
      });
      const sql = server.enqueue({ artifactDigest: digest, pipelineName: 'sql', timeLimitSeconds: 2 });
      const expression = server.enqueue({
        artifactDigest: digest,
        pipelineName: 'loop',
        timeLimitSeconds: 20,
      });
      assert.match((await server.outcome(sql)).message ?? '', /exceeded its time limit of 2 s/);
      assert.equal((await server.outcome(expression)).status, 'FAILED');
      assert.equal((await server.outcome(server.enqueue({ artifactDigest: digest }))).status, 'SUCCESS');
    });
  });

  describe('alone', () => {
    beforeEach(open);
    afterEach(close);

    it('ends a cancelled run after its running step, and at once if the cancel is forced', async () => {
      // Takes seconds on a fast machine, so that it still runs when it is cancelled.
      const slow = 'select count(*) from range(20000) a, range(150000) b';
      const digest = server.publish({
        'main.orch.yaml': orchestration(slow, 'create table never (a int)'),
        'endless.orch.yaml': orchestration(endless),
      });
      start();
      const graceful = server.enqueue({ artifactDigest: digest });
      await server.stepRunning(graceful, 'Step 1');
      server.command(graceful, 'cancel');
      assert.equal((await server.outcome(graceful)).status, 'CANCELLED');
      const steps = [...server.work(graceful).steps.values()];
      assert.equal(steps.find(({ name }) => name === 'Step 1')?.status, 'SUCCESS');
      assert.equal(steps.find(({ name }) => name === 'Step 2')?.status, 'SKIPPED');

      const forced = server.enqueue({ artifactDigest: digest, pipelineName: 'endless' });
      await server.stepRunning(forced, 'Step 1');
      const processes = children(runs);
      server.command(forced, 'force-cancel');
      assert.equal((await server.outcome(forced)).status, 'CANCELLED');
      await until(() => processes.some(gone));
      assert.equal(processes.filter(gone).length, 1);
    });

    it('kills a run whose lease is lost', async () => {
      const digest = server.publish({ 'main.orch.yaml': orchestration(endless) });
      start();
      const workId = server.enqueue({ artifactDigest: digest });
      await server.stepRunning(workId, 'Step 1');
      const processes = children(runs);
      server.takeAway(workId);
      await until(() => processes.some(gone));
      assert.equal(processes.filter(gone).length, 1);
      assert.equal(server.work(workId).outcome, undefined);
    });

    it('reports that the process of a run died, and does the next run in another', async () => {
      const digest = server.publish({
        'main.orch.yaml': orchestration(endless),
        'ok.orch.yaml': orchestration('select 1'),
      });
      start();
      const workId = server.enqueue({ artifactDigest: digest });
      await server.stepRunning(workId, 'Step 1');
      for (const pid of children(runs)) process.kill(pid, 'SIGKILL');
      const { status, message } = await server.outcome(workId);
      assert.equal(status, 'FAILED');
      assert.match(message ?? '', /the run’s process was killed by SIGKILL/);
      const next = server.enqueue({ artifactDigest: digest, pipelineName: 'ok' });
      assert.deepEqual(await server.outcome(next), { status: 'SUCCESS' });
    });

    it('survives a restart of the server in the middle of a run', async () => {
      const digest = server.publish({
        'main.orch.yaml': orchestration(
          'select count(*) from range(20000) a, range(60000) b',
          'create table after_it (a int)',
        ),
      });
      start();
      const workId = server.enqueue({ artifactDigest: digest });
      await server.stepRunning(workId, 'Step 1');
      await server.stop();
      server.forgetTokens();
      await server.start();
      assert.deepEqual(await server.outcome(workId), { status: 'SUCCESS' });
    });

    for (const [how, end] of [
      ['its stdin is closed', () => agent.stdin?.end()],
      ['it gets SIGTERM', () => agent.kill('SIGTERM')],
    ] as const) {
      it(`shuts down cleanly when ${how}: the run is reported, no process is left, exit code 0`, async () => {
        const digest = server.publish({ 'main.orch.yaml': orchestration(endless) });
        start();
        const workId = server.enqueue({ artifactDigest: digest });
        await server.stepRunning(workId, 'Step 1');
        const processes = [...children(runs), ...children('duckdb-process.ts')];
        assert.ok(processes.length >= 2);
        end();
        const [code] = await once(agent, 'exit');
        assert.equal(code, 0);
        assert.match((await server.outcome(workId)).message ?? '', /the agent was stopped during the run/);
        assert.ok(processes.every(gone));
      });
    }

    it('leaves no process behind when it is killed with 20 runs, and the next agent replaces it', async () => {
      const digest = server.publish({
        'main.orch.yaml': orchestration(endless),
        'ok.orch.yaml': orchestration('select 1'),
      });
      start();
      const works = Array.from({ length: 20 }, () => server.enqueue({ artifactDigest: digest }));
      await Promise.all(works.map((workId) => server.stepRunning(workId, 'Step 1')));
      const processes = [...children(runs), ...children('duckdb-process.ts')];
      assert.ok(processes.length >= 21);
      agent.kill('SIGKILL');
      await once(agent, 'exit');
      start();
      // The server may still have the open claim of the killed agent and would give it the work.
      await until(() => server.hellos === 2);
      const next = server.enqueue({ artifactDigest: digest, pipelineName: 'ok' });
      assert.deepEqual(await server.outcome(next), { status: 'SUCCESS' });
      await until(() => processes.every(gone));
    });

    it('continues while its log cannot be written, and reports it on standard error', async () => {
      const digest = server.publish({ 'ok.orch.yaml': orchestration('select 1') });
      // Each write to this device fails as on a full disk.
      const full = openSync('/dev/full', 'w');
      start({}, full);
      closeSync(full);
      const workId = server.enqueue({ artifactDigest: digest, pipelineName: 'ok' });
      assert.deepEqual(await server.outcome(workId), { status: 'SUCCESS' });
      await until(() => /the log cannot be written: ENOSPC.*The agent continues/.test(output));
      assert.equal(agent.exitCode, null);
    });

    it('does not start with an invalid setting, and names it', async () => {
      start({ HEADGATE_AGENT_CONCURRENCY: 'many' });
      const [code] = await once(agent, 'exit');
      assert.equal(code, 1);
      assert.match(
        output,
        /HEADGATE_AGENT_CONCURRENCY must be a whole number from 1 to 1000; it is \\"many\\"/,
      );
    });
  });
});
