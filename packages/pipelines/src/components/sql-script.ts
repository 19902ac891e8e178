/** Runs the user's SQL statements in order. */
import { ParameterError } from '../expressions/parameters.ts';
import type { Dialect, PreparedStatement, RewrittenStatement } from '../sql/dialect/dialect.ts';
import type { OrchestrationDefinition, PlannedScript } from './definition/component.ts';
import { sqlParameter } from './definition/declared-parameters.ts';

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
  plan: ({ parameters, dialect }) => ({
    action: 'execute',
    ...planScript(parameters.text('sqlScript'), dialect),
  }),
};

/**
 * The statements of a script. Those that have no effect here are left out, and named in the notes.
 *
 * @param declared statements to run before it. They stand in its first line, so that its lines keep their
 *   numbers.
 * @throws ParameterError, SqlError
 */
export function planScript(script: string, dialect: Dialect, declared = ''): PlannedScript {
  const statements = dialect.user.script(`${declared}${script}`);
  const declaring = declared === '' ? 0 : dialect.user.script(declared).length;
  if (statements.length === declaring)
    throw new ParameterError('the script has no statement: add one to "sqlScript" or to its file');
  return {
    statements: statements.filter(({ sql }) => sql !== '').map(simplify),
    notes: statements.flatMap(({ notes }) => notes),
  };
}

const transactionKinds = ['BEGIN', 'START', 'COMMIT', 'END', 'ROLLBACK', 'ABORT'];

function simplify({
  sql,
  before,
  after,
  onlyIf,
  listed,
  kind,
}: RewrittenStatement): string | PreparedStatement {
  const isPlain = before.length + after.length === 0 && onlyIf === undefined && listed === undefined;
  if (isPlain && !transactionKinds.includes(kind)) return sql;
  return {
    sql,
    before,
    after,
    kind,
    ...(onlyIf === undefined ? {} : { onlyIf }),
    ...(listed === undefined ? {} : { listed }),
  };
}
