/** What a script gets: its text, its variables, and the command that runs it. */
import { readFileSync } from 'node:fs';
import type { Frame } from './sandbox.ts';
import type { ScriptJob } from './script-job.ts';

/** The kernel refuses a longer `NAME=value`. */
const variableBytesLimit = 131_000;
/** Of all variables together; the kernel allows a quarter of the stack limit, which is 8 MiB. */
const variablesBytesLimit = 1_500_000;

const bash = '/usr/bin/bash';
/** A script needs these as they are, and the loader of programs acts on the others. */
const reservedNames =
  /^(?:PATH|HOME|TMPDIR|IFS|SHELLOPTS|BASHOPTS|BASH_ENV|ENV|PS4|UID|EUID|PPID|LD_\w+|GLIBC_\w+)$/;

const settings = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/tmp',
  TMPDIR: '/tmp',
  LANG: 'C.UTF-8',
  TZ: 'UTC',
  USER: 'script',
};

/** @returns the frames, and one sentence for each thing that the script does not get */
export function createFrames(job: ScriptJob, python: string): { frames: Frame[]; notes: string[] } {
  const set = Object.entries(settings).map(([name, text]): Frame => ({ kind: 'set', name, text }));
  if (job.language === 'python')
    return {
      frames: [
        ...set,
        { kind: 'file', name: 'script.py', text: job.text },
        { kind: 'file', name: 'runtime.py', text: readRuntime() },
        {
          kind: 'file',
          name: 'request.json',
          text: JSON.stringify({ scalars: job.scalars, grids: job.grids, packages: job.packages }),
        },
        // Isolated: no settings and no modules of the working folder. Unbuffered: lines arrive when printed.
        ...[python, '-I', '-u', '-B', '-X', 'utf8', '/headgate/runtime.py'].map(asArgument),
      ],
      notes: describeUnreadableNames(job),
    };
  const { variables, notes } = listVariables(job);
  return {
    frames: [
      ...set,
      ...variables,
      { kind: 'file', name: 'script.sh', text: job.text.replaceAll('\r\n', '\n') },
      ...[bash, '/headgate/script.sh'].map(asArgument),
    ],
    notes,
  };
}

function asArgument(text: string): Frame {
  return { kind: 'argument', text };
}

/** Python scripts read them by context.getVariable. */
function describeUnreadableNames({ scalars }: ScriptJob): string[] {
  return scalars
    .filter(({ name }) => name === 'context' || name === 'session')
    .map(({ name }) => `the variable "${name}" is readable by context.getVariable("${name}") only`);
}

function listVariables({ scalars }: ScriptJob): { variables: Frame[]; notes: string[] } {
  const variables: Frame[] = [];
  const notes: string[] = [];
  let total = 0;
  for (const { name, value } of scalars) {
    const text = value === null ? '' : String(value);
    const fault = findFault(name, text, total);
    if (fault !== undefined) {
      notes.push(`the variable "${name}" is not in the script’s environment: ${fault}`);
      continue;
    }
    total += Buffer.byteLength(text) + name.length;
    variables.push({ kind: 'set', name, text });
  }
  return { variables, notes };
}

function findFault(name: string, text: string, total: number): string | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return 'its name is not one of a shell variable';
  if (reservedNames.test(name)) return 'the shell needs this name itself';
  if (text.includes('\0')) return 'its value has a NUL character';
  const bytes = Buffer.byteLength(text);
  if (bytes > variableBytesLimit)
    return `its value has ${bytes} bytes, and the limit is ${variableBytesLimit}`;
  if (total + bytes > variablesBytesLimit)
    return `the variables together would have more than ${variablesBytesLimit} bytes`;
  return undefined;
}

let runtime: string | undefined;

function readRuntime(): string {
  runtime ??= readFileSync(new URL('./script_runtime.py', import.meta.url), 'utf8');
  return runtime;
}
