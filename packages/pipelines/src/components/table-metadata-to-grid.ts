/** Fills a grid variable with the columns of a table. */
import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import type { Grid, GridRows, Scalar } from '../expressions/variables.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { placeParameters, rowsParameter, textParameter } from './definition/declared-parameters.ts';
import { readMapping, readTableReference } from './definition/plan-parts.ts';
import { findGridColumn, gridParameter } from './query-to-grid.ts';

interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly size: string | null;
  readonly precision: string | null;
}

/** What can be known about a column, in the order of a mapping that is a list. */
const properties: Readonly<Record<string, (column: TableColumn) => Scalar>> = {
  'Column Name': ({ name }) => name,
  'Data Type': ({ type }) => type,
  Size: ({ size }) => size,
  Precision: ({ precision }) => precision,
};
const otherWords: Readonly<Record<string, string>> = {
  Name: 'Column Name',
  Column: 'Column Name',
  Type: 'Data Type',
  'Decimal Places': 'Precision',
  Scale: 'Precision',
};

export const tableMetadataToGrid: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about:
    'Fills a grid variable with one row for each column of a table: its name, type, size and precision. `create-table` can take its columns from such a grid. Fails if there is no such table.',
  group: 'variables',
  parameters: {
    targetTable: textParameter('The table.', { required: true, otherNames: ['table'] }),
    ...placeParameters,
    gridVariable: gridParameter,
    gridVariableMapping: rowsParameter(
      'Rows of a property (`Column Name`, `Data Type`, `Size`, `Precision`) and a column of the grid. Or a list of columns of the grid that take the properties in this order; an empty name leaves one out.',
      ['property', 'grid column?'],
      { required: true },
    ),
  },
  example: `type: table-metadata-to-grid
parameters:
  targetTable: orders
  gridVariable: columns
  gridVariableMapping:
    - [Column Name, name]
    - [Data Type, type]`,
  plan({ parameters, dialect }) {
    const reference = readTableReference(parameters, 'targetTable');
    const name = parameters.text('gridVariable');
    const read = createMappingReader(parameters);
    return {
      action: 'query-grid',
      query: dialect.tableColumns(reference),
      grid: name,
      select({ rows }, grid) {
        if (rows.length === 0)
          throw new ParameterError(
            `there is no table "${reference.table}": create it first or correct the name`,
          );
        return selectProperties(rows.map(readColumn), grid, read({ ...grid, name }));
      },
    };
  },
};

type Property = (column: TableColumn) => Scalar;

/** Reads the mapping for a grid: the property of each of its columns. */
function createMappingReader(parameters: Parameters) {
  const pairs = parameters.rows('gridVariableMapping', 1).some((row) => row.length > 1);
  if (pairs) {
    const mapping = readMapping(parameters, 'gridVariableMapping').map(
      ([word, column]) => [readProperty(word), column] as const,
    );
    return (grid: Pick<Grid, 'columns'> & { name: string }) =>
      new Map(mapping.map(([property, column]) => [findGridColumn(grid, column), property] as const));
  }
  const list = parameters.rows('gridVariableMapping', 1).map(([cell]) => String(cell ?? ''));
  const known = Object.values(properties);
  return (grid: Pick<Grid, 'columns'> & { name: string }) => {
    const isProperty = (word: string) =>
      findProperty(word) !== undefined && !grid.columns.some(({ name }) => name === word);
    // A list of properties goes to the first columns of the grid.
    if (list.length > 0 && list.every(isProperty))
      return new Map(list.map((word, index) => [index, readProperty(word)] as const));
    return new Map(
      list.flatMap((column, index) => {
        const property = known[index];
        return column === '' || property === undefined
          ? []
          : [[findGridColumn(grid, column), property] as const];
      }),
    );
  };
}

function selectProperties(
  columns: readonly TableColumn[],
  grid: Grid,
  mapping: ReadonlyMap<number, Property>,
): GridRows {
  return columns.map((column) => grid.columns.map((_, index) => mapping.get(index)?.(column) ?? null));
}

function findProperty(word: string): Property | undefined {
  const words = word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_]+/g, ' ');
  const other = Object.keys(otherWords).find((each) => each.toLowerCase() === words);
  const name = other === undefined ? words : (otherWords[other] as string).toLowerCase();
  const found = Object.keys(properties).find((each) => each.toLowerCase() === name);
  return found === undefined ? undefined : properties[found];
}

function readProperty(word: string): Property {
  const property = findProperty(word);
  if (property !== undefined) return property;
  throw new ParameterError(
    `"gridVariableMapping" names the property "${word}", which a column does not have: use one of ${Object.keys(properties).join(', ')}`,
  );
}

/** The warehouse's types under the names that `create-table` reads. */
const typeNames: Readonly<Record<string, string>> = {
  DECIMAL: 'NUMBER',
  BLOB: 'BINARY',
  JSON: 'VARIANT',
  'TIMESTAMP WITH TIME ZONE': 'TIMESTAMP_TZ',
};

/** Splits a type such as DECIMAL(12,2). */
function readColumn([name, type]: readonly unknown[]): TableColumn {
  const [, written = '', size = null, precision = null] =
    /^([^(]*)(?:\((\d+)(?:,\s*(\d+))?\))?$/.exec(String(type)) ?? [];
  const word = written.trimEnd();
  const known = Object.hasOwn(typeNames, word) ? typeNames[word] : undefined;
  return { name: String(name), type: known ?? (word === '' ? String(type) : word), size, precision };
}
