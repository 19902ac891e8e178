/** Says which statement of a user failed: as it was written first, and as it was sent below. */
import type { RewrittenStatement } from '@headgate/pipelines';

/** Statements that are remembered. A component runs its statement soon after it was rewritten. */
const rememberedLimit = 2_000;
/** Characters of a statement in a message. */
const shownLength = 1_000;

export type WrittenStatement = Pick<RewrittenStatement, 'written' | 'line'>;

export interface WrittenStatements {
  add(statements: readonly RewrittenStatement[]): void;
  /** How a statement that was sent is written; undefined if a component made it. */
  find(sent: string): WrittenStatement | undefined;
}

export function createWrittenStatements(): WrittenStatements {
  const bySent = new Map<string, WrittenStatement>();
  return {
    add(statements) {
      for (const { sql, written, line } of statements) {
        bySent.delete(sql);
        bySent.set(sql, { written, line });
        const [oldest] = bySent.keys();
        if (bySent.size > rememberedLimit && oldest !== undefined) bySent.delete(oldest);
      }
    },
    find: (sent) => bySent.get(sent) ?? bySent.get(unwrap(sent)),
  };
}

/** The query inside of the one that bounds its rows. */
function unwrap(sent: string): string {
  const [head, tail] = ['SELECT * FROM (\n', '\n) AS "query" LIMIT '];
  const end = sent.lastIndexOf(tail);
  return sent.startsWith(head) && end > 0 ? sent.slice(head.length, end) : sent;
}

const failed = new WeakMap<Error, string>();

/** Keeps the statement with the error. @throws the error */
export async function keepStatement<T>(sent: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Error) failed.set(error, sent);
    throw error;
  }
}

/** The part of the context that is needed. */
interface Shown {
  findWritten(sent: string): WrittenStatement | undefined;
  /** Undefined if it must not be shown. */
  showSql(sent: string): string | undefined;
  mask(text: string): string;
}

/** The message of an error, with the statement of the user that it is about. */
export function describeError(error: unknown, { findWritten, showSql, mask }: Shown): string {
  const message = error instanceof Error ? error.message : String(error);
  const sent = findStatement(error);
  const written = sent === undefined ? undefined : findWritten(sent);
  const shown = sent === undefined || written === undefined ? undefined : showSql(sent);
  if (written === undefined || shown === undefined) return message;
  // The excerpt of DuckDB is of what was sent.
  const excerpt = message.search(/\n{1,2}LINE \d+: /);
  const [words, place] =
    excerpt < 0 ? [message, ''] : [message.slice(0, excerpt), message.slice(excerpt).trim()];
  const own = mask(written.written);
  const parts = [words.trimEnd(), `written, from line ${written.line} of the SQL:\n${cut(own)}`];
  if (own.trim() !== shown.trim()) parts.push(`sent:\n${cut(shown.trim())}`);
  if (place !== '') parts.push(place);
  return parts.join('\n\n');
}

function findStatement(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return failed.get(error) ?? findStatement(error.cause);
}

const cut = (sql: string) => (sql.length <= shownLength ? sql : `${sql.slice(0, shownLength - 1)}…`);
