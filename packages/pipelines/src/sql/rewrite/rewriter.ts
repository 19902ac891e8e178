/**
 * Rewrites SQL that people write for Snowflake or Redshift to SQL of DuckDB. What DuckDB knows stays as it was
 * written, byte by byte (docs/adr/0043-sql-is-rewritten-by-tokens.md).
 */
import { type RewrittenExpression, type RewrittenStatement, SqlError, type UserSql } from '../dialect.ts';
import { findStatements } from '../statements.ts';
import { createFrame, type Frame, type ScriptState } from './frame.ts';
import type { NameMapping } from './names.ts';
import { scanTables } from './scan.ts';
import { render } from './sequences.ts';
import { renderStatement } from './statements/statement.ts';
import { type Token, tokenize, UnterminatedError } from './tokens.ts';
import { buildTree, createLineCounter, isSymbol, NestingError, type Node } from './tree.ts';

export interface SqlRewriter {
  /** @throws SqlError with the construct and the line */
  rewriteScript(sql: string, names: NameMapping): RewrittenStatement[];
  /** Exactly one SELECT, WITH or VALUES. */
  rewriteQuery(sql: string, names: NameMapping): RewrittenStatement;
  /** Of a calculator, a filter, the condition of a join. */
  rewriteExpression(sql: string, names: NameMapping): RewrittenExpression;
}

interface ReadStatement {
  readonly nodes: readonly Node[];
  /** Where it begins and ends with the comments around it. */
  readonly from: number;
  readonly to: number;
}

interface ReadScript {
  readonly source: string;
  readonly statements: readonly ReadStatement[];
}

/** Undefined if it cannot be read: then DuckDB says what is wrong with it. */
function readScript(sql: string): ReadScript | undefined {
  for (const escapes of [true, false]) {
    try {
      const { tokens, source } = tokenize(sql, escapes);
      return readStatements(tokens, source);
    } catch (error) {
      if (!(error instanceof UnterminatedError)) throw error;
    }
  }
  return undefined;
}

function readStatements(tokens: readonly Token[], source: string): ReadScript | undefined {
  const statements: ReadStatement[] = [];
  let from = 0;
  let part: Token[] = [];
  for (const token of [...tokens, undefined]) {
    if (token !== undefined && !isSymbol(token, ';')) {
      part.push(token);
      continue;
    }
    const nodes = buildTree(part);
    if (nodes === undefined) return undefined;
    if (nodes.length > 0) statements.push({ nodes, from, to: token?.from ?? source.length });
    from = token?.to ?? source.length;
    part = [];
  }
  return { source, statements };
}

function createScript(names: NameMapping): ScriptState {
  return { variables: new Map(), temporary: new Set(), names };
}

/** The recursion is as deep as the SQL is nested. @throws SqlError */
function guard<T>(sql: string, work: () => T): T {
  if (sql.includes('\0')) throw new SqlError('the SQL contains a NUL character: remove it');
  try {
    return work();
  } catch (error) {
    if (error instanceof NestingError || error instanceof RangeError)
      throw new SqlError('the SQL is too deeply nested: use WITH, or fewer parentheses');
    throw error;
  }
}

function rewriteStatement(
  { nodes, from, to }: ReadStatement,
  source: string,
  script: ScriptState,
  lineOf: (position: number) => number,
): RewrittenStatement {
  const frame = createFrame(source, nodes, script, render);
  scanTables(nodes, frame);
  const { sql, kind, onlyIf, listed } = renderStatement(nodes, frame);
  return {
    ...gather(frame),
    sql: sql === '' ? '' : addComments(sql, { nodes, from, to }, source),
    kind,
    line: lineOf(nodes[0]?.from ?? from),
    ...(onlyIf === undefined ? {} : { onlyIf }),
    ...(listed === undefined ? {} : { listed }),
  };
}

/** Adds the comments above and below a statement. */
function addComments(sql: string, { nodes, from, to }: ReadStatement, source: string): string {
  const above = source.slice(from, nodes[0]?.from ?? from).trimStart();
  const below = source.slice(nodes.at(-1)?.to ?? to, to).trimEnd();
  return `${above}${sql}${below}`;
}

function gather({
  before,
  after,
  notes,
  writes,
  reads,
}: Frame): Pick<RewrittenStatement, 'before' | 'after' | 'notes' | 'writes' | 'reads'> {
  return { before, after, notes: [...notes], writes, reads };
}

/** A statement that is not read stays as it was written. */
function passThrough(sql: string, line: number): RewrittenStatement {
  const kind = /^\s*([a-z]+)/i.exec(sql)?.[1]?.toUpperCase() ?? '';
  return { sql, before: [], after: [], notes: [], line, kind, writes: [], reads: [] };
}

function passScript(sql: string): RewrittenStatement[] {
  const lineOf = createLineCounter(sql);
  return findStatements(sql).map(({ from, to }) => passThrough(sql.slice(from, to), lineOf(from)));
}

export const sqlRewriter: SqlRewriter = {
  rewriteScript: (sql, names) =>
    guard(sql, () => {
      const read = readScript(sql);
      if (read === undefined) return passScript(sql);
      const script = createScript(names);
      const lineOf = createLineCounter(read.source);
      return read.statements.map((statement) => rewriteStatement(statement, read.source, script, lineOf));
    }),
  rewriteQuery(sql, names) {
    const statements = sqlRewriter.rewriteScript(sql, names);
    const [query] = statements;
    if (query === undefined) throw new SqlError('the query is empty: fill it in');
    if (statements.length > 1) throw new SqlError(`the query has ${statements.length} statements: keep one`);
    return query;
  },
  rewriteExpression: (sql, names) =>
    guard(sql, () => {
      const read = readScript(sql);
      const [only, ...more] = read?.statements ?? [];
      if (read === undefined || only === undefined || more.length > 0) return { sql, notes: [] };
      const { nodes, from, to } = only;
      const frame = createFrame(read.source, nodes, createScript(names), render);
      scanTables(nodes, frame);
      return {
        sql: addComments(render.expression(nodes, frame), { nodes, from, to }, read.source),
        notes: [...frame.notes],
      };
    }),
};

/** The rewriter with what names mean. */
export function createUserSql(names: NameMapping): UserSql {
  return {
    script: (sql) => sqlRewriter.rewriteScript(sql, names),
    query: (sql) => sqlRewriter.rewriteQuery(sql, names),
    expression: (sql) => sqlRewriter.rewriteExpression(sql, names),
  };
}

/** Gives the SQL back, for checks before a run: expressions in it have no values yet. */
export const unchangedSql: UserSql = {
  script: passScript,
  query(sql) {
    const [query, ...more] = passScript(sql);
    if (query === undefined) throw new SqlError('the query is empty: fill it in');
    if (more.length > 0) throw new SqlError(`the query has ${more.length + 1} statements: keep one`);
    return query;
  },
  expression: (sql) => ({ sql, notes: [] }),
};
