/** Classifies failures of PostgreSQL and of the connection to it. */
import pg from 'pg';

/** A failed statement, with its SQLSTATE. `constraint` names the violated constraint. */
export interface DatabaseError extends Error {
  code: string;
  constraint?: string;
  detail?: string;
}

export function isDatabaseError(failure: unknown): failure is DatabaseError {
  return failure instanceof pg.DatabaseError && typeof failure.code === 'string';
}

/** SQLSTATE of a write to a read-only server: a standby, after a failover. */
const readOnly = '25006';

/**
 * Whether a failure makes the connection unusable: it broke, or its server became a standby or is shutting
 * down.
 */
export function isConnectionSpent(failure: unknown): boolean {
  return !isDatabaseError(failure) || failure.code === readOnly || /^(08|57P0)/.test(failure.code);
}

/** Whether the database is unreachable or refuses work, so that the same statement may succeed later. */
export function isUnavailable(failure: unknown): boolean {
  if (isDatabaseError(failure)) {
    // 08 connection, 53 resources (including a full disk), 57P0x shutdown and crash, 58000 and 58030 system
    // and I/O errors, a server that became a standby, a lock timeout, a statement timeout.
    return /^(08|53|57P0|580)/.test(failure.code) || [readOnly, '55P03', '57014'].includes(failure.code);
  }
  if (!(failure instanceof Error)) return false;
  const code = 'code' in failure ? String(failure.code) : '';
  return (
    ['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'ENOTFOUND'].includes(code) ||
    /Connection terminated|connection error|timeout exceeded when trying to connect|Client was closed|Cannot use a pool after/i.test(
      failure.message,
    )
  );
}

/** Whether the database has no disk space left (SQLSTATE 53100). */
export function isDiskFull(failure: unknown): boolean {
  return isDatabaseError(failure) && failure.code === '53100';
}

/** SQLSTATE raised when the rows that a write depends on changed after they were read. */
export const conflictCode = 'HG412';
