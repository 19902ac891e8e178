/** Makes columns of rows. */
import { ParameterError } from '../expressions/parameters.ts';
import { renderAggregate } from './aggregate-functions.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { namesParameter, textParameter, yesNoParameter } from './definition/declared-parameters.ts';
import { getOnlySource, isSameName } from './definition/plan-parts.ts';

export const pivot: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about:
    'Makes a column of each value of `valueColumn`, with the aggregate of `pivotColumn`. All other columns are the groups.',
  group: 'transform',
  parameters: {
    aggregateFunction: textParameter('The function, as in aggregate.', { standard: 'Sum' }),
    pivotColumn: textParameter('The column that is aggregated.', { required: true }),
    valueColumn: textParameter('The column whose values become columns.', { required: true }),
    pivotValues: namesParameter('Its values.', { required: true }),
    quotePivotValueColumns: yesNoParameter(
      "Whether the names of the new columns have single quotes, as in `'Berlin'`.",
      'No',
    ),
  },
  example: `type: pivot
sources: [Sales]
parameters:
  aggregateFunction: Sum
  pivotColumn: amount
  valueColumn: city
  pivotValues: [Berlin, Paris]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const [aggregated, label] = [parameters.text('pivotColumn'), parameters.text('valueColumn')];
    const isQuoted = parameters.yes('quotePivotValueColumns', false);
    const values = parameters.names('pivotValues').map((written) => {
      const [, text = written] = /^'(.*)'$/s.exec(written) ?? [];
      return { text, name: isQuoted ? `'${text}'` : text };
    });
    if (values.length === 0) throw new ParameterError('"pivotValues" is empty: list the values');
    const word = parameters.optionalText('aggregateFunction') ?? 'Sum';
    const groups = source.columns?.filter(
      (column) => !isSameName(column, aggregated) && !isSameName(column, label),
    );
    return {
      select: dialect.pivot({
        from: source.name,
        columns: source.columns,
        label,
        aggregated,
        values,
        aggregate: (column) => renderAggregate(word, column, dialect, { within: 'pivot' }),
      }),
      columns: groups && [...groups, ...values.map(({ name }) => name)],
    };
  },
};
