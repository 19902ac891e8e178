/** Writes its source to a table that is made anew. */
import {
  oneStatement,
  onlySource,
  orderBy,
  type TransformationDefinition,
  tableReference,
} from './component.ts';

export const rewriteTable: TransformationDefinition = {
  kind: 'transformation',
  output: true,
  required: ['targetTable'],
  optional: ['orderBy', 'database', 'schema'],
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const table = dialect.table(tableReference(parameters, 'targetTable'));
    return {
      select: `SELECT * FROM ${onlySource(context).name}${orderBy(parameters, 'orderBy', dialect)}`,
      write: (query) => oneStatement(`CREATE OR REPLACE TABLE ${table} AS\n${query}`),
    };
  },
};
