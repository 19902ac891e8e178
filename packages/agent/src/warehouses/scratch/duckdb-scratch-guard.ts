/**
 * Runs a statement of a test. Whatever it is, it runs in a transaction that has already written to the scratch
 * database, and DuckDB itself then refuses a write to any other one (docs/adr/0046).
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { getReason } from '../../log.ts';
import { rollBack } from '../statements/duckdb-rollback.ts';
import { readStatements, type Word } from '../statements/sql-words.ts';
import { describeRefused, isRefused } from '../statements/test-refusals.ts';
import { getTableKey, leaveReal, readTexts, type Scratch, writeMark } from './duckdb-scratch.ts';
import { copyTable } from './duckdb-scratch-copy.ts';
import { listWrittenNames, takesNamesAway } from './duckdb-scratch-names.ts';

/**
 * @param sql a single statement
 * @param run runs it, with all checks of a statement outside of tests
 * @throws Error that says what a test does not do
 */
export async function runInScratch(
  connection: DuckDBConnection,
  scratch: Scratch,
  sql: string,
  run: () => Promise<void>,
): Promise<void> {
  const words = readStatements(sql)[0] ?? [];
  const first = words[0]?.value ?? '';
  checkAllowed(skipExplain(words));
  if (first === 'analyze' || first === 'vacuum') return;
  try {
    if (['begin', 'start'].includes(first)) return await beginTransaction(connection, scratch, run);
    if (['commit', 'end', 'rollback', 'abort'].includes(first)) {
      scratch.inTransaction = false;
      return await run();
    }
    if (scratch.inTransaction && (await isInTransaction(connection))) {
      await writeMark(connection, scratch);
      return await runMarked(connection, scratch, words, run);
    }
    scratch.inTransaction = false;
    await runInOwnTransaction(connection, scratch, words, run);
  } catch (error) {
    throw explainRefusal(error, scratch);
  }
}

async function beginTransaction(
  connection: DuckDBConnection,
  scratch: Scratch,
  run: () => Promise<void>,
): Promise<void> {
  await run();
  scratch.inTransaction = true;
  // In BEGIN … READ ONLY the mark fails, which ends the transaction.
  await writeMark(connection, scratch).catch(async (error) => {
    scratch.inTransaction = false;
    await rollBack(connection);
    throw error;
  });
}

/** DuckDB has the last word: outside of a transaction each statement has one of its own. */
async function isInTransaction(connection: DuckDBConnection): Promise<boolean> {
  const read = () => readTexts(connection, 'select system.main.txid_current()');
  const [[first] = []] = await read();
  const [[second] = []] = await read();
  return first === second;
}

async function runInOwnTransaction(
  connection: DuckDBConnection,
  scratch: Scratch,
  words: readonly Word[],
  run: () => Promise<void>,
): Promise<void> {
  await connection.run('begin transaction');
  try {
    await writeMark(connection, scratch);
    await runMarked(connection, scratch, words, run);
    await connection.run('commit');
  } catch (error) {
    await rollBack(connection);
    throw error;
  }
}

async function runMarked(
  connection: DuckDBConnection,
  scratch: Scratch,
  words: readonly Word[],
  run: () => Promise<void>,
): Promise<void> {
  const written = listWrittenNames(words);
  for (const name of written) await copyTable(connection, scratch, name);
  await run();
  const isKnown = written.some(({ schema = 'main', table }) =>
    scratch.standIns.has(getTableKey(schema, table)),
  );
  if (isKnown && takesNamesAway(words)) await leaveReal(connection, scratch);
}

/** EXPLAIN ANALYZE executes what follows. Its options are in parentheses, or the word ANALYZE. */
function skipExplain(words: readonly Word[]): readonly Word[] {
  if (words[0]?.value !== 'explain') return words;
  const isOptions = words[1]?.value === '(';
  const last = isOptions ? words.findIndex(({ value }) => value === ')') : 0;
  const rest = words.slice(last + 1);
  return rest[0]?.value === 'analyze' ? rest.slice(1) : rest;
}

/** What would change how names are read, or what is neither in scratch nor in a file of the test. */
function checkAllowed([first, second]: readonly Word[]): void {
  const word = first?.kind === 'name' ? first.value : '';
  const isSetting = (word === 'set' || word === 'reset') && second?.value !== 'variable';
  if (word === 'use' || isSetting)
    throw new Error(
      `${word.toUpperCase()} is not allowed in a test, where the names of tables mean the test’s own: write the schema before the name of the table`,
    );
  if (isRefused(word)) throw new Error(describeRefused(word));
}

function explainRefusal(error: unknown, { name, real }: Scratch): unknown {
  const reason = getReason(error);
  if (/Attempting to write to database/.test(reason))
    return new Error(
      `the statement writes to the database of the environment, which a test never does: leave out the name of the database (${JSON.stringify(real)})`,
    );
  const shown = reason.replaceAll(`"${name}".`, '').replaceAll(`${name}.`, '');
  return shown === reason ? error : new Error(shown);
}
