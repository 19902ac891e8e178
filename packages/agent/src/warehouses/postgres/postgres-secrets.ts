/**
 * Sends a statement with secrets. PostgreSQL shows the texts of statements to all sessions of the same role, and keeps
 * the last one of an idle session, but shows no values of parameters.
 */
import type { SecretSql } from '../../engine/ports/ports.ts';
import { readFirstWord } from '../statements/sql-words.ts';
import { getServerCode } from './postgres-errors.ts';

export interface SentResult {
  columns: string[];
  rowCount: number;
}

type OnRow = (row: (string | number | boolean | null)[]) => boolean;

export interface SecretWay {
  isInTransaction: boolean;
  send(sql: string, values?: readonly string[], onRow?: OnRow): Promise<SentResult>;
}

/**
 * What PostgreSQL says of a parameter where only a literal may stand, or whose type cannot be told: syntax error, no
 * such parameter, a parameter too many, ambiguous or indeterminate type, not the column of GROUP BY, type mismatch, no
 * such or no single operator, a kind of view without parameters.
 */
const needsLiteral = new Set([
  '42601',
  '42P02',
  '08P01',
  '42P08',
  '42P18',
  '42803',
  '42804',
  '42883',
  '42725',
  '0A000',
]);
/** A statement that cannot run inside of a block. */
const needsTop = new Set(['25001', '0A000']);
const savepoint = 'headgate_secret';
const setting = 'headgate.statement';
const setStatement = `select set_config('${setting}', $1, false)`;
const runBlock = `do $headgate$ begin execute current_setting('${setting}'); end $headgate$`;

export async function sendSecret(
  statement: { sql: string; secret: SecretSql; onRow: OnRow },
  way: SecretWay,
): Promise<SentResult> {
  const { sql, secret, onRow } = statement;
  const bound = secret.values.length > 0 ? await sendBound(secret, onRow, way) : undefined;
  if (bound !== undefined) return bound;
  if (['create', 'alter'].includes(readFirstWord(sql))) {
    const result = await sendInBlock(sql, way);
    if (result !== undefined) return result;
  }
  try {
    return await way.send(sql, [], onRow);
  } finally {
    // Replaces the text that is shown while the session is idle.
    await way.send('').catch(() => undefined);
  }
}

/** Undefined if the statement needs its literals. It had no effect then. */
async function sendBound(
  { sql, values }: SecretSql,
  onRow: OnRow,
  { isInTransaction, send }: SecretWay,
): Promise<SentResult | undefined> {
  let hasRows = false;
  if (isInTransaction) await send(`savepoint ${savepoint}`);
  try {
    const result = await send(sql, values, (row) => {
      hasRows = true;
      return onRow(row);
    });
    if (isInTransaction) await send(`release savepoint ${savepoint}`);
    return result;
  } catch (failure) {
    if (hasRows || !needsLiteral.has(getServerCode(failure) ?? '')) throw failure;
    if (isInTransaction) await send(`rollback to savepoint ${savepoint}`);
    return undefined;
  }
}

/** Only the text of the block is shown. Undefined if the statement cannot run in one. It had no effect then. */
async function sendInBlock(
  sql: string,
  { isInTransaction, send }: SecretWay,
): Promise<SentResult | undefined> {
  await send(setStatement, [sql]);
  try {
    await send(runBlock);
    return { columns: [], rowCount: 0 };
  } catch (failure) {
    if (isInTransaction || !needsTop.has(getServerCode(failure) ?? '')) throw failure;
    return undefined;
  } finally {
    await send(setStatement, ['']).catch(() => undefined);
  }
}
