/** Writes its source to a table, creating or replacing the table. */
import {
  createInSchema,
  getOnlySource,
  readTableReference,
  renderOrderBy,
  type TransformationDefinition,
} from './component.ts';
import { placeParameters, rowsParameter, textParameter } from './declared-parameters.ts';

export const rewriteTable: TransformationDefinition = {
  kind: 'transformation',
  output: true,
  about: 'Writes its source to a table, which it creates or replaces.',
  group: 'write',
  parameters: {
    targetTable: textParameter('The table.', { required: true, otherNames: ['table'] }),
    ...placeParameters,
    orderBy: rowsParameter('The order of the rows.', ['column', 'Ascending or Descending?']),
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
    return {
      select: `SELECT * FROM ${getOnlySource(context).name}${renderOrderBy(parameters, 'orderBy', dialect)}`,
      write: (query) => createInSchema(dialect, reference, `CREATE OR REPLACE TABLE ${table} AS\n${query}`),
    };
  },
};
