/** The rows for which conditions hold. */
import { conditionsSql } from '../comparator.ts';
import { onlySource, type TransformationDefinition } from './component.ts';

export const filter: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  required: ['filterConditions'],
  optional: ['combineCondition'],
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = onlySource(context);
    const combine = parameters.choice('combineCondition', { And: 'AND', Or: 'OR' } as const, 'AND');
    const condition = conditionsSql(parameters.rows('filterConditions', 3), combine, dialect);
    return { select: `SELECT * FROM ${source.name}\nWHERE ${condition}`, columns: source.columns };
  },
};
