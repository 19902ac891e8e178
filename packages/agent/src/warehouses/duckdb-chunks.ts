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
import { getReason } from '../log.ts';

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

/**
 * The reason of a failure. For lost rows, a query runs again without giving its rows.
 *
 * @param query undefined for a statement that must not run twice
 */
export async function findReason(
  connection: DuckDBConnection,
  failure: unknown,
  query: string | undefined,
): Promise<unknown> {
  if (!(failure instanceof RowsLost) || query === undefined) return failure;
  try {
    await connection.run(`explain analyze\n${query}`);
  } catch (again) {
    const reason = getReason(again);
    // The failure ended the transaction, so nothing more can run in it.
    if (!/transaction is aborted/.test(reason)) return new Error(reason.split(/\n+LINE \d+:/)[0]);
  }
  return failure;
}
