/**
 * Reads the rows of a statement as DuckDB makes them. A failure after the first rows looks like their end: DuckDB
 * gives no more rows, and only the type of the result says that they are not all.
 */
import {
  type DuckDBConnection,
  type DuckDBDataChunk,
  type DuckDBResult,
  ResultReturnType,
} from '@duckdb/node-api';
import { getReason } from '../../log.ts';

/** The statement failed after its first rows; DuckDB does not give the reason. */
export class RowsLost extends Error {
  override message = 'the query failed after its first rows: run it alone to see the reason';
}

/** @throws RowsLost */
export async function* readChunks(result: DuckDBResult): AsyncGenerator<DuckDBDataChunk> {
  for (let chunk = await result.fetchChunk(); chunk && chunk.rowCount > 0; chunk = await result.fetchChunk())
    yield chunk;
  if (result.returnType === ResultReturnType.INVALID) throw new RowsLost();
}

/** A query whose first attempt took longer does not run again. */
const longestAttempt = 10_000;

export interface FailedQuery {
  sql: string;
  /** When it began, as of `performance.now()`. */
  began: number;
}

/**
 * The reason of a failure. For lost rows, a short query runs again without giving its rows, and for at most twice
 * the time that it took.
 *
 * @param query undefined for a statement that must not run twice
 */
export async function findReason(
  connection: DuckDBConnection,
  failure: unknown,
  query: FailedQuery | undefined,
): Promise<unknown> {
  if (!(failure instanceof RowsLost) || query === undefined) return failure;
  const milliseconds = performance.now() - query.began;
  if (milliseconds >= longestAttempt) return failure;
  const limit = AbortSignal.timeout(1_000 + 2 * Math.ceil(milliseconds));
  const stop = () => connection.interrupt();
  limit.addEventListener('abort', stop);
  try {
    await connection.run(`explain analyze\n${query.sql}`);
  } catch (again) {
    if (limit.aborted) return failure;
    const reason = getReason(again);
    // The failure ended the transaction, so nothing more can run in it.
    if (!/transaction is aborted/.test(reason)) return new Error(reason.split(/\nLINE \d+:/)[0]?.trimEnd());
  } finally {
    limit.removeEventListener('abort', stop);
  }
  return failure;
}
