/** The confinement by the operating system, without any check of SQL or expressions. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createLog } from '../log.ts';
import { startChild } from './child-process.ts';
import { type Confinement, openConfinement } from './confinement.ts';
import { type NetworkProbe, openNetworkProbe } from './network-probe.ts';
import { createSocketFilterLauncher } from './socket-filter.ts';

const duckdb = import.meta.resolve('@duckdb/node-api');

describe('the confinement of processes', () => {
  const lines: string[] = [];
  let confinement: Confinement;
  let probe: NetworkProbe;
  before(async () => {
    confinement = await openConfinement(createLog({ level: 'info', write: (line) => lines.push(line) }));
    probe = await openNetworkProbe();
  });
  after(async () => {
    probe.close();
    await confinement.close();
  });

  /** Runs a module in the detected confinement, or in none. @returns its output */
  async function run(launcher: readonly string[], source: string): Promise<string> {
    const [command = '', ...start] = [...launcher, process.execPath];
    const child: ChildProcess = spawn(command, [...start, '--input-type=module', '-e', source], {
      env: { HOME: tmpdir() },
    });
    let printed = '';
    child.stdout?.on('data', (text) => (printed += text));
    child.stderr?.on('data', (text) => (printed += text));
    await once(child, 'close');
    return printed;
  }

  it('is detected at the start and logged', () => {
    const said = lines.map((line) => JSON.parse(line));
    const expected =
      confinement.launcher.length > 0
        ? { level: 'info', message: 'runs and warehouses have no network' }
        : { level: 'warn', message: /does not keep runs and warehouses from the network/ };
    assert.deepEqual([said[0]?.message, said[0]?.by], ['runs and warehouses have a memory limit', 'watch']);
    assert.equal(said[1]?.level, expected.level);
    assert.match(said[1]?.message, new RegExp(expected.message));
    const isLimited = confinement.limitFolders({ readable: [], writable: [] }).length > 0;
    const folders = isLimited ? /have only their own folders/ : /does not keep runs and warehouses to their/;
    assert.match(said[2]?.message, folders);
  });

  it('is verified: the probe detects traffic and a missing launcher', async () => {
    assert.match((await probe.fault([])) ?? '', /tcp, udp.* got through/);
    assert.match((await probe.fault(['/nonexistent/launcher'])) ?? '', /ENOENT/);
    assert.match((await probe.fault(['/bin/false'])) ?? '', /ended with code 1/);
    assert.match((await probe.fault(['/usr/bin/env'])) ?? '', /tcp, udp/);
  });

  it('blocks TCP, UDP and DNS', async (t) => {
    if (confinement.launcher.length === 0) return t.skip('nothing holds on this machine');
    assert.equal(await probe.fault(confinement.launcher), undefined);
  });

  it('blocks DuckDB without any check of its SQL', async (t) => {
    if (confinement.launcher.length === 0) return t.skip('nothing holds on this machine');
    const requests: string[] = [];
    const server = createServer((request, response) => {
      requests.push(request.url ?? '');
      response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const folder = mkdtempSync(join(tmpdir(), 'headgate-confinement-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const source = `
      import { DuckDBInstance } from ${JSON.stringify(duckdb)};
      const instance = await DuckDBInstance.create(':memory:', { extension_directory: ${JSON.stringify(folder)} });
      const connection = await instance.connect();
      for (const sql of ["INSTALL '${address}/a'", "EXPLAIN ANALYZE INSTALL '${address}/b'"])
        await connection.run(sql).then(() => console.log('installed'), (error) => console.log(error.message));
    `;
    assert.match(await run([], source), /HTTP Error/);
    assert.deepEqual(requests.splice(0), ['/a', '/b'], 'without it both get through');
    assert.match(await run(confinement.launcher, source), /Error/);
    assert.deepEqual(requests, []);
  });

  it('by the socket filter also blocks unix sockets', async (t) => {
    const launcher = createSocketFilterLauncher();
    if (!launcher || (await probe.fault(launcher)) !== undefined) return t.skip('no perl or no seccomp here');
    const folder = mkdtempSync(join(tmpdir(), 'headgate-confinement-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'socket');
    const server = createSocketServer((socket) => socket.destroy()).listen(path);
    t.after(() => server.close());
    await once(server, 'listening');
    const source = `
      import { connect } from 'node:net';
      connect(${JSON.stringify(path)}).on('connect', () => console.log('connected')).on('error', (error) => console.log(error.code));
    `;
    assert.match(await run([], source), /connected/);
    assert.match(await run(launcher, source), /EACCES/);
  });

  it('keeps DuckDB to its folders without any check of its SQL', async (t) => {
    const root = mkdtempSync(join(tmpdir(), 'headgate-confinement-'));
    t.after(() => rmSync(root, { recursive: true }));
    const [files, artifacts, other] = ['files', 'artifacts', 'other'].map((name) => join(root, name));
    for (const folder of [files, artifacts, other] as string[]) {
      mkdirSync(folder);
      writeFileSync(join(folder, 'x.csv'), 'a');
    }
    const launcher = confinement.limitFolders({ readable: [`${artifacts}`], writable: [`${files}`] });
    if (launcher.length === 0) return t.skip('no Landlock or no perl here');
    const tries = [
      `copy (select 1) to '${files}/y.csv'`,
      `from read_text('${artifacts}/x.csv')`,
      `copy (select 1) to '${artifacts}/y.csv'`,
      `copy (select 1) to '${artifacts}/x.csv' (use_tmp_file false)`,
      `from read_text('${other}/x.csv')`,
      `copy (select 1) to '${other}/y.csv'`,
      `attach '${other}/y.duckdb'`,
      `from read_text('/proc/${process.pid}/environ')`,
      `from read_text('/proc/self/root/etc/passwd')`,
      `from read_text('/etc/passwd')`,
    ];
    const source = `
      import { DuckDBInstance } from ${JSON.stringify(duckdb)};
      const connection = await (await DuckDBInstance.create(':memory:')).connect();
      for (const sql of ${JSON.stringify(tries)})
        await connection.run(sql).then(() => console.log('done'), ({ message }) => console.log(message.split(':')[0]));
    `;
    const whole = [...confinement.launcher, ...launcher];
    const said = (await run(whole, source)).trim().split('\n');
    assert.deepEqual(said, ['done', 'done', ...tries.slice(2).map(() => 'IO Error')]);
    assert.deepEqual(
      [readdirSync(artifacts as string), readdirSync(other as string)],
      [['x.csv'], ['x.csv']],
    );
  });

  it('keeps the process id, the exit code and the group; the kernel ends the process first', async () => {
    const child = startChild(new URL('./probe-process.ts', import.meta.url), {
      launcher: confinement.launcher,
      execArgv: [],
    });
    const { pid } = child.process;
    assert.equal(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim(), '1000');
    child.process.send({ tcp: 1, udp: 1 });
    await once(child.process, 'message');
    // The channel is the process's own, so no other process stands between the agent and it.
    const group = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[2];
    assert.equal(group, String(pid));
    assert.deepEqual(await once(child.process, 'exit'), [0, null]);
    assert.throws(() => process.kill(-(pid as number), 0), /ESRCH/);
  });

  it('kills a process that exceeds its limit', async () => {
    const child = startChild(new URL('./growing-fixture.ts', import.meta.url), {
      launcher: confinement.launcher,
      execArgv: [],
    });
    const memory = confinement.memory.watch(child.process.pid, 200);
    let largest = 0;
    child.process.on('message', (megabytes: number) => (largest = megabytes));
    assert.deepEqual(await once(child.process, 'exit'), [null, 'SIGKILL']);
    assert.equal(memory.exceeded, true);
    // Without a limit it grows for ever. How far it gets depends on the load of the machine.
    assert.ok(largest < 2_000, `${largest} MB`);
    memory.end();
  });

  it('counts and kills descendants, even in another process group', async () => {
    const child = startChild(new URL('./growing-child-fixture.ts', import.meta.url), {
      launcher: confinement.launcher,
      execArgv: [],
    });
    const memory = confinement.memory.watch(child.process.pid, 250);
    let grandchild = 0;
    child.process.on('message', (pid: number) => (grandchild = pid));
    assert.deepEqual(await once(child.process, 'exit'), [null, 'SIGKILL']);
    assert.equal(memory.exceeded, true);
    assert.ok(grandchild > 0);
    const isGone = () => {
      try {
        return readFileSync(`/proc/${grandchild}/stat`, 'latin1').includes(') Z ');
      } catch {
        return true;
      }
    };
    while (!isGone()) await delay(10);
    memory.end();
  });
});
