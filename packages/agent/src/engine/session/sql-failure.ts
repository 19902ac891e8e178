/** Says which statement of a user failed: as it was written first, and as it was sent below. */
import { findErrorPosition, type RewrittenStatement } from '@headgate/pipelines';

/** Statements that are remembered. A component runs its statement soon after it was rewritten. */
const rememberedLimit = 2_000;
/** Characters of a part that is remembered. */
const partLength = 10_000;
/** Characters of a statement in a message. */
const shownLength = 1_000;

export type WrittenStatement = Pick<RewrittenStatement, 'written' | 'line'>;

export interface WrittenStatements {
  add(statements: readonly RewrittenStatement[]): void;
  /** How a statement that was sent is written; undefined if a component made it. */
  find(sent: string): WrittenStatement | undefined;
  /** `sql`: what the part of a statement was rewritten to, such as an expression of a calculator. */
  addPart(written: string, sql: string): void;
  /** The shortest part around the position, if it was rewritten. */
  findPart(sent: string, position: number): WrittenPart | undefined;
}

export interface WrittenPart {
  readonly written: string;
  readonly sql: string;
}

export function createWrittenStatements(): WrittenStatements {
  const bySent = new Map<string, WrittenStatement>();
  const parts = new Map<string, string>();
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
    addPart(written, sql) {
      if (sql.length <= partLength && sql !== written && parts.size < rememberedLimit)
        parts.set(sql, written);
    },
    findPart(sent, position) {
      let found: WrittenPart | undefined;
      for (const [sql, written] of parts) {
        if (found !== undefined && sql.length >= found.sql.length) continue;
        const around = sent.slice(Math.max(0, position - sql.length + 1), position + sql.length);
        if (around.includes(sql)) found = { written, sql };
      }
      return found;
    },
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
  findPart(sent: string, position: number): WrittenPart | undefined;
  /** Undefined if it must not be shown. */
  showSql(sent: string): string | undefined;
  mask(text: string): string;
}

/** The message of an error, with the statement or the expression of the user that it is about. */
export function describeError(error: unknown, { findWritten, findPart, showSql, mask }: Shown): string {
  const message = error instanceof Error ? error.message : String(error);
  const sent = findStatement(error);
  if (sent === undefined) return message;
  const statement = findWritten(sent);
  const position = statement === undefined ? findErrorPosition(sent, message) : undefined;
  const part = position === undefined ? undefined : findPart(sent, position);
  const shown = showSql(part?.sql ?? sent);
  if (shown === undefined || (statement === undefined && part === undefined)) return message;
  // The excerpt of DuckDB is of what was sent.
  const excerpt = message.search(/\n{1,2}LINE \d+: /);
  const [words, place] =
    excerpt < 0 ? [message, ''] : [message.slice(0, excerpt), message.slice(excerpt).trim()];
  const own = mask((statement ?? part)?.written ?? '');
  const lines = statement === undefined ? '' : `, from line ${statement.line} of the SQL`;
  const parts = [words.trimEnd(), `written${lines}:\n${cut(own)}`];
  if (statement !== undefined && own.trim() !== shown.trim()) parts.push(`sent:\n${cut(shown.trim())}`);
  if (place !== '') parts.push(place);
  return parts.join('\n\n');
}

function findStatement(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return failed.get(error) ?? findStatement(error.cause);
}

const cut = (sql: string) => (sql.length <= shownLength ? sql : `${sql.slice(0, shownLength - 1)}…`);
