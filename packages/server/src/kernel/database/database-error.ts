/** What may go wrong between the server and PostgreSQL. */
import pg from 'pg';

/**
 * The error of a statement, by SQLSTATE; the names of the constraint that was broken is what a race is
 * answered by.
 */
export interface DatabaseError extends Error {
  code: string;
  constraint?: string;
  detail?: string;
}

export function isDatabaseError(failure: unknown): failure is DatabaseError {
  return failure instanceof pg.DatabaseError && typeof failure.code === 'string';
}

/** SQLSTATE of a write to a server that only reads: a standby, after a failover. */
const readOnly = '25006';

/**
 * Whether the connection that brought a failure can serve nobody else: it broke, or its server became a
 * standby or ends.
 */
export function isConnectionSpent(failure: unknown): boolean {
  return !isDatabaseError(failure) || failure.code === readOnly || /^(08|57P0)/.test(failure.code);
}

/** Whether a failure says that the database went away or refuses work, not that the statement was wrong. */
export function isUnavailable(failure: unknown): boolean {
  if (isDatabaseError(failure)) {
    // 08 connection, 53 resources (a full disk among them), 57P0x shutdown and crash, 58000 and 58030 errors
    // of the system and of I/O; a server that became a standby; a lock, or an answer, that did not come in
    // time.
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

/** SQLSTATE of a refusal: what a write was judged by is not as it was read. */
export const conflictCode = 'HG412';
