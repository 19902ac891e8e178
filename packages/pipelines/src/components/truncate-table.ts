/** Deletes all rows of tables. */
import { type OrchestrationDefinition, readTableReferences } from './component.ts';
import { namesParameter, placeParameters } from './declared-parameters.ts';

export const truncateTable: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about: 'Deletes all rows of tables.',
  group: 'tables',
  parameters: {
    targetTable: namesParameter('The tables.', {
      required: true,
      otherNames: ['targetTables', 'tablesToTruncate'],
    }),
    ...placeParameters,
  },
  noEffect: ['warehouse', 'catalog'],
  aliases: ['truncate-tables'],
  example: `type: truncate-table
parameters:
  targetTable: [stage_orders, stage_customers]`,
  plan({ parameters, dialect }) {
    const tables = readTableReferences(parameters, 'targetTable');
    return { action: 'execute', statements: tables.map((table) => `TRUNCATE ${dialect.table(table)}`) };
  },
};
