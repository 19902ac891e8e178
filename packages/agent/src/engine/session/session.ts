/**
 * The run's sessions with the warehouse. Single statements of branches run at the same time. Transactions run
 * alone, and all that needs temporary tables or settings of a session stays in one.
 */
import type { PreparedStatement, StatementList, StoreAddress } from '@headgate/pipelines';
import { hasName, readFirstWord } from '../../warehouses/statements/sql-words.ts';
import type { CopiedFile, Warehouse } from '../ports/ports.ts';
import { createSessionGate } from './session-gate.ts';
import { countName, findTarget } from './session-names.ts';
import { createSessionState, type IterationPath } from './session-state.ts';
import { keepStatement } from './sql-failure.ts';

export interface Session extends Omit<Warehouse, 'execute' | 'query' | 'copy' | 'executeInStore'> {
  execute(sql: string): Promise<{ rowCount: number }>;
  copy(sql: string, file: CopiedFile): Promise<{ rowCount: number }>;
  query(sql: string, maxRows: number): Promise<{ columns: string[]; rows: unknown[][] }>;
  /**
   * Runs a user's statements in order. Returns the `rowCount` of the last one.
   *
   * @throws Error, also if the statements leave a transaction open, which is then rolled back
   */
  executeScript(statements: readonly (string | PreparedStatement)[]): Promise<{ rowCount: number }>;
  /** Runs all statements atomically. Returns the `rowCount` of the counted one. */
  executeAll(list: StatementList): Promise<{ rowCount: number }>;
  /** Runs statements alone, without a transaction. */
  takeTurn<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Runs a transaction alone. It is rolled back if `work` throws. */
  transact<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /**
   * The same session. `onStatement` gets each statement of a component before it runs. What it returns is called when
   * the statement has succeeded.
   */
  watch(onStatement: OnStatement, label?: string): Session;
  /** The same session. When `signal` is aborted, a running statement is interrupted and no other one starts. */
  limit(signal: AbortSignal): Session;
  /** The same session, for the statements of one of several concurrent iterations. */
  enterIteration(): Session;
}

export type OnStatement = (sql: string) => () => void;

/** The session while nobody else uses it. */
export type Transaction = Pick<Session, 'execute' | 'query' | 'copy'> & {
  executeInStore(sql: string, store: StoreAddress): Promise<{ rowCount: number }>;
};

/** @param sessions of the warehouse that the run may use at the same time */
export function createSession(warehouse: Warehouse, sessions: number): Session {
  const gate = createSessionGate(sessions);
  const state = createSessionState();
  /** A statement left something in session 0, such as a temporary table: all others follow it there. */
  let isBound = sessions === 1;
  function createTurnTaking(signal: AbortSignal | undefined): Turns {
    const runAlone = <T>(work: () => Promise<T>) => gate.runExclusively(work, signal);
    return {
      runInTurn(statements, work) {
        if (statements.some(bindsSession)) isBound = true;
        return runAlone(work);
      },
      async runFreely(sql, work) {
        if (bindsSession(sql)) isBound = true;
        if (isBound || readsItsTarget(sql)) return runAlone(() => work(0));
        try {
          return await gate.runShared(work, signal);
        } catch (error) {
          // The statement had no effect. Alone it cannot meet another one.
          if (isConflict(error) || violation.test(String(error))) return runAlone(() => work(0));
          throw error;
        }
      },
    };
  }
  return createView({ onStatement: () => () => undefined, label: '', signal: undefined, path: [] });

  function createView(view: View): Session {
    const { onStatement, label, signal, path } = view;
    const watched: Required<Warehouse> = {
      async execute(sql, session) {
        signal?.throwIfAborted();
        state.pass(sql, path);
        const onSuccess = onStatement(sql);
        const result = await keepStatement(sql, () => warehouse.execute(`${label}${sql}`, session, signal));
        onSuccess();
        return result;
      },
      async query(sql, maxRows, session) {
        signal?.throwIfAborted();
        state.pass(sql, path);
        const onSuccess = onStatement(sql);
        const result = await keepStatement(sql, () =>
          warehouse.query(`${label}${sql}`, maxRows, session, signal),
        );
        onSuccess();
        return result;
      },
      async executeInStore(sql, store, session) {
        signal?.throwIfAborted();
        const onSuccess = onStatement(sql);
        const { executeInStore } = warehouse;
        if (executeInStore === undefined) throw new Error('the warehouse reaches no object stores');
        const result = await keepStatement(sql, () =>
          executeInStore(`${label}${sql}`, store, session, signal),
        );
        onSuccess();
        return result;
      },
      async copy(sql, file, session) {
        signal?.throwIfAborted();
        const onSuccess = onStatement(file.shown ?? sql);
        const { copy } = warehouse;
        if (copy === undefined) throw new Error('the warehouse reads and writes files itself');
        const result = await keepStatement(sql, () => copy(`${label}${sql}`, file, session, signal));
        onSuccess();
        return result;
      },
    };
    return {
      ...createStatements(warehouse, watched, createTurnTaking(signal)),
      watch: (next, nextLabel = label) => createView({ ...view, onStatement: next, label: nextLabel }),
      limit: (next) => createView({ ...view, signal: next }),
      enterIteration: () => createView({ ...view, path: [...path, {}] }),
    };
  }
}

/** For whom a session is used. */
interface View {
  readonly onStatement: OnStatement;
  /** A comment before each statement of a component, or ''. */
  readonly label: string;
  readonly signal: AbortSignal | undefined;
  readonly path: IterationPath;
}

interface Turns {
  runInTurn<T>(statements: readonly string[], work: () => Promise<T>): Promise<T>;
  runFreely<T>(sql: string, work: (session: number) => Promise<T>): Promise<T>;
}

/**
 * DuckDB's messages for statements that changed the same rows or objects at the same time. Other messages may have
 * these words in a value.
 */
const conflict =
  // not SQL: a message of DuckDB
  /^TransactionContext Error: .*(?:\bconflict\b|has been altered|(?:could not|failed to) commit)/is;
/** Another statement may have added the row, or the statement itself is wrong. */
const violation = /violates (?:primary key|unique) constraint/i;

/** Whether a statement failed because of another one at the same time. */
export const isConflict = (error: unknown): boolean => error instanceof Error && conflict.test(error.message);

/** Statements that begin so change and read only the database, unless they have the names below. */
const readsOrWrites = new Set(
  'select with from values insert update delete merge create drop alter copy truncate explain analyze comment begin start commit end rollback abort'.split(
    ' ',
  ),
);
const ofSession = new Set(
  'temp temporary currval nextval setseed getvariable variable current_setting'.split(' '),
);

/** Whether a later statement may need the session of this one. */
const bindsSession = (sql: string) =>
  !readsOrWrites.has(readFirstWord(sql)) || hasName(sql, ofSession) || changesSession(sql);

/** `ALTER SESSION` of Snowflake. */
const changesSession = (sql: string) => readFirstWord(sql) === 'alter' && hasName(sql, sessionName);
const sessionName = new Set(['session']);

/**
 * Whether what a statement writes follows from what is in its table, such as `INSERT … WHERE NOT EXISTS`. Two of
 * them at the same time would not see the rows of each other, and DuckDB would call that no conflict.
 */
function readsItsTarget(sql: string): boolean {
  const { verb, name } = findTarget(sql) ?? {};
  return name !== undefined && (verb === 'merge' || countName(sql, name.last) > 1);
}

/** `watched`: the same warehouse, for the statements of components. */
function createStatements(
  warehouse: Warehouse,
  watched: Required<Warehouse>,
  { runInTurn, runFreely }: Turns,
): Omit<Session, 'watch' | 'limit' | 'enterIteration'> {
  const alone: Transaction = {
    execute: (sql) => watched.execute(sql),
    query: (sql, most) => watched.query(sql, most),
    copy: (sql, file) => watched.copy(sql, file),
    executeInStore: (sql, store) => watched.executeInStore(sql, store),
  };
  return {
    execute: (sql) => runFreely(sql, (session) => watched.execute(sql, session)),
    query: (sql, maxRows) => runFreely(sql, (session) => watched.query(sql, maxRows, session)),
    copy: (sql, file) => runFreely(sql, (session) => watched.copy(sql, file, session)),
    async executeScript(statements) {
      const texts = statements.flatMap(listSql);
      // Statements of other branches stay out of its transaction, and change none of its variables.
      if (mayBegin(statements) || (texts.length > 1 && texts.some(bindsSession)))
        return runInTurn(texts, () => runScript(warehouse, watched, statements));
      let rowCount = 0;
      for (const statement of statements) {
        if (commits(statement)) continue;
        const [sql, ...others] = listSql(statement);
        rowCount =
          others.length === 0 && sql !== undefined
            ? (await runFreely(sql, (session) => watched.execute(sql, session))).rowCount
            : await runInTurn(listSql(statement), () => executePrepared(warehouse, watched, statement));
      }
      return { rowCount };
    },
    executeAll(list) {
      const { statements, counted } = list;
      const [sql] = statements;
      if (statements.length === 1 && sql !== undefined)
        return runFreely(sql, (session) => watched.execute(sql, session)).then(({ rowCount }) => ({
          rowCount: counted === 0 ? rowCount : 0,
        }));
      return runInTurn(statements, () => runTransaction(warehouse, watched, list));
    },
    takeTurn: (work) => runInTurn([], () => work(alone)),
    transact: (work) => runInTurn([], () => inTransaction(warehouse, () => work(alone))),
  };
}

/** All that a statement executes. */
function listSql(statement: string | PreparedStatement): string[] {
  if (typeof statement === 'string') return [statement];
  const { sql, before, after, onlyIf, listed } = statement;
  return [sql, ...before, ...after, ...[onlyIf, listed].filter((each) => each !== undefined)];
}

/** A script without these words cannot begin a transaction. */
const mayBegin = (statements: readonly (string | PreparedStatement)[]) =>
  statements.some((statement) => hasName(readSql(statement), beginning));
const beginning = new Set(['begin', 'start']);
const noTransaction = /no transaction is active/i;
const leftOpen = 'the script leaves a transaction open: end it with COMMIT or ROLLBACK';

async function runScript(
  warehouse: Warehouse,
  watched: Warehouse,
  statements: readonly (string | PreparedStatement)[],
) {
  let rowCount = 0;
  try {
    let isActive = false;
    for (const statement of statements) {
      if (commits(statement) && !isActive) continue;
      rowCount = await executePrepared(warehouse, watched, statement, isActive);
      const kind = readKind(statement);
      if (kind === 'BEGIN' || kind === 'START') isActive = true;
      else if (commits(statement) || rollsBack(statement)) isActive = false;
    }
  } catch (error) {
    // An open transaction would include the statements of the next component.
    await warehouse.execute('ROLLBACK').catch(() => undefined);
    throw error;
  }
  if (mayBegin(statements) && (await rollBackIfActive(warehouse))) throw new Error(leftOpen);
  return { rowCount };
}

const readKind = (statement: string | PreparedStatement) =>
  typeof statement === 'string' ? '' : statement.kind;

/** Without an active transaction it has no effect, as in Snowflake and Redshift: everything is committed. */
const commits = (statement: string | PreparedStatement) => ['COMMIT', 'END'].includes(readKind(statement));
/** Without an active transaction it fails: it would undo nothing. */
const rollsBack = (statement: string | PreparedStatement) =>
  ['ROLLBACK', 'ABORT'].includes(readKind(statement));

const readSql = (statement: string | PreparedStatement) =>
  typeof statement === 'string' ? statement : statement.sql;

/**
 * Returns the rows that the statement changed or returned.
 *
 * @param isNested whether a transaction of the script is active
 */
async function executePrepared(
  warehouse: Warehouse,
  watched: Warehouse,
  statement: string | PreparedStatement,
  isNested = false,
): Promise<number> {
  if (typeof statement === 'string') return (await watched.execute(statement)).rowCount;
  const { sql, before, after, onlyIf, listed } = statement;
  if (onlyIf !== undefined && (await warehouse.query(onlyIf, 1)).rows.length === 0) return 0;
  if (before.length + after.length === 0 && listed === undefined)
    return (await watched.execute(sql)).rowCount;
  const runParts = async () => {
    await runAll(watched, before, 0);
    const { rowCount } = await watched.execute(sql);
    if (listed !== undefined) await runAll(watched, await list(warehouse, listed), 0);
    await runAll(watched, after, 0);
    return rowCount;
  };
  return isNested ? runParts() : inTransaction(warehouse, runParts);
}

/** More than any schema has: each table is some statements. */
const mostListed = 100_000;

/** The statements that a query gives. */
async function list(warehouse: Warehouse, query: string): Promise<string[]> {
  const { rows } = await warehouse.query(query, mostListed + 1);
  if (rows.length > mostListed)
    throw new Error(`the statement changes more than ${mostListed} objects at once`);
  return rows.map(([statement]) => String(statement));
}

/** Rolls back an open transaction. Returns whether there was one. */
async function rollBackIfActive(warehouse: Warehouse): Promise<boolean> {
  try {
    await warehouse.execute('ROLLBACK');
    return true;
  } catch (error) {
    if (error instanceof Error && noTransaction.test(error.message)) return false;
    throw error;
  }
}

function runTransaction(
  warehouse: Warehouse,
  watched: Warehouse,
  { statements, counted, countedTo }: StatementList,
) {
  return inTransaction(warehouse, () => runAll(watched, statements, counted, countedTo));
}

async function inTransaction<T>(warehouse: Warehouse, work: () => Promise<T>): Promise<T> {
  await warehouse.execute('BEGIN TRANSACTION');
  try {
    const result = await work();
    await warehouse.execute('COMMIT');
    return result;
  } catch (error) {
    // If the warehouse is gone there is nothing to roll back. Report the first error.
    await warehouse.execute('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

async function runAll(
  warehouse: Warehouse,
  statements: readonly string[],
  counted: number,
  countedTo = counted,
) {
  let rowCount = 0;
  for (const [index, statement] of statements.entries()) {
    const result = await warehouse.execute(statement);
    if (index >= counted && index <= countedTo) rowCount += result.rowCount;
  }
  return { rowCount };
}
