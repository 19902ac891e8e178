import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { type ParentMessage, restartExitCode } from '@headgate/contract';
import type { Secret } from '../../kernel/security/sealed.ts';
import type { ProcessLog } from '../host/process-log.ts';
import type { ProcessUser } from '../host/process-users.ts';

/** The agent lets its running steps finish within its own, shorter limit. */
const STOP_MS = 20_000;
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 10_000;
/** An agent that ran for this long is restarted without a growing delay. */
const STEADY_MS = 60_000;

export interface LocalAgentOptions {
  node: string;
  entry: string;
  /** The whole environment of the agent: it inherits nothing from this process. */
  env: Record<string, string>;
  /** Passed on standard input: pipelines that run as the same user could read an environment. */
  secret: Secret;
  user?: ProcessUser | undefined;
  cwd: string;
  log: ProcessLog;
}

export interface LocalAgent {
  /** The pid of the running agent; undefined between two. */
  readonly pid: number | undefined;
  /** Gives the secret to the running agent and to later ones. */
  giveSecret(secret: Secret): void;
  /** Stops the agent by closing its standard input, and by force after a time limit. */
  stop(): Promise<void>;
}

/**
 * Keeps one agent process running. The agent ends when its standard input closes, so it never outlives this
 * process.
 */
export function startLocalAgent(options: LocalAgentOptions): LocalAgent {
  const stopping = new AbortController();
  let child: ChildProcess | undefined;
  let { secret } = options;

  async function keepRunning(): Promise<void> {
    let wait = FIRST_RETRY_MS;
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      child = spawnAgent({ ...options, secret });
      const how = await waitForEnd(child);
      child = undefined;
      if (stopping.signal.aborted) return;
      if (how.code === restartExitCode) {
        options.log.info({}, 'restarting the local agent as requested');
        continue;
      }
      if (performance.now() - startedAt > STEADY_MS) wait = FIRST_RETRY_MS;
      options.log.error({ ...how, startsAgainInMs: wait }, 'the local agent ended unexpectedly');
      await delay(wait, undefined, { signal: stopping.signal }).catch(() => {});
      wait = Math.min(wait * 2, LAST_RETRY_MS);
    }
  }
  const running = keepRunning();

  return {
    get pid() {
      return child?.pid;
    },
    giveSecret(newer) {
      secret = newer;
      if (child !== undefined) sendSecret(child, newer);
    },
    async stop() {
      stopping.abort();
      const last = child;
      last?.stdin?.end();
      const force = setTimeout(() => {
        options.log.warn({ pid: last?.pid }, 'the local agent did not stop in time; killing it');
        last?.kill('SIGKILL');
      }, STOP_MS);
      await running;
      clearTimeout(force);
    },
  };
}

function spawnAgent({ node, entry, env, secret, user, cwd, log }: LocalAgentOptions): ChildProcess {
  const child = spawn(node, [entry], {
    cwd,
    // A separate process group: Ctrl-C reaches only the server, which stops the agent in order.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...env, HEADGATE_AGENT_END_WITH_STDIN: 'yes' },
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
  });
  child.stdin.on('error', () => {});
  sendSecret(child, secret);
  for (const output of [child.stdout, child.stderr]) {
    createInterface({ input: output }).on('line', (line) => logLine(line, log));
  }
  log.info({ pid: child.pid, user: user?.name }, 'local agent started');
  return child;
}

function sendSecret(child: ChildProcess, secret: Secret): void {
  const message: ParentMessage = { clientSecret: secret.reveal() };
  child.stdin?.write(`${JSON.stringify(message)}\n`);
}

function waitForEnd(child: ChildProcess): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ error: error.message }));
    child.on('exit', (code, signal) => resolve({ code, signal }));
  });
}

/** Logs a line of the agent's log, or other output such as an uncaught error. */
function logLine(line: string, log: ProcessLog): void {
  const entry = parseEntry(line);
  const { level, msg, message, time: _time, pid: _pid, hostname: _host, ...fields } = entry;
  const text = String(msg ?? message ?? '');
  if (level === 'error' || level === 'fatal' || Number(level) >= 50)
    log.error({ ...fields, part: 'agent' }, text);
  else if (level === 'warn' || Number(level) >= 40) log.warn({ ...fields, part: 'agent' }, text);
  else log.info({ ...fields, part: 'agent' }, text);
}

function parseEntry(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Not a log entry.
  }
  return { level: 'warn', msg: line };
}
