/**
 * Which kinds of statement SQL of a tenant may use. DuckDB parses, and names the kind; the table here allows.
 * A kind that a later DuckDB adds is refused until it has a line here.
 */
import { StatementType } from '@duckdb/node-api';

interface Kind {
  /** In SQL's words. */
  name: string;
  /** Why it is refused; undefined when it is allowed. */
  refusal?: string;
}

const configuration = 'the configuration of the warehouse belongs to its agent';
const internal = 'no SQL is of this kind';

const kinds: Record<StatementType, Kind> = {
  [StatementType.SELECT]: { name: 'SELECT' },
  [StatementType.INSERT]: { name: 'INSERT' },
  [StatementType.UPDATE]: { name: 'UPDATE' },
  [StatementType.DELETE]: { name: 'DELETE' },
  [StatementType.MERGE_INTO]: { name: 'MERGE' },
  [StatementType.CREATE]: { name: 'CREATE' },
  [StatementType.ALTER]: { name: 'ALTER' },
  [StatementType.DROP]: { name: 'DROP' },
  // The settings of DuckDB keep both to the files folder.
  [StatementType.COPY]: { name: 'COPY' },
  [StatementType.EXPORT]: { name: 'EXPORT DATABASE' },
  [StatementType.TRANSACTION]: { name: 'BEGIN, COMMIT and ROLLBACK' },
  [StatementType.ANALYZE]: { name: 'ANALYZE' },
  [StatementType.VACUUM]: { name: 'VACUUM' },
  // DuckDB's lock leaves variables and the schema, and refuses every setting.
  [StatementType.SET]: { name: 'SET VARIABLE and USE' },
  [StatementType.EXPLAIN]: { name: 'EXPLAIN' },

  [StatementType.LOAD]: { name: 'INSTALL or LOAD', refusal: 'extensions are those that are built in' },
  [StatementType.UPDATE_EXTENSIONS]: {
    name: 'UPDATE EXTENSIONS',
    refusal: 'extensions are those that are built in',
  },
  [StatementType.EXTENSION]: {
    name: 'an extension’s own statement',
    refusal: 'extensions are those that are built in',
  },
  [StatementType.ATTACH]: { name: 'ATTACH', refusal: 'a run has the database of its environment only' },
  [StatementType.DETACH]: { name: 'DETACH', refusal: 'a run has the database of its environment only' },
  [StatementType.COPY_DATABASE]: {
    name: 'COPY FROM DATABASE',
    refusal: 'a run has the database of its environment only',
  },
  [StatementType.PRAGMA]: { name: 'PRAGMA', refusal: configuration },
  [StatementType.VARIABLE_SET]: { name: 'SET of a setting', refusal: configuration },
  [StatementType.PREPARE]: { name: 'PREPARE', refusal: 'write the statement itself' },
  [StatementType.EXECUTE]: { name: 'EXECUTE', refusal: 'write the statement itself' },
  [StatementType.CALL]: {
    name: 'CALL or CHECKPOINT',
    refusal: 'use SELECT * FROM function(…); the warehouse makes its checkpoints by itself',
  },
  [StatementType.CREATE_FUNC]: { name: 'CREATE_FUNC', refusal: internal },
  [StatementType.RELATION]: { name: 'RELATION', refusal: internal },
  [StatementType.LOGICAL_PLAN]: { name: 'LOGICAL_PLAN', refusal: internal },
  [StatementType.MULTI]: { name: 'MULTI', refusal: internal },
  [StatementType.INVALID]: { name: 'INVALID', refusal: internal },
};

/** What a message proposes. */
export const allowedKinds: string = Object.values(kinds)
  .filter(({ refusal }) => refusal === undefined)
  .sort((a, b) => (a.name < b.name ? -1 : 1))
  .map(({ name }) => name)
  .join(', ');

/** @throws Error that names the kind, why it is refused, and what is allowed. */
export function checkStatementKind(type: StatementType): void {
  // The type says that there always is one. A later DuckDB may know better.
  const kind = (kinds as Partial<Record<StatementType, Kind>>)[type];
  if (kind !== undefined && kind.refusal === undefined) return;
  const { name, refusal } = kind ?? { name: `kind ${type}`, refusal: 'this agent does not know it' };
  refuseKind(name, refusal ?? internal);
}

/** @throws Error that says why the kind is refused, and what is allowed. */
export function refuseKind(name: string, refusal: string): never {
  throw new Error(`${name} is not allowed in this warehouse: ${refusal}. Allowed are ${allowedKinds}`);
}

/**
 * A statement behind EXPLAIN. `prefix` and `statement` together explain exactly the `statement` that was
 * checked.
 */
export interface Explained {
  prefix: string;
  statement: string;
}

const blank = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*/;
/** `EXPLAIN (…)` may also begin a query in parentheses. */
const explainOptions = /^\(\s*(?:analyze|format)\b[\w\s,']*\)/i;

/**
 * Takes EXPLAIN off a statement. DuckDB says of an EXPLAIN only that it is one, and executes what is behind
 * EXPLAIN ANALYZE. Comments before the statement are left out, as DuckDB may see another end of them.
 */
export function takeExplained(sql: string): Explained | undefined {
  const afterExplain = afterWord(skipBlank(sql), 'explain');
  if (afterExplain === undefined) return undefined;
  const rest = skipBlank(afterExplain);
  const options = explainOptions.exec(rest)?.[0];
  if (options !== undefined)
    return { prefix: `EXPLAIN ${options} `, statement: skipBlank(rest.slice(options.length)) };
  const afterAnalyze = afterWord(rest, 'analyze');
  return afterAnalyze === undefined
    ? { prefix: 'EXPLAIN ', statement: rest }
    : { prefix: 'EXPLAIN ANALYZE ', statement: skipBlank(afterAnalyze) };
}

function skipBlank(sql: string): string {
  return sql.replace(blank, '');
}

function afterWord(sql: string, word: string): string | undefined {
  const end = word.length;
  const isWord = sql.slice(0, end).toLowerCase() === word && !/^[\w$]/.test(sql.slice(end));
  return isWord ? sql.slice(end) : undefined;
}
