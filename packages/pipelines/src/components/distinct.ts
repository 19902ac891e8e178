/** Keeps equal rows once. */
import type { TransformationDefinition } from './definition/component.ts';
import { namesParameter } from './definition/declared-parameters.ts';
import { getOnlySource } from './definition/plan-parts.ts';

export const distinct: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'The distinct values of some columns. Other columns are dropped.',
  group: 'transform',
  parameters: { columns: namesParameter('The columns. None: all.') },
  example: `type: distinct
sources: [Orders]
parameters:
  columns: [customer]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const columns = parameters.names('columns');
    const list = columns.length === 0 ? '*' : columns.map(dialect.name).join(', ');
    return {
      select: `SELECT DISTINCT ${list}\nFROM ${source.name}`,
      columns: columns.length === 0 ? source.columns : columns,
    };
  },
};
