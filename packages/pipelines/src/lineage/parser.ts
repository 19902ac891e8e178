/**
 * The parser of SQL, in WebAssembly. SQL that exhausts its stack breaks its instance: it then throws a
 * `BrokenParser`, and the thread that loaded it must be replaced.
 */
import {
  DuckDbDialect,
  init,
  Parser,
  ParserError,
  PostgreSqlDialect,
  SnowflakeDialect,
} from '@guanmingchiu/sqlparser-ts';
import { UnreadableSql } from './adapt-sql.ts';
import type { LineageDialect } from './naming/dialect.ts';
import type { Json } from './query/tree.ts';

/** @throws UnreadableSql, BrokenParser */
export type ParseSql = (sql: string) => readonly Json[];

export class BrokenParser extends Error {}

/** How deep an expression may be. The parser's own default refuses what people write. */
const recursionLimit = 500;

const dialects = { duckdb: DuckDbDialect, postgres: PostgreSqlDialect, snowflake: SnowflakeDialect };

export async function loadSqlParser(dialect: LineageDialect['name'] = 'duckdb'): Promise<ParseSql> {
  await init();
  const parser = new Parser(new dialects[dialect]()).withRecursionLimit(recursionLimit);
  return (sql) => {
    try {
      return parser.parse(sql) as unknown as readonly Json[];
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!(error instanceof ParserError) || !/^sql parser error: /i.test(message))
        throw new BrokenParser(message, { cause: error });
      throw new UnreadableSql(message.replace(/^sql parser error: /i, ''));
    }
  };
}
