/** Runs the user's SQL statements in order. */
import { ParameterError } from '../parameters.ts';
import { splitStatements } from '../sql/statements.ts';
import type { Execute, OrchestrationDefinition } from './component.ts';
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
  plan: ({ parameters }) => planScript(parameters.text('sqlScript')),
};

/**
 * The statements of a script.
 *
 * @param declared statements to run before it. They stand in its first line, so that its lines keep their
 *   numbers.
 * @throws ParameterError
 */
export function planScript(script: string, declared = ''): Execute {
  if (splitStatements(script).length === 0)
    throw new ParameterError('the script has no statement: add one to "sqlScript" or to its file');
  return { action: 'execute', statements: splitStatements(`${declared}${script}`) };
}
