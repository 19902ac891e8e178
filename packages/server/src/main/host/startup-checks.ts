/** Checks what would make the start fail halfway, before PostgreSQL starts and before any migration. */
import { spawn } from 'node:child_process';
import { accessSync, constants, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import type { Config } from '../config.ts';
import { chooseLogFile } from './log-output.ts';
import { makeDataDirectory } from './places.ts';

/** An error with a one-line message that names the setting to change. It is shown without a stack. */
export class StartError extends Error {
  override name = 'StartError';
}

const answerMilliseconds = 5_000;

/** @throws StartError if the command line has arguments, which would have no effect */
export function checkArguments([argument]: readonly string[]): void {
  if (argument !== undefined)
    throw new StartError(
      `npm start takes no arguments, and got ${JSON.stringify(argument)}. Settings are environment variables, as in HEADGATE_PORT=8081 npm start: docs/configuration.md`,
    );
}

/**
 * Checks that the data directory and the log file are writable and that their file systems respond.
 * @throws StartError
 */
export async function checkFiles(config: Config): Promise<void> {
  const { dataDirectory } = config;
  if (!(await hasEndedWithin('/bin/sh', ['-c', touchFolder, 'sh', dataDirectory], answerMilliseconds)))
    throw createUnansweredError('HEADGATE_DATA_DIR', dataDirectory);
  checkDataDirectory(dataDirectory);
  const logFile = chooseLogFile(config);
  if (logFile === undefined) return;
  if (!(await hasEndedWithin('/bin/sh', ['-c', touchFile, 'sh', logFile], answerMilliseconds)))
    throw createUnansweredError('HEADGATE_LOG_FILE', logFile);
  checkLogFile(logFile);
}

// An unreachable file system blocks every process that touches it, so a child process tries first. Then
// this process checks again, to find the reason.
const touchFolder = '[ ! -d "$1" ] || { : >"$1/.start-$$" && rm -f "$1/.start-$$"; }';
const touchFile = '[ ! -f "$1" ] || : >>"$1"';

/** Returns whether the program ends in time, with any exit code. */
export function hasEndedWithin(
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
      `HEADGATE_DATA_DIR: ${path} cannot be written (${getReason(failure)}). Give this user write permission, or set HEADGATE_DATA_DIR to another folder.`,
    );
  }
}

function checkLogFile(path: string): void {
  const remedy = 'Set HEADGATE_LOG_FILE to a file that this user can write.';
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined && !found.isFile())
      throw new StartError(`HEADGATE_LOG_FILE: ${path} is not a regular file. ${remedy}`);
    if (found !== undefined) accessSync(path, constants.W_OK);
    else accessSync(dirname(path), constants.W_OK | constants.X_OK);
  } catch (failure) {
    if (failure instanceof StartError) throw failure;
    throw new StartError(`HEADGATE_LOG_FILE: ${path} cannot be written (${getReason(failure)}). ${remedy}`);
  }
}

/** Checks that the server's address is free. @throws StartError */
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

/** Turns a failure to listen into a StartError; returns other failures unchanged. */
export function explainListen({ host, port }: Pick<Config, 'host' | 'port'>, failure: unknown): unknown {
  switch (getCode(failure)) {
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

function createUnansweredError(setting: string, path: string): StartError {
  return new StartError(
    `${setting}: the file system of ${path} did not respond within ${answerMilliseconds / 1_000} s. Check that it is mounted and reachable, or set ${setting} to another place.`,
  );
}

function getCode(failure: unknown): string {
  return failure instanceof Error && 'code' in failure ? String(failure.code) : '';
}

function getReason(failure: unknown): string {
  return getCode(failure) || String(failure);
}
