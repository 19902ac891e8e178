/**
 * What statements leave in a session: temporary tables, variables, the current schema. Concurrent iterations share
 * it, so that one could read the table of another and the run would still end in SUCCESS. A statement that needs
 * what another iteration left fails instead.
 */

import { countName, createWordReader, type WordReader } from './session-names.ts';

/** The concurrent iterations around a component, from the outermost. The components of one have the same objects. */
export type IterationPath = readonly object[];

export interface SessionState {
  /**
   * To be called before each statement, in the order in which they run.
   *
   * @throws Error that names what the statement needs, if a concurrent iteration that is not around it made it
   */
  pass(sql: string, path: IterationPath): void;
}

interface LeftBehind {
  readonly what: string;
  /** With the same text, a setting means the same for all iterations. */
  readonly text: string;
  readonly path: IterationPath;
  /** Several iterations left it, so that what is in it depends on their order. */
  readonly isContested: boolean;
}

/** The key of the current schema, which every statement needs. */
const currentSchema = '';

export function createSessionState(): SessionState {
  const retained = new Map<string, LeftBehind>();
  return {
    pass(sql, path) {
      const made = findMade(sql);
      for (const [key, left] of retained)
        if (needs(sql, key, made?.key) && isForeign(left, path)) throw new Error(describe(left));
      if (made === undefined || (path.length === 0 && retained.size === 0)) return;
      const { key, what } = made;
      const before = retained.get(key);
      const isContested = before !== undefined && !isAround(before.path, path) && !isSame(before, sql);
      retained.set(key, { what, text: sql, path, isContested });
    },
  };
}

interface Made {
  readonly key: string;
  readonly what: string;
}

function findMade(sql: string): Made | undefined {
  const words = createWordReader(sql);
  if (words.skip('use')) return newSchema;
  if (words.skip('set')) {
    if (words.skip('variable')) return readMade(words, (name) => `the variable ${name} was set by`);
    words.skip('session', 'local', 'global');
    return words.skip('schema', 'search_path') ? newSchema : undefined;
  }
  if (!words.skip('create') || (words.skip('or') && !words.skip('replace'))) return undefined;
  if (!words.skip('temp', 'temporary')) return undefined;
  if (!words.skip('table', 'view', 'sequence', 'macro', 'function')) return undefined;
  // The iterations mean to share it.
  if (words.skip('if') && words.skip('not') && words.skip('exists')) return undefined;
  return readMade(words, (name) => `the temporary table ${name} is of`);
}

function readMade(words: WordReader, describeMade: (name: string) => string): Made | undefined {
  const name = words.readName();
  return name === undefined ? undefined : { key: name.last, what: describeMade(name.written) };
}

const newSchema: Made = { key: currentSchema, what: 'the current schema was set by' };

/** @param made the key of what the statement makes itself: it needs the old one only if it names it once more */
function needs(sql: string, key: string, made: string | undefined): boolean {
  if (key === currentSchema) return made !== currentSchema;
  return countName(sql, key) > (made === key ? 1 : 0);
}

const isSame = ({ what, text }: LeftBehind, sql: string) => !what.includes('temporary') && text === sql;

/** Whether the iterations of `outer` are also around `inner`. */
const isAround = (outer: IterationPath, inner: IterationPath) =>
  outer.every((iteration, index) => inner[index] === iteration);

/** Around all iterations, what one of them left can be used if no other one left it too. */
function isForeign(left: LeftBehind, path: IterationPath): boolean {
  if (isAround(left.path, path)) return false;
  return left.isContested || !isAround(path, left.path);
}

function describe({ what }: LeftBehind): string {
  return `${what} another iteration, and concurrent iterations share it: use it in the script that makes it, or set the concurrency of the iterator to Sequential`;
}
