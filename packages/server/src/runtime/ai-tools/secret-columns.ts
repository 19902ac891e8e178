/**
 * Masks rows by the names of columns, as texts of files are masked by the names before them. A query can rename a
 * column, so the names in its SQL count too.
 */
import { isSecretName } from '@headgate/pipelines';

type Rows = readonly (readonly unknown[])[];

export interface HiddenRows {
  rows: Rows;
  /** The names for which all texts are masked. */
  names: readonly string[];
}

const mask = '[masked]';
/** Shorter values are in many texts. */
const shortestValue = 4;

export function hideSecretColumns(sql: string, columns: readonly string[], rows: Rows): HiddenRows {
  const names = listRenamed(sql, columns);
  const isSecret = columns.map(isSecretName);
  const values = listValues(isSecret, rows);
  const hide = (value: unknown, index: number) => {
    if (value === null) return value;
    if (isSecret[index]) return mask;
    if (names.length > 0 && typeof value !== 'number' && typeof value !== 'boolean') return mask;
    return typeof value === 'string' ? hideValues(value, values) : value;
  };
  return { rows: rows.map((row) => row.map(hide)), names };
}

/** Names of secrets that stand in the SQL more often than above the columns. Texts and comments are not left out. */
function listRenamed(sql: string, columns: readonly string[]): string[] {
  const shown = columns.map((column) => column.toLowerCase());
  const renamed = new Set<string>();
  for (const word of listWords(sql.toLowerCase())) {
    if (!isSecretName(word)) continue;
    const at = shown.indexOf(word);
    if (at === -1) renamed.add(word);
    else shown.splice(at, 1);
  }
  return [...renamed];
}

/** A name in quotes may have hyphens; elsewhere a hyphen subtracts, and two begin a comment. */
function listWords(sql: string): string[] {
  const words = sql.match(/[\p{L}_][\p{L}\p{N}_$-]*/gu) ?? [];
  return words.flatMap((word) => (isSecretName(word) ? word : word.split('-')));
}

/** The values of columns with names of secrets, the longest first. */
function listValues(isSecret: readonly boolean[], rows: Rows): string[] {
  const values = rows.flatMap((row) =>
    row.flatMap((value, index) => (isSecret[index] && typeof value === 'string' ? [value] : [])),
  );
  return [...new Set(values)]
    .filter(({ length }) => length >= shortestValue)
    .sort((one, other) => other.length - one.length);
}

function hideValues(text: string, values: readonly string[]): string {
  return values.reduce((hidden, value) => hidden.replaceAll(value, mask), text);
}
