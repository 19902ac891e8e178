/** Values that do not fit: other types of columns, other texts, fewer rows, or rows that a condition finds. */
import type { Supplies } from './supplies.ts';
import { textKinds } from './values.ts';

const isConversion =
  /Conversion Error|Malformed JSON|Could not convert|Could not parse|failed to cast|invalid (?:date|timestamp)/i;

/** The types of columns by the words of DuckDB's errors. */
const types: readonly (readonly [words: RegExp, type: string])[] = [
  [/to BOOL/i, 'BOOLEAN'],
  [/invalid timestamp|to TIMESTAMP/i, 'TIMESTAMP'],
  [/invalid date|to DATE/i, 'DATE'],
  [/to (?:DOUBLE|FLOAT|DECIMAL)/i, 'DECIMAL(18,2)'],
  [/to U?(?:HUGE|BIG|SMALL|TINY)?INT/i, 'BIGINT'],
];

/** Returns whether anything changed. `sql`: of the component that failed. */
export function supplyConversion(message: string, sql: string, supplies: Supplies): boolean {
  if (/More than one row returned by a subquery/.test(message) && supplies.rows > 1) {
    supplies.rows = 1;
    return true;
  }
  if (/the query returned no row/.test(message)) return supplyLiterals(sql, supplies);
  const called = /argument types '(\w+)\([A-Z]/.exec(message)?.[1];
  if (called !== undefined) return supplyNumbers(called, sql, supplies);
  if (!isConversion.test(message)) return false;
  const column = /when casting from source column ([^\n]+)/.exec(message)?.[1];
  const type = types.find(([words]) => words.test(message))?.[1] ?? 'VARCHAR';
  if (column !== undefined && (change(supplies, column, type) || change(supplies, column, 'VARCHAR')))
    return true;
  const literal = /(?:string|format:) ['"](.*?)['"](?:,| to )/s.exec(message)?.[1];
  if (literal !== undefined)
    for (const compared of findCompared(`${message}\n${sql}`, literal))
      if (change(supplies, compared, 'VARCHAR')) return true;
  return supplyTexts(message, supplies) || (column === undefined && loosen(type, sql, supplies));
}

/** All columns of a type in the tables that the component names become texts. */
function loosen(type: string, sql: string, supplies: Supplies): boolean {
  const found = [...supplies.tables].flatMap(([place, columns]) =>
    sql.toLowerCase().includes((place.split('"').at(-2) ?? place).toLowerCase()) ? [...columns] : [],
  );
  const names = found.flatMap(([name, before]) => (before === type ? [name] : []));
  return names.map((name) => change(supplies, name, 'VARCHAR')).includes(true);
}

/** Each column gets a type once. */
function change({ tables, changes }: Supplies, column: string, type: string): boolean {
  let isChanged = false;
  for (const [table, columns] of tables)
    for (const [name, before] of columns) {
      const key = `${table} ${name} ${type}`;
      if (name.toLowerCase() !== column.toLowerCase() || before === type || changes.has(key)) continue;
      changes.add(key).add(`${table} ${name} ${before}`);
      columns.set(name, type);
      isChanged = true;
    }
  return isChanged;
}

const comparison = /"?(\w+)"?\)*\s*(?:=|<>|!=|<=?|>=?|\bin\s*\()\s*'((?:[^']|'')*)'/gi;

/** The columns that SQL compares with a text. */
function findCompared(sql: string, literal: string): string[] {
  return [...sql.matchAll(comparison)].flatMap(([, name = '', text]) => (text === literal ? [name] : []));
}

/** The first row of a table has the texts that a condition wants. */
function supplyLiterals(sql: string, supplies: Supplies): boolean {
  let isAdded = false;
  for (const [, name = '', text = ''] of sql.matchAll(comparison)) {
    const key = name.toLowerCase();
    if (supplies.values.has(key)) continue;
    supplies.values.set(key, text.replaceAll("''", "'"));
    change(supplies, name, 'VARCHAR');
    isAdded = true;
  }
  return isAdded;
}

/** A function that wants a number. */
function supplyNumbers(called: string, sql: string, supplies: Supplies): boolean {
  const calls = new RegExp(`\\b${called}\\(\\s*"?(\\w+)"?`, 'gi');
  return [...sql.matchAll(calls)].some(([, column = '']) => change(supplies, column, 'BIGINT'));
}

/** A text that cannot be converted: the next kind of texts. */
function supplyTexts(message: string, supplies: Supplies): boolean {
  const next = /json/i.test(message) ? 'json' : textKinds[textKinds.indexOf(supplies.texts) + 1];
  if (
    next === undefined ||
    supplies.texts === next ||
    textKinds.indexOf(next) < textKinds.indexOf(supplies.texts)
  )
    return false;
  supplies.texts = next;
  return true;
}
