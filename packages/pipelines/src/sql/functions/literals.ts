/** Reads and writes literals of DuckDB's SQL. */
import { type FunctionCall, refuseCall } from './call.ts';

/** The value of a text literal; undefined if the SQL is another expression. */
export function readText(sql: string | undefined): string | undefined {
  const text = sql?.trim();
  if (text === undefined || !/^'(?:[^']|'')*'$/.test(text)) return undefined;
  return text.slice(1, -1).replaceAll("''", "'");
}

/** The value of a whole number with or without a sign; undefined if the SQL is another expression. */
export function readInteger(sql: string | undefined): number | undefined {
  const text = sql?.replaceAll(/\s/g, '');
  return text !== undefined && /^[-+]?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** @throws SqlError if the argument is not a text literal */
export function requireText(call: FunctionCall, index: number, what: string): string {
  return (
    readText(call.args[index]) ??
    refuseCall(call.name, `the ${what} must be a text in quotes, not ${call.source[index] ?? 'absent'}`)
  );
}

/** @throws SqlError if the argument is not a whole number */
export function requireInteger(call: FunctionCall, index: number, what: string): number {
  return (
    readInteger(call.args[index]) ??
    refuseCall(call.name, `the ${what} must be a whole number, not ${call.source[index] ?? 'absent'}`)
  );
}
