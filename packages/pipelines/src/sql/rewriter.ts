/**
 * Rewrites SQL that people write for Snowflake or Redshift to SQL of DuckDB. What DuckDB knows stays as it was
 * written, byte by byte (docs/adr/0043-sql-is-rewritten-by-tokens.md).
 */
import {
  type RewrittenExpression,
  type RewrittenStatement,
  SqlError,
  type UserSql,
} from './dialect/dialect.ts';
import { createFrame, type Frame, type ScriptState } from './rewrite/frame.ts';
import { scanTables } from './rewrite/scan.ts';
import { render } from './rewrite/sequences.ts';
import { renderStatement } from './statements/statement.ts';
import { type NameMapping, vendorOf } from './tokens/names.ts';
import {
  type LexicalRules,
  lexicalRules,
  type SqlKind,
  type Token,
  type Tokens,
  tokenize,
  UnterminatedError,
} from './tokens/tokens.ts';
import { buildTree, createLineCounter, findLine, isSymbol, NestingError, type Node } from './tokens/tree.ts';

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

interface Part {
  readonly tokens: readonly Token[];
  readonly from: number;
  readonly to: number;
}

/**
 * The statements of a script, as the check before a run and the run itself divide it. Parts with only blanks and
 * comments are no statements.
 *
 * @throws SqlError with the line of a text, a name or a comment without an end
 */
function readParts(sql: string, rules: LexicalRules): { source: string; parts: Part[] } {
  const { tokens, source } = tokenizeWhole(sql, rules);
  const parts: Part[] = [];
  let from = 0;
  let part: Token[] = [];
  for (const token of [...tokens, undefined]) {
    if (token !== undefined && !isSymbol(token, ';')) {
      part.push(token);
      continue;
    }
    if (part.length > 0) parts.push({ tokens: part, from, to: token?.from ?? source.length });
    from = token?.to ?? source.length;
    part = [];
  }
  return { source, parts };
}

function tokenizeWhole(sql: string, rules: LexicalRules): Tokens {
  try {
    return tokenize(sql, rules);
  } catch (error) {
    if (error instanceof UnterminatedError)
      throw new SqlError(`${error.message} (line ${findLine(sql, error.from)})`);
    throw error;
  }
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
  { source, written }: { source: string; written: string },
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
    written: written.slice(nodes[0]?.from ?? from, nodes.at(-1)?.to ?? to),
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

/** @throws SqlError */
function requireTree({ tokens, from }: Part, source: string): Node[] {
  const nodes = buildTree(tokens);
  if (nodes !== undefined) return nodes;
  const line = findLine(source, tokens[0]?.from ?? from);
  throw new SqlError(
    `the parentheses of the statement do not match: close each one that it opens (line ${line})`,
  );
}

function passThrough({ tokens: [first], from, to }: Part, source: string, line: number): RewrittenStatement {
  const kind = first?.kind === 'word' ? first.value : '';
  const sql = source.slice(from, to).trim();
  return { sql, written: sql, before: [], after: [], notes: [], line, kind, writes: [], reads: [] };
}

/** The statements of a script as they were written. */
function passScript(sql: string, rules: LexicalRules): RewrittenStatement[] {
  const { source, parts } = readParts(sql, rules);
  const lineOf = createLineCounter(source);
  return parts.map((part) => passThrough(part, source, lineOf(part.tokens[0]?.from ?? part.from)));
}

export const sqlRewriter: SqlRewriter = {
  rewriteScript: (sql, names) =>
    guard(sql, () => {
      const { source, parts } = readParts(sql, lexicalRules[vendorOf(names)]);
      const script = createScript(names);
      const lineOf = createLineCounter(source);
      return parts.map((part) => {
        const nodes = requireTree(part, source);
        return rewriteStatement(
          { nodes, from: part.from, to: part.to },
          { source, written: sql },
          script,
          lineOf,
        );
      });
    }),
  rewriteQuery: (sql, names) => requireOne(sqlRewriter.rewriteScript(sql, names)),
  rewriteExpression: (sql, names) =>
    guard(sql, () => {
      const { source, parts } = readParts(sql, lexicalRules[vendorOf(names)]);
      const [only, ...more] = parts;
      if (only === undefined) return { sql, notes: [] };
      if (more.length > 0) throw new SqlError('the expression contains a semicolon: remove it');
      const nodes = requireTree(only, source);
      const frame = createFrame(source, nodes, createScript(names), render);
      scanTables(nodes, frame);
      return {
        sql: addComments(render.expression(nodes, frame), { nodes, from: only.from, to: only.to }, source),
        notes: [...frame.notes],
      };
    }),
};

/** The rewriter with what names mean. */
export function createUserSql(names: NameMapping): UserSql {
  return {
    lexical: lexicalRules[vendorOf(names)],
    script: (sql) => sqlRewriter.rewriteScript(sql, names),
    query: (sql) => sqlRewriter.rewriteQuery(sql, names),
    expression: (sql) => sqlRewriter.rewriteExpression(sql, names),
  };
}

/** SQL that its own warehouse gets as it was written. */
export function createPlainSql(kind: SqlKind): UserSql {
  const lexical = lexicalRules[kind];
  return {
    lexical,
    script: (sql) => guard(sql, () => passScript(sql, lexical)),
    query: (sql) => guard(sql, () => requireOne(passScript(sql, lexical))),
    expression: (sql) =>
      guard(sql, () => {
        const { source, parts } = readParts(sql, lexical);
        const [only, ...more] = parts;
        if (more.length > 0) throw new SqlError('the expression contains a semicolon: remove it');
        if (only !== undefined) requireTree(only, source);
        return { sql: source, notes: [] };
      }),
  };
}

/** Gives the SQL back, for checks before a run: expressions in it have no values yet. */
export const unchangedSql: UserSql = {
  lexical: lexicalRules.snowflake,
  script: passByEither,
  query: (sql) => requireOne(passByEither(sql)),
  expression: (sql) => ({ sql, notes: [] }),
};

/**
 * A file is checked without its project, so what is right by the rules of one vendor is right.
 *
 * @throws SqlError of the first vendor
 */
function passByEither(sql: string): readonly RewrittenStatement[] {
  const readings = (['snowflake', 'redshift'] as const).map((vendor) => {
    try {
      return passScript(sql, lexicalRules[vendor]);
    } catch (error) {
      if (error instanceof SqlError) return error;
      throw error;
    }
  });
  const [first] = readings;
  const scripts = readings.filter((reading) => Array.isArray(reading));
  if (first instanceof SqlError && scripts.length === 0) throw first;
  return scripts.reduce((least, script) => (script.length < least.length ? script : least));
}

function requireOne(statements: readonly RewrittenStatement[]): RewrittenStatement {
  const [query, ...more] = statements;
  if (query === undefined) throw new SqlError('the query is empty: fill it in');
  if (more.length > 0) throw new SqlError(`the query has ${statements.length} statements: keep one`);
  return query;
}
