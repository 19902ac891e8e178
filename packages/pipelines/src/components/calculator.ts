/** Adds columns computed by SQL expressions. A new column replaces an existing one of the same name. */
import { ParameterError, readCellText } from '../parameters.ts';
import type { Resolved } from '../resolve.ts';
import { type Dialect, SqlError } from '../sql/dialect.ts';
import {
  getOnlySource,
  listColumnsExcept,
  renderColumnsExcept,
  type TransformationDefinition,
  wrapUserExpression,
} from './component.ts';
import { rowsParameter, yesNoParameter } from './declared-parameters.ts';

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
    const names = calculations.map((row) => readCellText(row, 1));
    const list = calculations.map(
      (row) => `${wrapCalculation(row, dialect)} AS ${dialect.name(readCellText(row, 1))}`,
    );
    const include = parameters.yes('includeInputColumns', true);
    const kept = include ? renderColumnsExcept(source, names, dialect) : '';
    const keptNames = include ? listColumnsExcept(source.columns, names) : [];
    return {
      select: `SELECT ${[kept, ...list].filter((part) => part !== '').join(', ')}\nFROM ${source.name}`,
      columns: keptNames === undefined ? undefined : [...keptNames, ...names],
    };
  },
};

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
