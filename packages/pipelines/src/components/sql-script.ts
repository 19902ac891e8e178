/** Runs the user's SQL statements in order. */
import { ParameterError } from '../parameters.ts';
import type { Dialect, PreparedStatement, RewrittenStatement } from '../sql/dialect.ts';
import type { Action, OrchestrationDefinition } from './component.ts';
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
  plan: ({ parameters, dialect }) => planScript(parameters.text('sqlScript'), 'sqlScript', dialect),
};

/**
 * The statements of a user's script. Those that have no effect here are left out, and named in the notes.
 *
 * @param parameter the parameter with the script, for messages
 * @throws ParameterError, SqlError
 */
export function planScript(script: string, parameter: string, dialect: Dialect): Action {
  const statements = dialect.user.script(script);
  if (statements.length === 0) throw new ParameterError(`"${parameter}" has no statement: add one`);
  return {
    action: 'execute',
    statements: statements.filter(({ sql }) => sql !== '').map(simplify),
    notes: statements.flatMap(({ notes }) => notes),
  };
}

function simplify({ sql, before, after, onlyIf }: RewrittenStatement): string | PreparedStatement {
  if (before.length + after.length === 0 && onlyIf === undefined) return sql;
  return { sql, before, after, ...(onlyIf === undefined ? {} : { onlyIf }) };
}
