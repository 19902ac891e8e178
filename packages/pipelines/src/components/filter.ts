/** Keeps the rows that meet the conditions. */
import { renderConditions } from '../comparator.ts';
import { getOnlySource, type TransformationDefinition } from './component.ts';
import { choiceParameter, conditionCells, rowsParameter } from './declared-parameters.ts';

export const filter: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Keeps the rows that meet the conditions.',
  group: 'transform',
  parameters: {
    filterConditions: rowsParameter('The conditions.', conditionCells, { required: true }),
    combineCondition: choiceParameter('Whether all or any of them must hold.', ['And', 'Or'], {
      standard: 'And',
    }),
  },
  example: `type: filter
sources: [Orders]
parameters:
  filterConditions:
    - [amount, Is, Greater than, "10"]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const combine = parameters.choice('combineCondition', { And: 'AND', Or: 'OR' } as const, 'AND');
    const condition = renderConditions(parameters.rows('filterConditions', 3), combine, dialect);
    return { select: `SELECT * FROM ${source.name}\nWHERE ${condition}`, columns: source.columns };
  },
};
