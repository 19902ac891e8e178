/** Adds a column whose value depends on conditions. */

import { ParameterError, readCellText } from '../expressions/parameters.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import { readCondition } from './definition/comparator.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { listComparable, readTypes, renderCondition, renderTypeQuery } from './definition/condition-sql.ts';
import { conditionCells, rowsParameter, textParameter } from './definition/declared-parameters.ts';
import { readOperand } from './definition/operand.ts';
import { getOnlySource, wrapUserExpression } from './definition/plan-parts.ts';
import { addColumns } from './projection.ts';

export const mapValues: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about:
    'Adds a column whose value is that of the first row whose condition holds. A value is a text, a number or SQL, as in filter.',
  group: 'transform',
  parameters: {
    valueMap: rowsParameter('The conditions and their values.', [...conditionCells, 'result'], {
      required: true,
    }),
    columnName: textParameter('The column.', { required: true }),
    other: textParameter('The value if no condition holds. Empty: NULL.'),
  },
  example: `type: map-values
sources: [Orders]
parameters:
  valueMap:
    - [amount, Is, Greater than, "100", large]
    - [amount, Is, "Null", "", unknown]
  other: small
  columnName: size`,
  sources: [1, 1],
  lookUp(context) {
    return renderTypeQuery(context.parameters.rows('valueMap', 5), getOnlySource(context), context.dialect);
  },
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const rows = parameters.rows('valueMap', 5);
    if (rows.length === 0) throw new ParameterError('"valueMap" is empty: add a condition and its value');
    const other = parameters.optionalText('other');
    const results = [...rows.map((row) => readCellText(row, 4)), ...(other === undefined ? [] : [other])];
    const isNumeric = results.every((result) => /^\s*-?\d{1,18}(?:\.\d{1,18})?\s*$/.test(result));
    const render = (result: string) => renderResult(result, isNumeric, dialect);
    const compared = { columns: source.columns, types: readTypes(context.found) };
    const cases = rows.map((row) => {
      const condition = readCondition(row);
      const when = renderCondition(condition, dialect, listComparable(condition, compared));
      return `WHEN ${when} THEN ${render(readCellText(row, 4))}`;
    });
    const otherwise = other === undefined ? '' : ` ELSE ${render(other)}`;
    const sql = `CASE ${cases.join(' ')}${otherwise} END`;
    return addColumns(source, [{ name: parameters.text('columnName'), sql }], true, dialect);
  },
};

function renderResult(result: string, isNumeric: boolean, dialect: Dialect): string {
  if (isNumeric) return result.trim();
  const { kind, text } = readOperand(result, '', undefined, dialect.user.lexical);
  return kind === 'expression' ? wrapUserExpression(text, dialect) : dialect.literal(text);
}
