/** Writes its source to a table, creating or replacing the table. */
import {
  createInSchema,
  getOnlySource,
  readTableReference,
  renderOrderBy,
  type TransformationDefinition,
} from './component.ts';

export const rewriteTable: TransformationDefinition = {
  kind: 'transformation',
  output: true,
  required: ['targetTable'],
  optional: ['orderBy', 'database', 'schema'],
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
