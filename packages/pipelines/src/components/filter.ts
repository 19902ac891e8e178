/** Keeps the rows that meet the conditions. */
import { renderConditions } from '../comparator.ts';
import { getOnlySource, type TransformationDefinition } from './component.ts';

export const filter: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  required: ['filterConditions'],
  optional: ['combineCondition'],
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const combine = parameters.choice('combineCondition', { And: 'AND', Or: 'OR' } as const, 'AND');
    const condition = renderConditions(parameters.rows('filterConditions', 3), combine, dialect);
    return { select: `SELECT * FROM ${source.name}\nWHERE ${condition}`, columns: source.columns };
  },
};
