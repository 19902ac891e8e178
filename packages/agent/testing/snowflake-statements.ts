/**
 * Runs Snowflake's SQL for the fake on DuckDB, by our translation of users' SQL. Names have the case that DuckDB gives
 * them. What Snowflake does otherwise than DuckDB is done here: DDL ends a transaction, COMMIT needs none.
 */
import type { DuckDBConnection, DuckDBResultReader, DuckDBType } from '@duckdb/node-api';
import { createUserSql, type RewrittenStatement } from '@headgate/pipelines';

export class FakeFault extends Error {
  readonly code: string;
  readonly sqlState: string;

  constructor(code: string, sqlState: string, message: string) {
    super(message);
    this.code = code;
    this.sqlState = sqlState;
  }
}

export interface FakeColumn {
  name: string;
  type: string;
  scale?: number;
}

export interface FakeResult {
  columns: FakeColumn[];
  rows: (string | null)[][];
  statementTypeId: number;
}

export const giveText = (name: string, value: string | null, statementTypeId = 0x1000): FakeResult => ({
  columns: [{ name, type: 'text' }],
  rows: [[value]],
  statementTypeId,
});

/** The counts of statements that change rows, by the first word. */
const changes: Readonly<Record<string, readonly [number, string]>> = {
  INSERT: [0x3100, 'number of rows inserted'],
  UPDATE: [0x3200, 'number of rows updated'],
  DELETE: [0x3300, 'number of rows deleted'],
  MERGE: [0x3400, 'number of rows inserted'],
};
const queries = new Set(['SELECT', 'WITH', 'VALUES', 'SHOW', 'DESCRIBE', 'EXPLAIN']);

const snowflakeSql = createUserSql({ vendor: 'snowflake' });

export class FakeStatements {
  readonly #connection: DuckDBConnection;
  #transaction = 0;
  #isActive = false;

  constructor(connection: DuckDBConnection) {
    this.#connection = connection;
  }

  async run(sql: string, bindings: Readonly<Record<string, { value: unknown }>> = {}): Promise<FakeResult> {
    const statements = this.#read(sql);
    const [statement] = statements;
    if (statement === undefined) throw new FakeFault('000900', '42601', 'Empty SQL statement.');
    if (statements.length > 1)
      throw new FakeFault(
        '000008',
        '0A000',
        `Actual statement count ${statements.length} did not match the desired statement count 1.`,
      );
    const { kind } = statement;
    const [word = ''] = kind.split(' ');
    if (word === 'BEGIN' || word === 'START') return this.#begin();
    if (['COMMIT', 'ROLLBACK'].includes(word)) return this.#end(word);
    if (/^SELECT CURRENT_TRANSACTION\(\)$/i.test(sql.trim()))
      return giveText('CURRENT_TRANSACTION()', this.#isActive ? String(this.#transaction) : null);
    if (!queries.has(word) && changes[word] === undefined && this.#isActive) await this.#end('COMMIT');
    return this.#execute(statement, word, bindings);
  }

  async #begin(): Promise<FakeResult> {
    if (!this.#isActive) {
      await this.#connection.run('begin transaction');
      this.#transaction += 1;
    }
    this.#isActive = true;
    return giveText('status', 'Statement executed successfully.', 0x5400);
  }

  async #end(word: string): Promise<FakeResult> {
    if (this.#isActive) await this.#connection.run(word);
    this.#isActive = false;
    return giveText('status', 'Statement executed successfully.', 0x5400);
  }

  #read(sql: string): readonly RewrittenStatement[] {
    // DuckDB's name of a type is what the fake tells of Snowflake's.
    const readable = sql
      .replaceAll(/\bsystem\$typeof\(/gi, 'typeof(')
      // The comments of its catalog have longer names.
      .replaceAll(/\bt\.comment\b/g, 't.table_comment')
      .replaceAll(/\bc\.comment\b/g, 'c.column_comment')
      // Temporary tables are in no schema there.
      .replaceAll(/"\w+"\.("headgate_\w+")/gi, '$1')
      // DuckDB keeps no offset.
      .replaceAll(/\btimestamp with time zone\b/gi, 'timestamp_ltz');
    try {
      return snowflakeSql.script(readable);
    } catch (error) {
      throw new FakeFault('001003', '42000', `SQL compilation error:\n${String(error)}`);
    }
  }

  async #execute(
    statement: RewrittenStatement,
    word: string,
    bindings: Readonly<Record<string, { value: unknown }>>,
  ): Promise<FakeResult> {
    const own = !this.#isActive && statement.before.length + statement.after.length > 0;
    if (own) await this.#connection.run('begin transaction');
    try {
      for (const each of statement.before) await this.#connection.run(each);
      const values = Object.values(bindings).map(({ value }) => value as string | null);
      const bound = values.length === 0 ? statement.sql : statement.sql.replaceAll(/:(\d+)\b/g, '$$$1');
      const reader = await this.#connection.runAndReadAll(bound, values);
      for (const each of statement.after) await this.#connection.run(each);
      if (own) await this.#connection.run('commit');
      return readResult(reader, word, statement.kind);
    } catch (error) {
      if (own) await this.#connection.run('rollback').catch(() => undefined);
      throw translateFault(error instanceof Error ? error.message : String(error), statement.sql);
    }
  }

  async close(): Promise<void> {
    await this.#end('ROLLBACK').catch(() => undefined);
    this.#connection.closeSync();
  }
}

function readResult(reader: DuckDBResultReader, word: string, kind: string): FakeResult {
  const change = changes[word];
  const rows = reader.getRowsJson();
  const isCount = reader.columnNames()[0] === 'Count';
  if (change !== undefined)
    return {
      columns: [{ name: change[1], type: 'fixed', scale: 0 }],
      rows: [[String(rows[0]?.[0] ?? 0)]],
      statementTypeId: change[0],
    };
  if (!queries.has(word) || (isCount && kind.startsWith('CREATE')))
    return giveText('status', 'Statement executed successfully.', 0x6000);
  const types = reader.columnTypes();
  const columns = reader.columnNames().map((name, index) => describeColumn(name, types[index] as DuckDBType));
  return {
    columns,
    rows: rows.map((row) => row.map((cell, index) => encode(cell, columns[index]?.type ?? 'text'))),
    statementTypeId: 0x1000,
  };
}

function describeColumn(name: string, type: DuckDBType): FakeColumn {
  const word = type.toString().toUpperCase();
  const [, scale] = /^DECIMAL\(\d+,\s*(\d+)\)$/.exec(word) ?? [];
  if (scale !== undefined) return { name, type: 'fixed', scale: Number(scale) };
  if (/^U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?$/.test(word)) return { name, type: 'fixed', scale: 0 };
  if (word === 'DOUBLE' || word === 'FLOAT') return { name, type: 'real' };
  if (word === 'BOOLEAN' || word === 'DATE' || word === 'TIME') return { name, type: word.toLowerCase() };
  if (word === 'JSON') return { name, type: 'variant' };
  if (word === 'TIMESTAMP WITH TIME ZONE') return { name, type: 'timestamp_tz', scale: 9 };
  return { name, type: word.startsWith('TIMESTAMP') ? 'timestamp_ntz' : 'text', scale: 9 };
}

/** As Snowflake writes values in JSON. */
function encode(cell: unknown, type: string): string | null {
  if (cell === null) return null;
  const text =
    typeof cell === 'string' ? cell : typeof cell === 'object' ? JSON.stringify(cell) : String(cell);
  const seconds = (moment: string) => {
    const [, whole = '', fraction = ''] = /^([^.]*?)(?:\.(\d+))?(?:\+00)?$/.exec(moment) ?? [];
    return `${Date.parse(`${whole.replace(' ', 'T')}Z`) / 1_000}.${fraction.padEnd(9, '0')}`;
  };
  switch (type) {
    case 'boolean':
      return text === 'true' ? '1' : '0';
    case 'date':
      return String(Date.parse(`${text}T00:00:00Z`) / 86_400_000);
    case 'time':
      return seconds(`1970-01-01 ${text}`);
    case 'timestamp_ntz':
      return seconds(text);
    case 'timestamp_tz':
      return `${seconds(text)} 1440`;
    default:
      return text;
  }
}

/** DuckDB's errors as Snowflake's. */
function translateFault(message: string, sql: string): FakeFault {
  const [, line = '1'] = /\nLINE (\d+):/.exec(message) ?? [];
  const shown = /\n(LINE \d+: )[^\n]*\n( *)\^/.exec(message);
  const position = shown === null ? 0 : (shown[2] ?? '').length - (shown[1] ?? '').length;
  const place = `line ${line} at position ${position}`;
  const compile = (code: string, state: string, words: string) =>
    new FakeFault(code, state, `SQL compilation error:${words}`);
  const [, near] = /syntax error at or near "([^"]*)"/.exec(message) ?? [];
  if (near !== undefined) return compile('001003', '42000', `\nsyntax error ${place} unexpected '${near}'.`);
  const [, table] = /with name (\S+) does not exist/.exec(message) ?? [];
  if (table !== undefined)
    return compile('002003', '42S02', `\nObject '${table.toUpperCase()}' does not exist or not authorized.`);
  const [, column] = /[Cc]olumn "([^"]*)" not found/.exec(message) ?? [];
  if (column !== undefined)
    return compile('000904', '42000', ` error ${place}\ninvalid identifier '${column.toUpperCase()}'`);
  const [, value] = /Could not convert string '([\s\S]*)' to BOOL/.exec(message) ?? [];
  if (value !== undefined)
    return new FakeFault('100037', '22018', `Boolean value '${value}' is not recognized`);
  const [, number] = /Could not convert string '([\s\S]*?)' to/.exec(message) ?? [];
  if (number !== undefined)
    return new FakeFault('100038', '22018', `Numeric value '${number}' is not recognized`);
  if (/NOT NULL constraint failed/.test(message))
    return new FakeFault('100072', '22000', 'NULL result in a non-nullable column');
  if (/several rows of the source/.test(message))
    return new FakeFault('100090', '42P18', 'Duplicate row detected during DML action');
  if (/INTERRUPT/i.test(message)) return new FakeFault('000604', '57014', 'SQL execution canceled');
  return new FakeFault('100132', 'P0000', `${message} [${sql.slice(0, 300)}]`);
}
