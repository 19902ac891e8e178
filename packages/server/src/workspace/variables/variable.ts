/** The rules of variables: which values a type allows. Pure. */
import type { GridValue, VariableType, VariableValue } from '@headgate/contract';
import { gridColumnLimit, gridRowLimit, textLimit } from '@headgate/contract';

/** Describes a value that does not have the type; undefined if it does. */
export function explainMisfit(type: VariableType, value: unknown): string | undefined {
  switch (type) {
    case 'TEXT':
      if (typeof value !== 'string') return describeKind(value);
      return value.length > textLimit ? `a text longer than ${textLimit} characters` : undefined;
    case 'NUMBER':
      return typeof value === 'number' && Number.isFinite(value) ? undefined : describeKind(value);
    case 'GRID':
      return explainGridMisfit(value);
  }
}

export function hasType(type: VariableType, value: unknown): value is VariableValue {
  return explainMisfit(type, value) === undefined;
}

/** The value to store: of a grid only the documented members. */
export function pickKnownValue(value: VariableValue): VariableValue {
  if (typeof value !== 'object') return value;
  return { columns: value.columns.map(({ name, type }) => ({ name, type })), rows: value.rows };
}

/** The value of a variable created without one; NUMBER has no empty value. */
export function getEmptyValue(type: VariableType): VariableValue | undefined {
  if (type === 'TEXT') return '';
  return type === 'GRID' ? { columns: [], rows: [] } : undefined;
}

function explainGridMisfit(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return describeKind(value);
  const { columns, rows } = value as Partial<GridValue>;
  if (!Array.isArray(columns) || !Array.isArray(rows))
    return 'an object without the arrays `columns` and `rows`';
  if (columns.length > gridColumnLimit) return `a grid with more than ${gridColumnLimit} columns`;
  if (rows.length > gridRowLimit) return `a grid with more than ${gridRowLimit} rows`;
  const names = new Set<string>();
  for (const [index, column] of columns.entries()) {
    if (typeof column?.name !== 'string' || column.name === '' || column.name.length > 255) {
      return `a grid whose column ${index} has no name of 1 to 255 characters`;
    }
    if (column.type !== 'TEXT' && column.type !== 'NUMBER')
      return `a grid whose column ${index} has a type other than TEXT or NUMBER`;
    if (names.has(column.name)) return `a grid with two columns named ${JSON.stringify(column.name)}`;
    names.add(column.name);
  }
  for (const [index, row] of rows.entries()) {
    const fault = explainRowMisfit(columns, row);
    if (fault !== undefined) return `a grid whose row ${index} ${fault}`;
  }
  return undefined;
}

function explainRowMisfit(columns: GridValue['columns'], row: unknown): string | undefined {
  if (!Array.isArray(row)) return 'is not an array';
  if (row.length !== columns.length) return `has ${row.length} cells for ${columns.length} columns`;
  for (const [index, column] of columns.entries()) {
    const cell: unknown = row[index];
    if (cell === null) continue;
    const fits =
      column.type === 'TEXT' ? typeof cell === 'string' : typeof cell === 'number' && Number.isFinite(cell);
    if (!fits) return `has ${describeKind(cell)} in the ${column.type} column ${JSON.stringify(column.name)}`;
    if (typeof cell === 'string' && cell.length > textLimit)
      return `has a text longer than ${textLimit} characters`;
  }
  return undefined;
}

function describeKind(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
