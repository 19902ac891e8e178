/**
 * What would stop a start halfway is looked at first: before PostgreSQL is started and before anything is
 * migrated.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import type { Config } from '../config.ts';
import { logFileOf } from './log-output.ts';
import { makeDataDirectory } from './places.ts';

/** Its message is one line that names the setting to change; no stack is shown. */
export class StartError extends Error {
  override name = 'StartError';
}

const answerMilliseconds = 5_000;

/** The data directory and the log file can be written, and their file systems answer. @throws StartError */
export async function checkFiles(config: Config): Promise<void> {
  const { dataDirectory } = config;
  if (!(await answersInTime('/bin/sh', ['-c', touchFolder, 'sh', dataDirectory], answerMilliseconds)))
    throw unanswered('HEADGATE_DATA_DIR', dataDirectory);
  checkDataDirectory(dataDirectory);
  const logFile = logFileOf(config);
  if (logFile === undefined) return;
  if (!(await answersInTime('/bin/sh', ['-c', touchFile, 'sh', logFile], answerMilliseconds)))
    throw unanswered('HEADGATE_LOG_FILE', logFile);
  checkLogFile(logFile);
}

// A file system that is away holds up any process that touches it, for ever: so a process of its own does it
// first. What it finds is looked at again by this process, which can name the reason.
const touchFolder = '[ ! -d "$1" ] || { : >"$1/.start-$$" && rm -f "$1/.start-$$"; }';
const touchFile = '[ ! -f "$1" ] || : >>"$1"';

/** Whether the program ends in time, however it ends. */
export function answersInTime(
  program: string,
  args: readonly string[],
  milliseconds: number,
): Promise<boolean> {
  const child = spawn(program, args, { stdio: 'ignore' });
  return new Promise((resolve) => {
    const late = setTimeout(() => {
      child.kill('SIGKILL');
      child.unref();
      resolve(false);
    }, milliseconds);
    const over = () => {
      clearTimeout(late);
      resolve(true);
    };
    child.once('error', over).once('exit', over);
  });
}

function checkDataDirectory(path: string): void {
  const probe = join(path, `.start-${process.pid}`);
  try {
    makeDataDirectory(path);
    writeFileSync(probe, '');
    rmSync(probe);
  } catch (failure) {
    throw new StartError(
      `HEADGATE_DATA_DIR: ${path} cannot be written (${reasonOf(failure)}). Let this user write there, or set HEADGATE_DATA_DIR to another folder.`,
    );
  }
}

function checkLogFile(path: string): void {
  const remedy = 'Set HEADGATE_LOG_FILE to a file that this user may write.';
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined && !found.isFile())
      throw new StartError(`HEADGATE_LOG_FILE: ${path} is not a regular file. ${remedy}`);
    if (found !== undefined) accessSync(path, constants.W_OK);
    else accessSync(dirname(path), constants.W_OK | constants.X_OK);
  } catch (failure) {
    if (failure instanceof StartError) throw failure;
    throw new StartError(`HEADGATE_LOG_FILE: ${path} cannot be written (${reasonOf(failure)}). ${remedy}`);
  }
}

/** The address that the server will listen on is free. @throws StartError */
export async function checkPort({ host, port }: Config): Promise<void> {
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject).listen({ host, port }, resolve);
    });
  } catch (failure) {
    throw explainListen({ host, port }, failure);
  }
  await new Promise((resolve) => probe.close(resolve));
}

/** What the operator has to change when the server cannot listen; another failure as it is. */
export function explainListen({ host, port }: Pick<Config, 'host' | 'port'>, failure: unknown): unknown {
  switch (codeOf(failure)) {
    case 'EADDRINUSE':
      return new StartError(
        `HEADGATE_PORT: port ${port} of ${host} is in use by another program. Stop that program, or set HEADGATE_PORT to a free port.`,
      );
    case 'EACCES':
      return new StartError(
        `HEADGATE_PORT: this user may not listen on port ${port}. Set HEADGATE_PORT to a port above 1023.`,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new StartError(
        `HEADGATE_HOST: ${JSON.stringify(host)} is not an address of this machine. Set HEADGATE_HOST to one that is, such as 127.0.0.1.`,
      );
    default:
      return failure;
  }
}

function unanswered(setting: string, path: string): StartError {
  return new StartError(
    `${setting}: the file system of ${path} did not answer within ${answerMilliseconds / 1_000} s. Check that it is mounted and reachable, or set ${setting} to another place.`,
  );
}

function codeOf(failure: unknown): string {
  return failure instanceof Error && 'code' in failure ? String(failure.code) : '';
}

function reasonOf(failure: unknown): string {
  return codeOf(failure) || String(failure);
}
