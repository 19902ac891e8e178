/**
 * Gives VARIANTs, DuckDB's JSON, the types that they are used as, by DuckDB's plan of the statement
 * (docs/adr/0098-variants-by-the-plan.md).
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import {
  findVariantUses,
  isTextType,
  isVariantType,
  lexicalRules,
  listTypeQuestions,
  readNodes,
  SqlError,
  type TypeQuestion,
  tokenize,
  type VariantUse,
  writeLandingRows,
  writeUses,
} from '@headgate/pipelines/user-sql';
import { quoteText } from './duckdb-names.ts';

/** Characters of SQL. The plan of more would hold up all others. */
const longest = 300_000;
/** Characters of all queries of a statement. Those of a MERGE repeat its tables. */
const mostAsked = 3_000_000;

/** Whether the SQL itself has a VARIANT, whatever the tables have. */
export function namesVariants(sql: string): boolean {
  return /json|->/i.test(sql);
}

/**
 * @param sql a statement that DuckDB can prepare
 * @returns the statement; as it was if it uses no VARIANT as something else
 * @throws SqlError for a use that has no place in the statement
 */
export async function convertVariants(connection: DuckDBConnection, sql: string): Promise<string> {
  if (sql.length > longest) {
    refuseLongQuery(sql);
    return sql;
  }
  const statement = readNodes(sql);
  if (statement === undefined) return sql;
  const uses: VariantUse[] = [];
  const rows: { span: { from: number; to: number }; isText: boolean[] }[] = [];
  const questions = listTypeQuestions(statement);
  if (questions.reduce((sum, question) => sum + question.sql.length, 0) > mostAsked)
    throw new SqlError(
      'the statement has too many parts whose types must be known: divide it, or put its source into a table before',
    );
  for (const question of questions) {
    const plan = await readPlan(connection, question.sql);
    if (plan !== undefined) uses.push(...findVariantUses(statement, question, plan));
    const landing = await findLanding(connection, question);
    if (landing === undefined) continue;
    const { rows: span, values } = landing.landing;
    if (span !== undefined) rows.push({ span, isText: landing.isText });
    for (const [index, value] of (values ?? []).entries())
      if (landing.isText[index]) uses.push({ ...value, wrap: 'text' });
  }
  // From the end, so that the places before it stay.
  if (uses.length === 0 && rows.length === 0) return sql;
  const [only] = rows;
  if (only === undefined) return writeUses(sql, uses);
  const { from, to } = only.span;
  const converted = writeUses(sql, uses);
  return writeLandingRows(converted, { from, to: to + converted.length - sql.length }, only.isText);
}

/** Rows that a statement itself lists are not converted in any case. @throws SqlError */
function refuseLongQuery(sql: string): void {
  if (
    tokenize(sql, lexicalRules.duckdb).tokens.some(({ kind, value }) => kind === 'word' && value === 'SELECT')
  )
    throw new SqlError(
      `the statement may have a VARIANT, and more than ${longest} characters, which is the limit for one with a SELECT: divide it, or put its rows in a table before`,
    );
}

/** Undefined: DuckDB describes no such plan, or the question has an error that the statement has not. */
async function readPlan(connection: DuckDBConnection, sql: string): Promise<unknown> {
  const reader = await connection.runAndReadAll(
    `SELECT json_serialize_plan(${quoteText(sql)}, optimize := false)`,
  );
  const plan = JSON.parse(String(reader.getRows()[0]?.[0])) as { error: boolean; plans?: unknown };
  return plan.error ? undefined : plan.plans;
}

type Landed = Required<Pick<TypeQuestion, 'landing'>> & { isText: boolean[] };

/** Which columns are VARIANTs that are stored as texts; undefined: none. */
async function findLanding(
  connection: DuckDBConnection,
  { sql, landing }: TypeQuestion,
): Promise<Landed | undefined> {
  if (landing === undefined) return undefined;
  const types = await readTypes(connection, sql);
  if (!types.some(isVariantType)) return undefined;
  const targets = await readTypes(connection, landing.target);
  const isText = types.map((type, index) => isVariantType(type) && isTextType(targets[index] ?? ''));
  return isText.includes(true) ? { landing, isText } : undefined;
}

/** Empty for what DuckDB cannot describe. */
async function readTypes(connection: DuckDBConnection, sql: string): Promise<string[]> {
  try {
    const reader = await connection.runAndReadAll(`DESCRIBE (${sql}\n)`);
    return reader.getRows().map((row) => String(row[1]));
  } catch {
    return [];
  }
}
