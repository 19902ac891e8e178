/**
 * When the log cannot be written, the server continues, counts the lost lines, and reports it on standard
 * error.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import { checkout, ended, hasEnded, Installation, isRoot, pidOf } from './harness/installation.ts';

const withoutAgent = { environment: { HEADGATE_LOCAL_AGENT: 'off' } };

async function lostLines(headgate: Installation): Promise<number> {
  const metrics = await (await fetch(`${headgate.url}/metrics`)).text();
  return Number(/^headgate_log_lines_lost_total (\d+)$/m.exec(metrics)?.[1]);
}

async function ask(headgate: Installation, times: number): Promise<void> {
  for (let number = 0; number < times; number++)
    assert.equal((await fetch(`${headgate.url}/livez`)).status, 200);
}

describe('standard output', () => {
  let headgate: Installation;
  let start: ChildProcess;
  before(async () => {
    headgate = await Installation.create(withoutAgent);
    headgate.set({ HEADGATE_RATE_LIMT: 'off' });
    start = await headgate.start();
  });
  after(() => headgate.remove());

  it('shows a warning about an unknown setting, and proposes the nearest one', () => {
    assert.match(
      headgate.output,
      /^HEADGATE_RATE_LIMT is not a setting; did you mean HEADGATE_RATE_LIMIT\?$/m,
    );
    assert.match(headgate.output, /"level":40.*HEADGATE_RATE_LIMT is not a setting/);
  });

  it('that its reader closed: the server continues', async () => {
    start.stdout?.destroy();
    await waitUntil('lost lines', 120, async () => {
      await ask(headgate, 5);
      return (await lostLines(headgate)) > 0;
    });
    await waitUntil('the report', 120, () =>
      /the log cannot be written to standard output: EPIPE/.test(headgate.output),
    );
    await ask(headgate, 20);
    assert.equal(hasEnded(start), false);
    assert.equal(await headgate.interrupt(start), 0);
  });

  it('that its reader does not read: the server continues, and stops on SIGTERM', async () => {
    const start = await headgate.start();
    start.stdout?.pause();
    // Three times what the pipe holds.
    await ask(headgate, 1_000);
    assert.equal(hasEnded(start), false);
    process.kill(-pidOf(start), 'SIGTERM');
    await ended(start);
    await headgate.gone();
  });
});

describe('a start', () => {
  /** The exit code and the lines on standard error of a start that is refused. */
  async function refused(headgate: Installation): Promise<{ code: number | null; lines: string[] }> {
    const child = headgate.launch();
    let errors = '';
    child.stderr?.on('data', (text: string) => {
      errors += text;
    });
    const code = await ended(child);
    assert.ok(!existsSync(join(headgate.dataDirectory, 'postgres')), 'PostgreSQL was not touched');
    assert.doesNotMatch(headgate.output, /\n? {4}at |"stack"/, 'no stack is shown');
    return { code, lines: errors.trim().split('\n') };
  }

  it('on a port in use ends before PostgreSQL starts, and names the setting', async () => {
    const headgate = await Installation.create(withoutAgent);
    const other = createServer().listen(headgate.port, '127.0.0.1');
    try {
      const { code, lines } = await refused(headgate);
      assert.equal(code, 1);
      assert.equal(lines.length, 1, lines.join('\n'));
      assert.match(
        lines[0] ?? '',
        new RegExp(`^HEADGATE_PORT: port ${headgate.port} of 127.0.0.1 is in use`),
      );
    } finally {
      other.close();
      await headgate.remove();
    }
  });

  it('with a data directory or a log file that cannot be written names the setting', async () => {
    for (const [setting, path] of [
      ['HEADGATE_DATA_DIR', '/dev/null/data'],
      ['HEADGATE_LOG_FILE', '/dev/null/log'],
    ] as const) {
      const headgate = await Installation.create(withoutAgent);
      headgate.set({ [setting]: path });
      try {
        const { code, lines } = await refused(headgate);
        assert.equal(code, 1);
        assert.equal(lines.length, 1, lines.join('\n'));
        assert.match(
          lines[0] ?? '',
          new RegExp(`^${setting}: ${path} cannot be written \\((ENOTDIR|EACCES)\\)`),
        );
      } finally {
        await headgate.remove();
      }
    }
  });

  it('as a user that may not write the data directory names the setting', {
    skip: isRoot ? false : 'needs root to become another user',
  }, async () => {
    const headgate = await Installation.create({ ...withoutAgent, user: { uid: 65_534, gid: 65_534 } });
    try {
      const { code, lines } = await refused(headgate);
      assert.equal(code, 1);
      assert.match(lines.join('\n'), /^HEADGATE_DATA_DIR: .* cannot be written \(EACCES\)/);
    } finally {
      await headgate.remove();
    }
  });
});

const script = '/usr/bin/script';

describe('Ctrl-C on a terminal', {
  skip: existsSync(script) ? false : `needs ${script}`,
}, () => {
  it('says at once that it is stopping', async () => {
    const headgate = await Installation.create(withoutAgent);
    headgate.copyCluster();
    // Without `exec` a shell may stay in between, and Ctrl-C ends it with another exit code.
    const command = `exec ${process.execPath} packages/server/src/main/server.ts`;
    const terminal: ChildProcess = spawn(script, ['-qec', command, '/dev/null'], {
      cwd: checkout,
      env: { ...headgate.environment(), SHELL: '/bin/sh' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    try {
      let shown = '';
      terminal.stdout?.setEncoding('utf8').on('data', (text: string) => {
        shown += text;
      });
      await waitUntil('ready', 120, () => shown.includes('Press Ctrl-C to stop.'));
      terminal.stdin?.write('\x03');
      await waitUntil('the word', 120, () =>
        shown.includes('Stopping … press Ctrl-C again to stop at once.'),
      );
      assert.equal(await ended(terminal), 0);
      assert.ok(existsSync(join(headgate.dataDirectory, 'server.log')), 'the log of a terminal is a file');
    } finally {
      await headgate.remove();
    }
  });
});
