/**
 * Keeps the secrets of a run out of what it says about users' SQL.
 *
 * A secret inside of a text literal stays as it is when the SQL is rewritten, so it is masked. A secret that is
 * code, such as a name or a whole expression, may become something else, so that the statement is not shown.
 */
import {
  type Dialect,
  type LexicalRules,
  type PreparedStatement,
  type SecretSource,
  SqlError,
  tokenize,
} from '@headgate/pipelines';
import { createWrittenStatements, type WrittenStatement } from './sql-failure.ts';

export interface ConcealedSql {
  /** The dialect with errors that reveal no secret of the run. */
  readonly dialect: Dialect;
  /** A statement as a step shows it. */
  show(statement: string): string;
  /** A statement in a message; undefined if it is not shown. */
  showIfPlain(statement: string): string | undefined;
  /** How a statement that was sent is written. */
  findWritten(sent: string): WrittenStatement | undefined;
}

const notShown = '-- not shown: a secret is a part of the code of this statement';
/** Parts of statements that are remembered. With more, no statement of the run is shown. */
const hiddenLimit = 10_000;

export function concealSql(
  dialect: Dialect,
  { conceal }: Pick<SecretSource, 'conceal'>,
  mask: (text: string) => string,
): ConcealedSql {
  const hidden = new Set<string>();
  const { user } = dialect;
  const written = createWrittenStatements();

  function rewriteGuarded<T>(rewrite: (sql: string) => T, sql: string): T {
    try {
      return rewrite(sql);
    } catch (error) {
      if (error instanceof SqlError && conceal(sql) !== sql) throw new SqlError(conceal(error.message));
      throw error;
    }
  }
  const guard =
    <T>(rewrite: (sql: string) => T, listParts: (result: T) => readonly string[]) =>
    (sql: string): T => {
      const result = rewriteGuarded(rewrite, sql);
      if (mask(sql) === sql) return result;
      const parts = listParts(result)
        .map((part) => part.trim())
        .filter((part) => part !== '');
      if (isCode(sql, user.lexical, mask) || countMasks(parts.join('\n'), mask) < countMasks(sql, mask))
        for (const part of parts) if (hidden.size < hiddenLimit) hidden.add(part);
      return result;
    };
  function remember(rewrite: typeof user.script): typeof user.script {
    return (sql) => {
      const statements = rewrite(sql);
      written.add(statements);
      return statements;
    };
  }
  const isHidden = (statement: string) =>
    hidden.size >= hiddenLimit || [...hidden].some((part) => statement.includes(part));
  const showIfPlain = (statement: string) => (isHidden(statement) ? undefined : mask(statement));
  return {
    dialect: {
      ...dialect,
      user: {
        ...user,
        script: guard(remember(user.script), (statements) => statements.flatMap(listStatements)),
        query: guard(user.query, listStatements),
        expression: guard(user.expression, ({ sql }) => [sql]),
      },
    },
    show: (statement) => showIfPlain(statement) ?? notShown,
    showIfPlain,
    findWritten: (sent) => written.find(sent),
  };
}

const listStatements = ({ before, sql, after }: PreparedStatement) => [...before, sql, ...after];

/** Whether a secret stands outside of the text literals. */
function isCode(sql: string, rules: LexicalRules, mask: (text: string) => string): boolean {
  let code = '';
  let end = 0;
  for (const { kind, from, to } of tokenize(sql, rules).tokens) {
    if (kind !== 'text') continue;
    code += `${sql.slice(end, from)}''`;
    end = to;
  }
  code += sql.slice(end);
  return mask(code) !== code;
}

/** How many secrets are found. */
function countMasks(sql: string, mask: (text: string) => string): number {
  return mask(sql).split('***').length - sql.split('***').length;
}
