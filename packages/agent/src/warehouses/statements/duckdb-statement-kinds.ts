/**
 * The allow-list of statement types. DuckDB parses the SQL and determines the type. A type that a later
 * DuckDB adds is refused until it has an entry here.
 */
import { StatementType } from '@duckdb/node-api';
import { readStatements, type Word } from './sql-words.ts';

interface Kind {
  /** Its SQL keyword. */
  name: string;
  /** Why it is refused; undefined if it is allowed. */
  refusal?: string;
}

const configuration = 'only the agent configures the warehouse';
const internal = 'it is internal to DuckDB';

const kinds: Record<StatementType, Kind> = {
  [StatementType.SELECT]: { name: 'SELECT' },
  [StatementType.INSERT]: { name: 'INSERT' },
  [StatementType.UPDATE]: { name: 'UPDATE' },
  [StatementType.DELETE]: { name: 'DELETE' },
  [StatementType.MERGE_INTO]: { name: 'MERGE' },
  [StatementType.CREATE]: { name: 'CREATE' },
  [StatementType.ALTER]: { name: 'ALTER' },
  [StatementType.DROP]: { name: 'DROP' },
  // DuckDB's settings restrict both to the files folder.
  [StatementType.COPY]: { name: 'COPY' },
  [StatementType.EXPORT]: { name: 'EXPORT DATABASE' },
  [StatementType.TRANSACTION]: { name: 'BEGIN, COMMIT and ROLLBACK' },
  [StatementType.ANALYZE]: { name: 'ANALYZE' },
  [StatementType.VACUUM]: { name: 'VACUUM' },
  // The locked configuration still allows variables and the schema, and refuses all settings.
  [StatementType.SET]: { name: 'SET VARIABLE and USE' },
  [StatementType.EXPLAIN]: { name: 'EXPLAIN' },

  [StatementType.LOAD]: { name: 'INSTALL or LOAD', refusal: 'only built-in extensions can be used' },
  [StatementType.UPDATE_EXTENSIONS]: {
    name: 'UPDATE EXTENSIONS',
    refusal: 'only built-in extensions can be used',
  },
  [StatementType.EXTENSION]: {
    name: 'an extension’s own statement',
    refusal: 'only built-in extensions can be used',
  },
  [StatementType.ATTACH]: { name: 'ATTACH', refusal: 'a run can only use the database of its environment' },
  [StatementType.DETACH]: { name: 'DETACH', refusal: 'a run can only use the database of its environment' },
  [StatementType.COPY_DATABASE]: {
    name: 'COPY FROM DATABASE',
    refusal: 'a run can only use the database of its environment',
  },
  [StatementType.PRAGMA]: { name: 'PRAGMA', refusal: configuration },
  [StatementType.VARIABLE_SET]: { name: 'SET of a setting', refusal: configuration },
  [StatementType.PREPARE]: { name: 'PREPARE', refusal: 'write the statement itself' },
  [StatementType.EXECUTE]: { name: 'EXECUTE', refusal: 'write the statement itself' },
  [StatementType.CALL]: {
    name: 'CALL or CHECKPOINT',
    refusal: 'use SELECT * FROM function(…); the warehouse makes checkpoints by itself',
  },
  [StatementType.CREATE_FUNC]: { name: 'CREATE_FUNC', refusal: internal },
  [StatementType.RELATION]: { name: 'RELATION', refusal: internal },
  [StatementType.LOGICAL_PLAN]: { name: 'LOGICAL_PLAN', refusal: internal },
  [StatementType.MULTI]: { name: 'MULTI', refusal: internal },
  [StatementType.INVALID]: { name: 'INVALID', refusal: internal },
};

/** The list of allowed statements for messages. */
export const allowedKinds: string = Object.values(kinds)
  .filter(({ refusal }) => refusal === undefined)
  .sort((a, b) => (a.name < b.name ? -1 : 1))
  .map(({ name }) => name)
  .join(', ');

/** @throws Error with the kind, the reason and the allowed kinds. */
export function checkStatementKind(type: StatementType): void {
  // A later DuckDB may have types that are not in the table.
  const kind = (kinds as Partial<Record<StatementType, Kind>>)[type];
  if (kind !== undefined && kind.refusal === undefined) return;
  const { name, refusal } = kind ?? {
    name: `kind ${type}`,
    refusal: 'this version of the agent does not know it',
  };
  refuseKind(name, refusal ?? internal);
}

/** @throws Error with the reason and the allowed kinds. */
export function refuseKind(name: string, refusal: string): never {
  throw new Error(`${name} is not allowed in this warehouse: ${refusal}. Use only ${allowedKinds}`);
}

/** A statement after EXPLAIN. `prefix` and `statement` together explain exactly the checked `statement`. */
export interface ParsedExplain {
  prefix: string;
  statement: string;
}

/**
 * Splits EXPLAIN from its statement. DuckDB reports only the type EXPLAIN, but executes the statement after
 * EXPLAIN ANALYZE. Leading comments are dropped.
 */
export function parseExplain(sql: string): ParsedExplain | undefined {
  const words = readStatements(sql)[0] ?? [];
  const [first, second] = words;
  if (first?.kind !== 'name' || first.value !== 'explain') return undefined;
  if (second?.kind === 'name' && second.value === 'analyze')
    return { prefix: 'EXPLAIN ANALYZE ', statement: sliceFrom(sql, words[2]) };
  const end = findOptionsEnd(words);
  if (second === undefined || end === undefined)
    return { prefix: 'EXPLAIN ', statement: sliceFrom(sql, second) };
  return { prefix: `EXPLAIN ${sql.slice(second.from, end.to)} `, statement: sliceFrom(sql, end.after) };
}

const sliceFrom = (sql: string, word: Word | undefined) => (word === undefined ? '' : sql.slice(word.from));

/** The end of `(ANALYZE, FORMAT json)`: `EXPLAIN (…)` may also be followed by a query in parentheses. */
function findOptionsEnd(words: readonly Word[]): { to: number; after: Word | undefined } | undefined {
  const [, open, option] = words;
  if (open?.kind !== 'symbol' || open.value !== '(' || option?.kind !== 'name') return undefined;
  if (option.value !== 'analyze' && option.value !== 'format') return undefined;
  const close = words.findIndex(({ kind, value }) => kind === 'symbol' && value === ')');
  const inside = words.slice(2, close);
  if (close < 0 || inside.some(({ kind, value }) => kind === 'symbol' && value !== ',')) return undefined;
  return { to: words[close]?.to ?? open.to, after: words[close + 1] };
}
