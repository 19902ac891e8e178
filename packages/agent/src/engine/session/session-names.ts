/** The names in statements that say which of them may run at the same time. */
import { findWords } from '../../occurrences.ts';
import { readWords, type Word } from '../../warehouses/statements/sql-words.ts';

export interface WordReader {
  /** Passes the next word if it is one of these. */
  skip(...expected: string[]): boolean;
  /** Passes a name, which may be qualified. `last`: its last part in lower case. */
  readName(): { last: string; parts: readonly string[]; written: string } | undefined;
  /** Passes all up to one of these words, and returns it. */
  find(...expected: string[]): string | undefined;
}

/** Reads the words of a statement one after the other, so that a long one is not read to its end. */
export function createWordReader(sql: string): WordReader {
  const words = readWords(sql);
  let word: Word | undefined;
  const advance = () => {
    const { value } = words.next();
    word = value ?? undefined;
  };
  const isOneOf = (expected: readonly string[]) => word?.kind === 'name' && expected.includes(word.value);
  advance();
  return {
    skip(...expected) {
      if (!isOneOf(expected)) return false;
      advance();
      return true;
    },
    readName() {
      const first = word;
      let last: Word | undefined;
      const parts: string[] = [];
      for (let next = word; next?.kind === 'name' || next?.kind === 'quoted'; next = word) {
        last = next;
        parts.push(next.value);
        advance();
        if (!isPoint(word)) break;
        advance();
      }
      if (first === undefined || last === undefined) return undefined;
      return { last: last.value, parts, written: sql.slice(first.from, last.to) };
    },
    find(...expected) {
      while (word !== undefined && !isOneOf(expected)) advance();
      const found = word?.value;
      advance();
      return found;
    },
  };
}

const isPoint = (word: Word | undefined) => word?.kind === 'symbol' && word.value === '.';

/** The table that a statement writes to, perhaps after a WITH. */
export function findTarget(
  sql: string,
): { verb: string; name: NonNullable<ReturnType<WordReader['readName']>> } | undefined {
  const words = createWordReader(sql);
  for (;;) {
    const verb = words.find('insert', 'update', 'delete', 'merge');
    if (verb === undefined) return undefined;
    // INSERT OR REPLACE, INSERT OR IGNORE
    if (verb === 'insert' && words.skip('or')) words.readName();
    if (verb !== 'update' && !words.skip(verb === 'delete' ? 'from' : 'into')) continue;
    const name = words.readName();
    if (name !== undefined) return { verb, name };
  }
}

const letter = /^[\p{L}\p{N}_$]$/u;

/** How often a name stands in a statement, in any case. A text may have the name of a variable, so it counts. */
export function countName(sql: string, name: string): number {
  const lowerName = name.toLowerCase();
  let count = 0;
  if (!sql.toLowerCase().includes(lowerName)) return count;
  for (const { kind, value } of readWords(sql)) {
    if (kind === 'text') count += [...findWords(value.toLowerCase(), lowerName, letter)].length;
    else if (value === lowerName) count += 1;
  }
  return count;
}
