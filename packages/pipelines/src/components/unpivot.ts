/** Makes rows of columns. */
import { ParameterError } from '../expressions/parameters.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { namesParameter, textParameter } from './definition/declared-parameters.ts';
import { getOnlySource, isSameName } from './definition/plan-parts.ts';

export const unpivot: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Makes a row of each of some columns: its name and its value. A value that is NULL gives no row.',
  group: 'transform',
  parameters: {
    columnsToNarrow: namesParameter('The columns.', { required: true }),
    outputNamesColumnName: textParameter('The column with the names.', { required: true }),
    outputValuesColumnName: textParameter('The column with the values.', { required: true }),
  },
  example: `type: unpivot
sources: [Sales by city]
parameters:
  columnsToNarrow: [Berlin, Paris]
  outputNamesColumnName: city
  outputValuesColumnName: amount`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const narrowed = parameters.names('columnsToNarrow');
    if (narrowed.length === 0) throw new ParameterError('"columnsToNarrow" is empty: name the columns');
    const name = parameters.text('outputNamesColumnName');
    const value = parameters.text('outputValuesColumnName');
    const kept = source.columns?.filter((column) => !narrowed.some((each) => isSameName(each, column)));
    return {
      select: dialect.unpivot({ from: source.name, kept, narrowed, name, value }),
      columns: kept && [...kept, name, value],
    };
  },
};
