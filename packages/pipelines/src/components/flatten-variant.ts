/** Takes columns out of columns with JSON, and makes rows of their arrays. */
import { ParameterError, readCellText, readCellYes } from '../expressions/parameters.ts';
import type { Resolved } from '../expressions/resolve.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { rowsParameter, yesNoParameter } from './definition/declared-parameters.ts';
import { getOnlySource, isSameName } from './definition/plan-parts.ts';
import { createJsonStages, type JsonStages } from './json-stages.ts';
import { readPath, renderAt, renderColumnCast, renderJsonCast } from './json-values.ts';

export const flattenVariant: TransformationDefinition = {
  kind: 'transformation',
  embeddedOnly: true,
  output: false,
  about:
    'Takes columns out of columns with JSON. `columnFlattens` makes a row of each element of an array; `columnMapping` takes values of columns and of elements.',
  group: 'transform',
  parameters: {
    columnMapping: rowsParameter(
      'The values: of a column or of the alias of a flatten, by a path such as `address.city`. An empty path is the whole value; an empty new column is named like the path.',
      ['column or alias', 'path', 'type', 'new column?'],
      { required: true },
    ),
    columnFlattens: rowsParameter(
      'The arrays whose elements become rows. Outer: whether rows without elements are kept. Mode: Both, Array or Object.',
      ['column or alias', 'path', 'alias', 'outer?', 'recursive?', 'mode?'],
    ),
    includeInputColumns: yesNoParameter('Whether the columns of the source are kept.', 'Yes'),
  },
  example: `type: flatten-variant
sources: [Responses]
parameters:
  includeInputColumns: "No"
  columnFlattens:
    - [data, orders, o, "No", "No", Both]
  columnMapping:
    - [data, customer.name, VARCHAR, customer]
    - [o, amount, NUMBER, amount]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const stages = createJsonStages(getOnlySource(context), dialect);
    const elements = new Map<string, string>();
    for (const row of parameters.rows('columnFlattens', 3)) addFlatten(row, elements, stages, dialect);
    const columns = parameters.rows('columnMapping', 3).map((row) => {
      const [name, path] = [readCellText(row, 0), readCellText(row, 1)];
      const element = elements.get(toKey(name));
      const type = dialect.type(readType(readCellText(row, 2)));
      const target = readCellText(row, 3) || path || name;
      if (element === undefined && path.trim() === '' && type !== 'JSON')
        return { name: target, sql: renderColumnCast(dialect.name(name), type, dialect) };
      const json = element ?? stages.readColumn(name);
      const at = renderAt(json, readPath(path), dialect);
      // An element itself is called its value.
      const value = element !== undefined && isSameName(path, 'value') ? `coalesce(${at}, ${json})` : at;
      return { name: target, sql: renderJsonCast(value, type, false, dialect) };
    });
    if (columns.length === 0) throw new ParameterError('"columnMapping" is empty: map a value');
    return stages.render(columns, parameters.yes('includeInputColumns', true));
  },
};

/** The alias of a flatten may be followed by `.value`. */
const toKey = (name: string) =>
  name
    .trim()
    .toLowerCase()
    .replace(/\.value$/, '');

function addFlatten(
  row: readonly Resolved[],
  elements: Map<string, string>,
  stages: JsonStages,
  dialect: Dialect,
): void {
  const [column, path, alias] = [readCellText(row, 0), readCellText(row, 1), readCellText(row, 2)];
  if (alias === '') throw new ParameterError(`"columnFlattens" has no alias for "${column}": fill it in`);
  if (readCellYes(row, 4, `"recursive" of "${alias}"`)) {
    throw new ParameterError(
      `the flatten "${alias}" is recursive, which is not supported: add a flatten for each level`,
    );
  }
  const mode = readCellText(row, 5).trim().toUpperCase() || 'BOTH';
  if (mode !== 'BOTH' && mode !== 'ARRAY' && mode !== 'OBJECT')
    throw new ParameterError(
      `the mode of "${alias}" is "${readCellText(row, 5)}": use Both, Array or Object`,
    );
  const json = elements.get(toKey(column)) ?? stages.readColumn(column);
  const isOuter = readCellYes(row, 3, `"outer" of "${alias}"`);
  const at = renderAt(json, readPath(path), dialect);
  elements.set(toKey(alias), stages.unnest(at, isOuter, mode === 'BOTH' ? undefined : mode));
}

/** `NUMBER(10, 2)` or `NUMBER`. */
function readType(text: string): { type: string; size?: string; precision?: string } {
  const [, type = text, size, precision] = /^([\w\s]+)\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)\s*$/.exec(text) ?? [];
  return {
    type: type.trim() || 'VARIANT',
    ...(size === undefined ? {} : { size }),
    ...(precision === undefined ? {} : { precision }),
  };
}
