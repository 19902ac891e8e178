/** Test fixture: scripts of an agent with small bounds, and a record of what they print and ask for. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryWatch } from '../confinement/memory-watch.ts';
import { createLog } from '../log.ts';
import type { ScriptEnd, ScriptJob, ScriptRequest } from './script-job.ts';
import { readRequest } from './script-message.ts';
import type { ScriptBounds, ScriptSettings } from './script-settings.ts';
import { openScripts, type Scripts } from './scripts.ts';

const bounds: ScriptBounds = {
  timeSeconds: 600,
  memoryMegabytes: 200,
  diskMegabytes: 8,
  processes: 24,
  outputKilobytes: 64,
  concurrency: 2,
};

/** Its environment may hold all places. */
export const place = {
  projectId: '00000000-0000-7000-8000-000000000002',
  environmentName: 'dev',
  share: 100,
};

export interface ScriptsFixture {
  /** The agent's folder. It has the file `key`. */
  folder: string;
  scripts: Scripts;
  /** The log of the agent. */
  logged: string[];
  run(
    text: string,
    job?: Partial<ScriptJob> & { kill?: AbortSignal; answer?: (request: ScriptRequest) => unknown },
  ): Promise<ScriptEnd & { stdout: string; stderr: string; requests: ScriptRequest[] }>;
  close(): Promise<void>;
}

let lastMark = 0;

/** Seconds of a long `sleep` that no other process has among its arguments. */
export function makeMark(): string {
  lastMark += 1;
  return `600.${process.pid}${String(lastMark).padStart(4, '0')}`;
}

/** Whether a process of this machine has the text among its arguments. */
export function isRunning(text: string): boolean {
  return readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
    } catch {
      return false;
    }
  });
}

export async function untilRunning(text: string): Promise<void> {
  while (!isRunning(text)) await new Promise((resolve) => setImmediate(resolve));
}

export const keyText = 'the key of the agent';

export function createScriptsFixture(
  change: Partial<ScriptBounds> = {},
  settings: Partial<ScriptSettings> = {},
): ScriptsFixture {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-scripts-'));
  writeFileSync(join(folder, 'key'), keyText, { mode: 0o600 });
  const memory = new MemoryWatch();
  const logged: string[] = [];
  const scripts = openScripts({
    settings: { isOn: true, bounds: { ...bounds, ...change }, python: undefined, network: [], ...settings },
    confinement: {
      launcher: [],
      limitFolders: () => [],
      memory,
      limitAllocations: () => [],
      close: async () => undefined,
    },
    hiddenFolder: folder,
    log: createLog({ level: 'info', write: (line) => logged.push(line) }),
  });
  return {
    folder,
    scripts,
    logged,
    async run(text, { kill = new AbortController().signal, answer, ...job } = {}) {
      const printed = { stdout: [] as string[], stderr: [] as string[] };
      const requests: ScriptRequest[] = [];
      const end = await scripts.run(
        {
          component: 'bash-script',
          language: 'bash',
          scalars: [],
          grids: [],
          packages: [],
          timeoutSeconds: undefined,
          text,
          ...job,
        },
        place,
        {
          onLine: (stream, line) => printed[stream].push(line),
          async answer(sent) {
            const request = readRequest(sent);
            requests.push(request);
            return JSON.stringify((await answer?.(request)) ?? null);
          },
        },
        kill,
      );
      return { ...end, stdout: printed.stdout.join('\n'), stderr: printed.stderr.join('\n'), requests };
    },
    async close() {
      await memory.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A script that works, after a hostile one. */
export async function requireWorking(scripts: ScriptsFixture): Promise<void> {
  assert.deepEqual((({ succeeded, stdout }) => ({ succeeded, stdout }))(await scripts.run('echo works')), {
    succeeded: true,
    stdout: 'works',
  });
}

/** Python that prints the error of each attempt. */
export const attempt = `
def attempt(name, work):
    try:
        print(name, "->", work())
    except BaseException as error:
        print(name, "refused:", type(error).__name__)
`;

/** Python: calls a function of the C library, and raises its error. */
export const call = `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    result = getattr(libc, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result
`;
