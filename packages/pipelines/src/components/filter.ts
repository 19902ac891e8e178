/** Keeps the rows that meet the conditions. */

import type { TransformationDefinition } from './definition/component.ts';
import { readTypes, renderConditions, renderTypeQuery } from './definition/condition-sql.ts';
import { choiceParameter, conditionCells, rowsParameter } from './definition/declared-parameters.ts';
import { getOnlySource } from './definition/plan-parts.ts';
import { addCondition } from './projection.ts';

export const filter: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about:
    'Keeps the rows that meet the conditions. A value is a text or a number, such as `Berlin` or `10`, the name of another column, or SQL, such as `"other" + 1` or `current_date - 7`. Comparators: Equal to, Greater than, Less than, Greater than or equal to, Less than or equal to, Like, Ilike, Similar to, Contains, Starts with, Ends with, In, Between, Null, Blank, Null or blank.',
  group: 'transform',
  parameters: {
    filterConditions: rowsParameter('The conditions.', conditionCells, { required: true }),
    combineCondition: choiceParameter('Whether all or any of them must hold.', ['And', 'Or'], {
      standard: 'And',
    }),
  },
  noEffect: ['mode'],
  example: `type: filter
sources: [Orders]
parameters:
  filterConditions:
    - [amount, Is, Greater than, "10"]`,
  sources: [1, 1],
  lookUp(context) {
    const rows = context.parameters.rows('filterConditions', 3);
    return renderTypeQuery(rows, getOnlySource(context), context.dialect);
  },
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const combine = parameters.choice('combineCondition', { And: 'AND', Or: 'OR' } as const, 'AND');
    const rows = parameters.rows('filterConditions', 3);
    const compared = { columns: source.columns, types: readTypes(context.found) };
    return addCondition(source, renderConditions(rows, combine, dialect, compared), dialect);
  },
};
