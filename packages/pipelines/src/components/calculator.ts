/** Adds columns computed by SQL expressions. A new column replaces an existing one of the same name. */
import { ParameterError, readCellText } from '../expressions/parameters.ts';
import type { Resolved } from '../expressions/resolve.ts';
import { type Dialect, SqlError } from '../sql/dialect/dialect.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { rowsParameter, yesNoParameter } from './definition/declared-parameters.ts';
import { getOnlySource, wrapUserExpression } from './definition/plan-parts.ts';
import { addColumns } from './projection.ts';

export const calculator: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Adds columns computed by SQL expressions. A new column replaces an existing one of the same name.',
  group: 'transform',
  parameters: {
    calculations: rowsParameter('The expressions and their columns.', ['SQL expression', 'column'], {
      required: true,
    }),
    includeInputColumns: yesNoParameter('Whether the columns of the source are kept.', 'Yes'),
  },
  example: `type: calculator
sources: [Orders]
parameters:
  calculations:
    - ["amount * 0.19", tax]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const calculations = parameters.rows('calculations', 2);
    if (calculations.length === 0) throw new ParameterError('"calculations" is empty: add a calculation');
    const computed = calculations.map((row) => ({
      name: readCellText(row, 1) || nameExpression(readCellText(row, 0)),
      sql: wrapCalculation(row, dialect),
    }));
    return addColumns(source, computed, parameters.yes('includeInputColumns', true), dialect);
  },
};

/** The name of an expression without a given one: its column's, else its text. */
function nameExpression(expression: string): string {
  const text = expression.trim();
  const quoted = /^(?:"(?:[^"]|"")+"\s*\.\s*)*"((?:[^"]|"")+)"$/.exec(text)?.[1];
  return quoted?.replaceAll('""', '"') ?? text;
}

/** The error names the calculation, because the whole query is not the user's. */
function wrapCalculation(row: readonly Resolved[], dialect: Dialect): string {
  try {
    return wrapUserExpression(readCellText(row, 0), dialect);
  } catch (error) {
    if (error instanceof SqlError)
      throw new SqlError(`the calculation of "${readCellText(row, 1)}": ${error.message}`);
    throw error;
  }
}
