/** Adds columns that SQL expressions give; one of an existing column's name takes its place. */
import { cellText, ParameterError } from '../parameters.ts';
import {
  columnNamesBut,
  columnsBut,
  onlySource,
  type TransformationDefinition,
  userExpression,
} from './component.ts';

export const calculator: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  required: ['calculations'],
  optional: ['includeInputColumns'],
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = onlySource(context);
    const calculations = parameters.rows('calculations', 2);
    if (calculations.length === 0) throw new ParameterError('"calculations" is empty: add a calculation');
    const names = calculations.map((row) => cellText(row, 1));
    const list = calculations.map(
      (row) => `${userExpression(cellText(row, 0))} AS ${dialect.name(cellText(row, 1))}`,
    );
    const include = parameters.yes('includeInputColumns', true);
    const kept = include ? columnsBut(source, names, dialect) : '';
    const keptNames = include ? columnNamesBut(source.columns, names) : [];
    return {
      select: `SELECT ${[kept, ...list].filter((part) => part !== '').join(', ')}\nFROM ${source.name}`,
      columns: keptNames === undefined ? undefined : [...keptNames, ...names],
    };
  },
};
