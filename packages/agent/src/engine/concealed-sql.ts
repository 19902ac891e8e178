/** Errors of rewritten SQL quote parts of it, which may be parts of a secret. */
import { type Dialect, type SecretSource, SqlError } from '@headgate/pipelines';

/** The dialect with errors that reveal no secret of the run. */
export function createConcealingDialect(dialect: Dialect, { conceal }: SecretSource): Dialect {
  const { user } = dialect;
  const guard =
    <T>(rewrite: (sql: string) => T) =>
    (sql: string): T => {
      try {
        return rewrite(sql);
      } catch (error) {
        if (error instanceof SqlError && conceal(sql) !== sql) throw new SqlError(conceal(error.message));
        throw error;
      }
    };
  return {
    ...dialect,
    user: { script: guard(user.script), query: guard(user.query), expression: guard(user.expression) },
  };
}
