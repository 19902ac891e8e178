/** Runs the user's SQL statements in order. */
import { ParameterError } from '../parameters.ts';
import { splitStatements } from '../sql/statements.ts';
import type { OrchestrationDefinition } from './component.ts';
import { sqlParameter } from './declared-parameters.ts';

export const sqlScript: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about: 'Runs SQL statements in order.',
  group: 'sql',
  parameters: {
    sqlScript: sqlParameter('The statements, separated by `;`.', { required: true }),
  },
  example: `type: sql-script
parameters:
  sqlScript: |
    CREATE TABLE IF NOT EXISTS orders (customer VARCHAR, amount NUMBER(12, 2));
    DELETE FROM orders WHERE amount = 0;`,
  plan({ parameters }) {
    const statements = splitStatements(parameters.text('sqlScript'));
    if (statements.length === 0) throw new ParameterError('"sqlScript" has no statement: add one');
    return { action: 'execute', statements };
  },
};
