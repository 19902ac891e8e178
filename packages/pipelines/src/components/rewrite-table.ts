/** Writes its source to a table, creating or replacing the table. */
import type { TransformationDefinition } from './definition/component.ts';
import { orderParameter, placeParameters, textParameter } from './definition/declared-parameters.ts';
import { getOnlySource, readTableReference, renderOrderBy } from './definition/plan-parts.ts';

export const rewriteTable: TransformationDefinition = {
  kind: 'transformation',
  output: true,
  about:
    'Writes its source to a table, which it creates or replaces. Components that have it as a source read the table.',
  group: 'write',
  parameters: {
    targetTable: textParameter('The table.', { required: true, otherNames: ['table'] }),
    ...placeParameters,
    orderBy: orderParameter,
  },
  example: `type: rewrite-table
sources: [Totals by customer]
parameters:
  targetTable: totals`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const reference = readTableReference(parameters, 'targetTable');
    const table = dialect.table(reference);
    const source = getOnlySource(context);
    return {
      select: `SELECT * FROM ${source.name}${renderOrderBy(parameters, 'orderBy', dialect)}`,
      write: (query) => dialect.replaceTable(reference, query),
      creates: true,
      written: { select: `SELECT * FROM ${table}`, columns: source.columns },
    };
  },
};
