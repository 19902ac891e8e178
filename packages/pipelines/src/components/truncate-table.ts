/** Deletes all rows of tables. */
import type { OrchestrationDefinition } from './definition/component.ts';
import { namesParameter, placeParameters } from './definition/declared-parameters.ts';
import { planForTables } from './table-list.ts';

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
  plan: (context) => planForTables(context, 'targetTable', (table) => `TRUNCATE ${table}`),
};
