/** Types and values of what is supplied, by the names of columns and variables. */

/** In the order in which they are tried. */
export const textKinds = ['number', 'date', 'word', 'json'] as const;
export type TextKind = (typeof textKinds)[number];

/** Of a column without a known type, by its name. */
export function guessType(column: string): string {
  const name = column.toLowerCase();
  if (/^(?:is|has)_|_flag$/.test(name)) return 'BOOLEAN';
  if (/(?:_at|timestamp|datetime|_ts|_time)$|^(?:created|updated|modified)/.test(name)) return 'TIMESTAMP';
  if (/date$|^date|_dt$|^day$/.test(name)) return 'DATE';
  if (/amount|price|cost|total|revenue|sales|rate|score|salary|balance|percent|avg|sum/.test(name))
    return 'DECIMAL(18,2)';
  if (
    /(?:^|_)(?:id|key|sk|count|qty|quantity|number|num|no|year|month|age|rank|version|size|duration)$/.test(
      name,
    )
  )
    return 'BIGINT';
  if (/(?:^|_)(?:variant|json|payload|raw|data|src)$/.test(name)) return 'JSON';
  return 'VARCHAR';
}

export const quoteText = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** A number from 0, always the same for the same seed and text. */
function hash(seed: number, text: string): number {
  let value = 2_166_136_261 ^ seed;
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 16_777_619);
  return value >>> 0;
}

export const rowCount = 5;
const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon'];

export function renderValue(
  column: string,
  type: string,
  row: number,
  texts: TextKind,
  seed: number,
): string {
  const number = (hash(seed, column) % 90) + row;
  const day = `2024-0${1 + (row % 9)}-1${row % 10}`;
  if (type === 'BOOLEAN') return row % 2 === 0 ? 'true' : 'false';
  if (type === 'DATE') return quoteText(day);
  if (type === 'TIMESTAMP') return quoteText(`${day} 0${row}:30:00`);
  if (type === 'JSON')
    return quoteText(`{"id":${row},"name":${JSON.stringify(words[row % 5])},"items":[{"id":${row}}]}`);
  // Keys are 1 to 5 in each table, so that joins have rows.
  if (type === 'BIGINT') return String(row + 1);
  if (type.startsWith('DECIMAL') || type === 'DOUBLE') return `${number}.25`;
  if (texts === 'number') return quoteText(String(row + 1));
  if (texts === 'date') return quoteText(day);
  if (texts === 'json') return quoteText(`{"id":${row},"name":${JSON.stringify(words[row % 5])}}`);
  return quoteText(words[row % 5] ?? '');
}

/** The same without quotes, as files have it. */
export function renderPlain(
  column: string,
  type: string,
  row: number,
  texts: TextKind,
  seed: number,
): string {
  const known = /^(?:BOOLEAN|DATE|TIMESTAMP|JSON|BIGINT|DECIMAL|DOUBLE)/.exec(type)?.[0];
  const isWhole = /INT|^DECIMAL\(\d+,0\)/.test(type);
  const value = renderValue(column, isWhole ? 'BIGINT' : (known ?? type), row, texts, seed);
  return value.startsWith("'") ? value.slice(1, -1).replaceAll("''", "'") : value;
}

/** Of a variable, by its name. */
export function guessValue(name: string): string {
  const lower = name.toLowerCase();
  if (/database|catalog|_db\b|^db/.test(lower)) return 'warehouse';
  if (/schema/.test(lower)) return 'main';
  if (/date|time/.test(lower)) return '2024-01-01';
  return /table|name|path|bucket|url|email|env|file/.test(lower) ? 'supplied' : '1';
}

/** Of a column of a grid variable, by its name. */
export function guessCell(column: string, row: number): string {
  const name = column.toLowerCase();
  if (/type/.test(name)) return 'VARCHAR';
  if (/size|length/.test(name)) return '50';
  if (/precision|scale|decimal/.test(name)) return '0';
  if (/null|key|unique/.test(name)) return 'No';
  if (/default|comment/.test(name)) return '';
  return `${name.replaceAll(/\W/g, '_')}_${row + 1}`;
}
