/**
 * What statements leave in a session: temporary tables, variables, the current schema. Concurrent iterations share
 * it, so that one could read the table of another and the run would still end in SUCCESS. A statement that needs
 * what another iteration left fails instead.
 */

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

interface Left {
  readonly what: string;
  /** With the same text, a setting means the same for all iterations. */
  readonly text: string;
  readonly path: IterationPath;
  /** Several iterations left it, so that what is in it depends on their order. */
  readonly isContested: boolean;
}

const name = '((?:"(?:[^"]|"")*"|[^\\s"\'(),;.=]+)(?:\\s*\\.\\s*(?:"(?:[^"]|"")*"|[^\\s"\'(),;.=]+))*)';
const lead = '^(?:\\s|--[^\\n]*\\n|/\\*.*?\\*/)*';
/** With IF NOT EXISTS the iterations mean to share it. */
const temporary = new RegExp(
  `${lead}create\\s+(?:or\\s+replace\\s+)?(?:temp|temporary)\\s+(?:table|view|sequence|macro|function)\\s+(?!if\\s+not\\s+exists\\b)${name}`,
  'is',
);
const variable = new RegExp(`${lead}set\\s+variable\\s+${name}`, 'is');
const place = new RegExp(
  `${lead}(?:use\\b|set\\s+(?:session\\s+|local\\s+|global\\s+)?(?:schema|search_path)\\b)`,
  'is',
);
/** The key of the current schema, which every statement needs. */
const currentSchema = '';

export function createSessionState(): SessionState {
  const kept = new Map<string, Left>();
  return {
    pass(sql, path) {
      const made = findMade(sql);
      for (const [key, left] of kept)
        if (needs(sql, key, made?.key) && isForeign(left, path)) throw new Error(describe(left));
      if (made === undefined || (path.length === 0 && kept.size === 0)) return;
      const { key, what } = made;
      const before = kept.get(key);
      const isContested = before !== undefined && !isAround(before.path, path) && !isSame(before, sql);
      kept.set(key, { what, text: sql, path, isContested });
    },
  };
}

function findMade(sql: string): { key: string; what: string } | undefined {
  if (place.test(sql)) return { key: currentSchema, what: 'the current schema was set by' };
  const table = temporary.exec(sql)?.[1];
  if (table !== undefined) return { key: readLast(table), what: `the temporary table ${table} is of` };
  const set = variable.exec(sql)?.[1];
  return set === undefined ? undefined : { key: readLast(set), what: `the variable ${set} was set by` };
}

/** The last part of a qualified name, without quotes. */
function readLast(qualified: string): string {
  const last = qualified.split(/\s*\.\s*(?=(?:[^"]*"[^"]*")*[^"]*$)/).at(-1) ?? qualified;
  return last.replaceAll('"', '').toLowerCase();
}

/** @param made the key of what the statement makes itself: it needs the old one only if it names it once more */
function needs(sql: string, key: string, made: string | undefined): boolean {
  if (key === currentSchema) return made !== currentSchema;
  const word = new RegExp(
    `(?<![\\p{L}\\p{N}_$])${key.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')}(?![\\p{L}\\p{N}_$])`,
    'giu',
  );
  return (sql.match(word)?.length ?? 0) > (made === key ? 1 : 0);
}

const isSame = ({ what, text }: Left, sql: string) => !what.includes('temporary') && text === sql;

/** Whether the iterations of `outer` are also around `inner`. */
const isAround = (outer: IterationPath, inner: IterationPath) =>
  outer.every((iteration, index) => inner[index] === iteration);

/** Around all iterations, what one of them left can be used if no other one left it too. */
function isForeign(left: Left, path: IterationPath): boolean {
  if (isAround(left.path, path)) return false;
  return left.isContested || !isAround(path, left.path);
}

function describe({ what }: Left): string {
  return `${what} another iteration, and concurrent iterations share it: use it in the script that makes it, or set the concurrency of the iterator to Sequential`;
}
