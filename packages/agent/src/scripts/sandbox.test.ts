/** Hostile scripts against the sandbox. Each is followed by one that works. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { after, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { MemoryWatch } from '../confinement/memory-watch.ts';
import {
  attempt,
  createScriptsFixture,
  isRunning,
  keyText,
  makeMark,
  place,
  requireWorking,
  untilRunning,
} from './script-fixture.ts';
import { findFault } from './script-probe.ts';

const fixture = createScriptsFixture();
after(() => fixture.close());

async function listen(t: TestContext, path?: string): Promise<{ port: number; count(): number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined).end('hello\n');
  });
  server.listen(path === undefined ? { port: 0, host: '127.0.0.1' } : { path });
  t.after(() => server.close());
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, count: () => connections };
}

const isAlive = (pid: string) =>
  existsSync(`/proc/${pid}/status`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));

/** Runs a command in a process group of its own. */
const apart = "perl -e 'setpgrp; exec @ARGV'";

describe('a script', () => {
  it('runs where the sandbox holds, and the agent logs it', async () => {
    await requireWorking(fixture);
    assert.match(fixture.logged.join('\n'), /scripts are confined/);
  });

  it('is tried out by a probe that notices what gets through', async (t) => {
    const memory = new MemoryWatch();
    t.after(() => memory.close());
    const confinement = { memory };
    const never = new AbortController().signal;
    const means = { confinement, hiddenFolder: fixture.folder, folders: [] };
    assert.equal(await findFault(means, never), undefined);
    const bounds = {
      timeSeconds: 120,
      memoryMegabytes: 400,
      diskMegabytes: 64,
      processes: 100,
      outputKilobytes: 64,
      concurrency: 1,
    };
    assert.equal(
      await findFault({ ...means, network: true, bounds }, never),
      'a TCP connection, a file larger than the disk, more processes than allowed, a connection got through',
    );
    assert.deepEqual(readdirSync(fixture.folder), ['key']);
    const shown = mkdtempSync('/var/tmp/headgate-shown-');
    t.after(() => rmSync(shown, { recursive: true }));
    assert.equal(await findFault({ ...means, hiddenFolder: shown, folders: ['/var/tmp'] }, never), undefined);
  });

  it('sees no file, process or setting of the agent', async () => {
    const end = await fixture.run(`
      cat '${fixture.folder}/key' /proc/${process.pid}/environ
      ls / /tmp
      ls -d /proc/[0-9]* | wc -l
      tr '\\0' '\\n' < /proc/self/environ
      cat /proc/1/environ /proc/1/mem
      cat /proc/[0-9]*/cmdline /proc/self/mountinfo | tr '\\0' ' '
      touch /usr/x /etc/x /x /headgate/script.sh
      kill -9 1
      id -u; grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status
    `);
    assert.ok(!end.stdout.includes(keyText));
    assert.ok(!end.stdout.includes(fixture.folder), end.stdout);
    assert.match(end.stderr, /key: No such file/);
    assert.match(end.stderr, new RegExp(`/proc/${process.pid}/environ: No such file`));
    assert.match(end.stderr, /\/proc\/1\/environ: Permission denied/);
    for (const path of ['/usr/x', '/etc/x', '/x', '/headgate/script.sh'])
      assert.match(end.stderr, new RegExp(`'${path}': Read-only file system`));
    assert.doesNotMatch(end.stdout.split('\n/')[0] ?? '', /home|root|var|work|opt|srv/);
    assert.doesNotMatch(end.stdout, /HEADGATE|npm_/);
    assert.match(end.stdout, /^1000$/m);
    assert.match(end.stdout, /CapEff:\s+0+$/m);
    assert.match(end.stdout, /NoNewPrivs:\s+1/);
  });

  it('calls a service by requests or boto3 where the machine has them and the network is on', async () => {
    const server = createHttpServer((request, response) => {
      response.setHeader('content-type', 'application/xml');
      response.end(
        request.url === '/plain'
          ? 'pong'
          : '<ListAllMyBucketsResult><Buckets><Bucket><Name>b1</Name></Bucket></Buckets></ListAllMyBucketsResult>',
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const allowed = createScriptsFixture({}, { network: [`${place.projectId}/dev`] });
    const calls: Readonly<Record<string, string>> = {
      requests: `import requests\nreturn requests.get("${url}/plain", timeout=60).text`,
      boto3: `import boto3\nclient = boto3.client("s3", endpoint_url="${url}", region_name="eu-north-1", aws_access_key_id="a", aws_secret_access_key="b")\nreturn client.list_buckets()["Buckets"][0]["Name"]`,
    };
    try {
      for (const [name, script] of Object.entries(calls)) {
        const { succeeded, message = '' } = await allowed.run(script, { language: 'python' });
        const missing = new RegExp(
          `^the Python module "${name}" is not installed for /\\S+ on this agent: install it on the agent’s machine by "/\\S+ -m pip install ${name}"`,
        );
        if (succeeded) assert.equal(message, name === 'requests' ? 'pong' : 'b1');
        else assert.match(message, missing);
      }
    } finally {
      await allowed.close();
      server.close();
    }
  });

  it('has no network, unless its environment is allowed to', async (t) => {
    const target = await listen(t);
    const abstract = await listen(t, `\0headgate-scripts-${process.pid}`);
    const connect = `${attempt}
import socket
attempt("tcp", lambda: socket.create_connection(("127.0.0.1", ${target.port}), 5).recv(5))
def to_unix():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect("\\0headgate-scripts-${process.pid}")
        return sock.recv(5)
attempt("unix", to_unix)
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("pair", lambda: len(socket.socketpair()))
`;
    const none = await fixture.run(connect, { language: 'python' });
    assert.equal(
      none.stdout,
      'tcp refused: OSError\nunix refused: ConnectionRefusedError\nraw refused: PermissionError\npacket refused: PermissionError\npair -> 2',
    );
    const allowed = createScriptsFixture({}, { network: [`${place.projectId}/dev`] });
    t.after(() => allowed.close());
    const some = await allowed.run(connect, { language: 'python' });
    assert.equal(
      some.stdout,
      "tcp -> b'hello'\nunix refused: PermissionError\nraw refused: PermissionError\npacket refused: PermissionError\npair -> 2",
    );
    const other = createScriptsFixture({}, { network: [`${place.projectId}/prod`] });
    t.after(() => other.close());
    assert.match((await other.run(connect, { language: 'python' })).stdout, /tcp refused/);
    assert.deepEqual([target.count(), abstract.count()], [1, 0]);
    const uncaught = await fixture.run(`import socket\nsocket.create_connection(("127.0.0.1", 9))`, {
      language: 'python',
    });
    assert.match(
      uncaught.message ?? '',
      /unreachable .*; scripts of this environment have no network: HEADGATE_AGENT_SCRIPT_NETWORK/,
    );
  });

  it('that never ends is killed after its timeout', async () => {
    const end = await fixture.run('while :; do :; done', { timeoutSeconds: 1 });
    assert.deepEqual(
      [end.succeeded, end.message],
      [
        false,
        'the script ran longer than 1 s and was killed: let it do less, or raise the timeout of the component',
      ],
    );
    await requireWorking(fixture);
  });

  it('that is given more time than the agent allows is killed after the agent’s limit', async (t) => {
    const strict = createScriptsFixture({ timeSeconds: 1 });
    t.after(() => strict.close());
    const { message } = await strict.run('sleep 30', { timeoutSeconds: 360 });
    assert.match(message ?? '', /longer than 1 s .* raise HEADGATE_AGENT_SCRIPT_TIME_LIMIT_SECONDS/);
  });

  it('that forks without end gets no more processes than allowed', async () => {
    const end = await fixture.run(
      "perl -e 'while (defined(my $child = fork)) { if (!$child) { sleep 60; exit } $count++ } print $count'",
    );
    assert.equal(end.succeeded, true);
    // Without init, the shell and perl itself.
    assert.equal(Number(end.stdout), 22);
    const start = 'import subprocess\nfor each in range(100): subprocess.Popen(["sleep", "60"])';
    const many = await fixture.run(start, { language: 'python' });
    assert.match(
      many.message ?? '',
      /BlockingIOError.*; the limit is 24 processes and threads: .*SCRIPT_PROCESSES/,
    );
    const bomb = await fixture.run('bomb() { bomb | bomb & }; bomb; while :; do sleep 1; done', {
      timeoutSeconds: 2,
    });
    assert.match(bomb.message ?? '', /longer than 2 s/);
    await requireWorking(fixture);
  });

  it('that fills its disk gets an error', async () => {
    const end = await fixture.run(
      'head -c 50000000 /dev/zero > /tmp/large; head -c 50000000 /dev/zero > /dev/shm/large; ls -l /tmp/large; i=0; while : > /tmp/$((i+=1)); do :; done 2>&1; exit 3',
    );
    assert.match(end.stderr, /No space left on device/);
    assert.equal(end.message, 'the script ended with code 3');
    await requireWorking(fixture);
  });

  it('that takes too much memory fails and names the limit, in one process or in many', async () => {
    const one = await fixture.run('x = bytearray(500_000_000)', { language: 'python' });
    assert.match(one.message ?? '', /MemoryError.*200 MB.*HEADGATE_AGENT_SCRIPT_MEMORY_MB/);
    const many = await fixture.run(
      `
import os, time
for _ in range(8):
    if os.fork() == 0:
        x = bytearray(b"x" * 60_000_000)
        time.sleep(30)
        os._exit(0)
time.sleep(30)
`,
      { language: 'python' },
    );
    assert.match(many.message ?? '', /more than 200 MB of memory and was killed/);
    await requireWorking(fixture);
  });

  it('that prints 10 MB is cut, and goes on', async () => {
    const end = await fixture.run(
      'for i in 1 2 3 4 5; do head -c 2000000 /dev/zero | tr "\\\\0" x; done; exit 4',
    );
    assert.equal(end.message, 'the script ended with code 4');
    assert.ok(end.stdout.length < 70_000, String(end.stdout.length));
    assert.match(end.stderr, /printed 9934464 characters more than 64 KiB, which were dropped/);
    await requireWorking(fixture);
  });

  it('that leaves processes behind leaves none', async () => {
    const mark = makeMark();
    const end = await fixture.run(
      `${apart} sleep ${mark} & (${apart} bash -c 'sleep ${mark} & disown; exec sleep ${mark}' &) ; nohup sleep ${mark} & sleep 0.3; echo left`,
    );
    assert.deepEqual([end.succeeded, end.stdout], [true, 'left']);
    assert.equal(isRunning(mark), false);
    await requireWorking(fixture);
  });

  it('that is killed with its run leaves none either', async () => {
    const mark = makeMark();
    const kill = new AbortController();
    const running = fixture.run(`trap '' TERM; ${apart} sleep ${mark} & sleep ${mark}`, {
      kill: kill.signal,
    });
    await untilRunning(mark);
    kill.abort();
    assert.match((await running).message ?? '', /the run was killed/);
    assert.equal(isRunning(mark), false);
    await requireWorking(fixture);
  });

  it('dies with an agent that is killed', async (t) => {
    const agent = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        fileURLToPath(new URL('./killed-agent-fixture.ts', import.meta.url)),
        `trap '' TERM HUP INT; ${apart} sleep 600 & sleep 600`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const exit = once(agent, 'close');
    const [line] = await Promise.race([
      once(agent.stdout, 'data'),
      exit.then(() => assert.fail('the agent ended by itself; standard error has its reason')),
    ]);
    const { processes, folder } = JSON.parse(String(line)) as { processes: string[]; folder: string };
    t.after(() => rmSync(folder, { recursive: true }));
    assert.ok(processes.length >= 4 && processes.every(isAlive));
    agent.kill('SIGKILL');
    await exit;
    const deadline = performance.now() + 120_000;
    while (processes.some(isAlive) && performance.now() < deadline)
      await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(processes.filter(isAlive), []);
  });

  it('that writes to the agent’s descriptor, or closes it, fails with a message', async () => {
    const forged = await fixture.run('import os\nos.write(3, b"hello\\n")\nimport time; time.sleep(30)', {
      language: 'python',
    });
    assert.match(forged.message ?? '', /wrote to descriptor 3, which belongs to the agent: "hello"/);
    const closed = await fixture.run('import os\nos.close(3)\ncontext.updateVariable("n", 1)', {
      language: 'python',
      scalars: [{ name: 'n', type: 'NUMBER', value: 0 }],
    });
    assert.equal(closed.succeeded, false);
    assert.match(closed.stderr, /the agent cannot be reached: descriptor 3 was closed/);
    const flood = await fixture.run(
      'import os\nwhile True: os.write(3, b\'{"type":"sql","sql":"x"}\\n\' * 1000)',
      { language: 'python', timeoutSeconds: 2 },
    );
    assert.match(flood.message ?? '', /longer than 2 s/);
    const endless = await fixture.run('import os\nwhile True: os.write(3, b"x" * 65536)', {
      language: 'python',
    });
    assert.match(endless.message ?? '', /more than 64 MiB in one message/);
    const shell = await fixture.run('echo x >&3; ls /proc/self/fd');
    assert.match(shell.stderr, /3: Bad file descriptor/);
    await requireWorking(fixture);
  });

  it('that sends long requests cannot fill the agent with their objects', async () => {
    const send = `import os
def send(start, body, end):
    text = memoryview((start + body + end + '\\n').encode())
    while text: text = text[os.write(3, text):]
    return os.read(3, 200).decode()
`;
    const seen: string[] = [];
    const { succeeded } = await fixture.scripts.run(
      {
        ...{ component: 'python-script', language: 'python', scalars: [], grids: [], packages: [] },
        timeoutSeconds: undefined,
        text: `${send}send('{"type":"update-grid","name":"g","rows":[', '[],' * 1000000, '[]]}')`,
      },
      place,
      { onLine: () => undefined, answer: async ({ type }) => String(seen.push(type)) },
      new AbortController().signal,
    );
    assert.deepEqual([succeeded, seen], [true, ['unread']]);
    const read = await fixture.run(
      `${send}print(send('{"type":"sql","sql":"', 'x' * 300000, '"}'), send('{"type":"x","', 'x' * 300000, '":1}'))`,
      { language: 'python' },
    );
    assert.deepEqual(
      read.requests.map((request) => request.type === 'sql' && request.sql.length),
      [300_000],
    );
    assert.match(read.stdout, /"value":null.*"error":"the script wrote to descriptor 3/s);
    await requireWorking(fixture);
  });

  it('runs as the agent’s user too, without any privilege', async (t) => {
    if (process.getuid?.() !== 0) return;
    const child = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        fileURLToPath(new URL('./plain-user-fixture.ts', import.meta.url)),
      ],
      { uid: 65_534, gid: 65_534, env: {}, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const printed: string[] = [];
    child.stdout?.on('data', (text) => printed.push(String(text)));
    const error: string[] = [];
    child.stderr?.on('data', (text) => error.push(String(text)));
    child.on('error', (fault) => error.push(fault.message));
    await once(child, 'close');
    if (printed.length === 0 && /EACCES|permission/i.test(error.join('')))
      return t.diagnostic('another user cannot read this checkout');
    const end = JSON.parse(printed.join(''));
    assert.deepEqual([end.succeeded, end.stdout], [true, '1000\ndone'], JSON.stringify(end));
  });
});
