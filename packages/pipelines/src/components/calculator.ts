/** Adds columns computed by SQL expressions. A new column replaces an existing one of the same name. */
import { ParameterError, readCellText } from '../parameters.ts';
import { getOnlySource, type TransformationDefinition, wrapUserExpression } from './component.ts';
import { rowsParameter, yesNoParameter } from './declared-parameters.ts';
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
    const computed = calculations.map((row) => {
      const expression = readCellText(row, 0);
      const name = readCellText(row, 1) || nameExpression(expression);
      return { name, sql: wrapUserExpression(expression) };
    });
    return addColumns(source, computed, parameters.yes('includeInputColumns', true), dialect);
  },
};

/** The name of an expression without a given one: its column's, else its text. */
function nameExpression(expression: string): string {
  const text = expression.trim();
  const quoted = /^(?:"(?:[^"]|"")+"\s*\.\s*)*"((?:[^"]|"")+)"$/.exec(text)?.[1];
  return quoted?.replaceAll('""', '"') ?? text;
}
