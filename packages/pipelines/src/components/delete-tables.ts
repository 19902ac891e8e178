/** Drops tables. */
import type { OrchestrationDefinition } from './definition/component.ts';
import { namesParameter, placeParameters, yesNoParameter } from './definition/declared-parameters.ts';
import { planForTables } from './table-list.ts';

export const deleteTables: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about: 'Drops tables.',
  group: 'tables',
  parameters: {
    targetTable: namesParameter('The tables.', {
      required: true,
      otherNames: ['targetTables', 'tablesToDelete'],
    }),
    ...placeParameters,
    ignoreMissing: yesNoParameter('Whether a table that does not exist is passed over.', 'No'),
  },
  noEffect: ['warehouse', 'catalog'],
  aliases: ['delete-table', 'drop-table', 'drop-tables'],
  example: `type: delete-tables
parameters:
  targetTable: [stage_orders, stage_customers]
  ignoreMissing: "Yes"`,
  plan(context) {
    const drop = context.parameters.yes('ignoreMissing', false) ? 'DROP TABLE IF EXISTS' : 'DROP TABLE';
    return planForTables(context, 'targetTable', (table) => `${drop} ${table}`);
  },
};
