// Runs test files one after the other in this process (test-groups.ts). What a file registers at its top, such
// as `after` and `beforeEach`, is for its own tests only.
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';

/** A file that takes longer to load hangs. On a starved machine the servers that it starts take minutes. */
const LOADING_MS = 600_000;

const closers: (() => Promise<void>)[] = [];
let running: string | undefined;

/** Closes what several files of a group use, after the last one. */
export function afterTestGroup(close: () => Promise<void>): void {
  if (running === undefined)
    throw new Error('This test file runs in a group: start it with `npm test -- part-of-its-path`.');
  closers.push(close);
}

/** @param paths from the working directory */
export async function runTestGroup(paths: readonly string[], loadingMs = LOADING_MS): Promise<void> {
  process.on('exit', () => {
    if (running !== undefined) console.error(`headgate: the process ended in ${running}`);
  });
  for (const path of paths) {
    running = path;
    await describe(path, () => load(path, loadingMs));
  }
  running = undefined;
  for (const close of closers.toReversed()) await close();
}

async function load(path: string, milliseconds: number): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const limit = setTimeout(
    () => reject(new Error(`${path} was not loaded in ${milliseconds / 1_000} s`)),
    milliseconds,
  );
  try {
    await Promise.race([import(pathToFileURL(path).href), late]);
  } finally {
    clearTimeout(limit);
  }
}
