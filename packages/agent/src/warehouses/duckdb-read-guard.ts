/**
 * Interrupts queries of people and assistants before the process reaches the limit at which it is killed with all
 * runs of the environment. DuckDB's own limit does not count lists, texts and states of aggregates (ADR 0030), and the
 * statement that took the memory is not known: the queries give way, because they can be sent again and runs cannot.
 */
import type { DuckDBConnection } from '@duckdb/node-api';

const periodMilliseconds = 10;
/** What the program needs besides DuckDB's memory. */
const programMegabytes = 128;
/** A query during which the process grew by less goes on: memory that earlier statements left is not always freed. */
const harmlessMegabytes = 16;
const bytesOfMegabyte = 1_048_576;

interface Query {
  bytesBefore: number;
  isInterrupted: boolean;
}

export interface ReadGuard {
  /** Runs a query. @throws Error that names the settings if the process has too little memory for it */
  run<Result>(connection: DuckDBConnection, query: () => Promise<Result>): Promise<Result>;
}

export function createReadGuard(
  bounds: { memoryMegabytes: number; processMegabytes: number },
  measure: () => number = process.memoryUsage.rss,
): ReadGuard {
  const limitMegabytes = computeLimit(bounds);
  const running = new Map<DuckDBConnection, Query>();
  let timer: NodeJS.Timeout | undefined;

  function check(): void {
    const bytes = measure();
    if (bytes <= limitMegabytes * bytesOfMegabyte) return;
    for (const [connection, query] of running) {
      if (bytes - query.bytesBefore < harmlessMegabytes * bytesOfMegabyte) continue;
      query.isInterrupted = true;
      connection.interrupt();
    }
  }

  return {
    async run(connection, query) {
      const state = { bytesBefore: measure(), isInterrupted: false };
      running.set(connection, state);
      timer ??= setInterval(check, periodMilliseconds);
      try {
        return await query();
      } catch (failure) {
        throw state.isInterrupted ? new Error(describeLimit(limitMegabytes)) : failure;
      } finally {
        running.delete(connection);
        if (running.size === 0) {
          clearInterval(timer);
          timer = undefined;
        }
      }
    },
  };
}

/** In the middle between what DuckDB may take and what kills the process: a query needs time to end. */
function computeLimit({ memoryMegabytes, processMegabytes }: Parameters<typeof createReadGuard>[0]): number {
  const full = memoryMegabytes + programMegabytes;
  return Math.floor(full + Math.max(0, processMegabytes - full) / 2);
}

function describeLimit(megabytes: number): string {
  return `the query was interrupted because the warehouse’s process had more than ${megabytes} MB of memory, and runs go first: make the query smaller, try again when fewer runs work, or raise HEADGATE_AGENT_WAREHOUSE_PROCESS_MEMORY_MB of the agent`;
}
