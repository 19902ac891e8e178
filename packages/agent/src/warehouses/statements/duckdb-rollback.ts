import type { DuckDBConnection } from '@duckdb/node-api';
import { getReason } from '../../log.ts';

/** Interrupts come at most every few milliseconds, and a ROLLBACK takes less than one. */
const mostAttempts = 100;

/**
 * Ends the transaction of a connection, if there is one. A late interrupt may stop the ROLLBACK itself: then the
 * failed transaction is still there, and every later statement of the connection fails.
 */
export async function rollBack(connection: DuckDBConnection): Promise<void> {
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    try {
      await connection.run('rollback');
      return;
    } catch (failure) {
      // Or there is no transaction, for example because BEGIN was interrupted.
      if (!/^INTERRUPT Error/.test(getReason(failure))) return;
    }
  }
}
