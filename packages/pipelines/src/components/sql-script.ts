/** Runs the user's SQL statements in order. */
import { ParameterError } from '../parameters.ts';
import type { Dialect, PreparedStatement, RewrittenStatement } from '../sql/dialect.ts';
import type { Action, OrchestrationDefinition } from './component.ts';

export const sqlScript: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  required: ['sqlScript'],
  optional: [],
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

const transactionKinds = ['BEGIN', 'START', 'COMMIT', 'END', 'ROLLBACK', 'ABORT'];

function simplify({ sql, before, after, onlyIf, kind }: RewrittenStatement): string | PreparedStatement {
  const isPlain = before.length + after.length === 0 && onlyIf === undefined;
  if (isPlain && !transactionKinds.includes(kind)) return sql;
  return { sql, before, after, kind, ...(onlyIf === undefined ? {} : { onlyIf }) };
}
