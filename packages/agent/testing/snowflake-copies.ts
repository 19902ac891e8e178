/**
 * COPY INTO of the fake Snowflake: refuses what Snowflake does not know, records what was sent, and answers as told.
 * https://docs.snowflake.com/en/sql-reference/sql/copy-into-table, copy-into-location
 */
import { lexicalRules, type Token, tokenize } from '@headgate/pipelines/sql-tokens';
import { FakeFault, type FakeResult } from './snowflake-statements.ts';

const words = (text: string) => new Set(text.split(' '));
const ofBoth = 'STORAGE_INTEGRATION CREDENTIALS FILE_FORMAT';
const options = {
  load: words(
    `${ofBoth} PATTERN MATCH_BY_COLUMN_NAME ON_ERROR SIZE_LIMIT TRUNCATECOLUMNS PURGE FORCE RETURN_FAILED_ONLY`,
  ),
  unload: words(`${ofBoth} HEADER OVERWRITE SINGLE MAX_FILE_SIZE INCLUDE_QUERY_ID DETAILED_OUTPUT`),
};
const moments = 'DATE_FORMAT TIME_FORMAT TIMESTAMP_FORMAT TRIM_SPACE NULL_IF REPLACE_INVALID_CHARACTERS';
const formats: Readonly<Record<string, ReadonlySet<string>>> = {
  CSV: words(
    `TYPE COMPRESSION RECORD_DELIMITER FIELD_DELIMITER SKIP_HEADER SKIP_BLANK_LINES ESCAPE ESCAPE_UNENCLOSED_FIELD FIELD_OPTIONALLY_ENCLOSED_BY ERROR_ON_COLUMN_COUNT_MISMATCH EMPTY_FIELD_AS_NULL ENCODING ${moments}`,
  ),
  JSON: words(`TYPE COMPRESSION STRIP_OUTER_ARRAY STRIP_NULL_VALUES ${moments}`),
  AVRO: words('TYPE COMPRESSION TRIM_SPACE NULL_IF REPLACE_INVALID_CHARACTERS'),
  PARQUET: words('TYPE COMPRESSION TRIM_SPACE NULL_IF REPLACE_INVALID_CHARACTERS'),
};
const credentials = words('AWS_KEY_ID AWS_SECRET_KEY AWS_TOKEN AZURE_SAS_TOKEN');

const wrong = (message: string) => new FakeFault('001003', '42000', `SQL compilation error:\n${message}`);

/** The members of `A = … B = (…)`, as written. */
function readMembers(sql: string, tokens: readonly Token[]): Map<string, string> {
  const members = new Map<string, string>();
  for (let index = 0; index < tokens.length; ) {
    const name = tokens[index];
    if (name?.kind !== 'word' || tokens[index + 1]?.value !== '=')
      throw wrong(`syntax error unexpected '${name?.value ?? ''}'.`);
    let end = index + 2;
    for (let depth = 0; ; end += 1) {
      const { kind = 'symbol', value = '' } = tokens[end] ?? {};
      if (kind === 'symbol') depth += value === '(' ? 1 : value === ')' ? -1 : 0;
      if (depth <= 0) break;
    }
    const [from, to] = [tokens[index + 2]?.from ?? 0, tokens[end]?.to ?? 0];
    if (members.has(name.value)) throw wrong(`duplicate property '${name.value}'`);
    members.set(name.value, sql.slice(from, to));
    index = end + 1;
  }
  return members;
}

function requireKnown(known: ReadonlySet<string> | undefined, members: Map<string, string>): void {
  for (const name of members.keys()) if (known?.has(name) !== true) throw wrong(`invalid property '${name}'`);
}

function readInside(value: string | undefined): Map<string, string> {
  const sql = value?.slice(1, -1) ?? '';
  return readMembers(sql, tokenize(sql, lexicalRules.snowflake).tokens);
}

export class FakeCopies {
  /** The texts, in their order. */
  readonly sent: string[] = [];
  readonly integrations = new Set(['LAKE_INTEGRATION']);
  /** What the next ones answer. */
  readonly answers: (FakeFault | Record<string, string | number | null>[])[] = [];

  /** The rows that COPY answers; undefined for another statement. @throws FakeFault */
  run(sql: string): Record<string, unknown>[] | undefined {
    if (!/^copy into\b/i.test(sql)) return undefined;
    const { tokens } = tokenize(sql, lexicalRules.snowflake);
    const isUnload = tokens[2]?.kind === 'text';
    const at = tokens.findIndex(({ value }) => value === 'FROM');
    // A query, an address, or a stage with its names.
    let from = at + 1;
    for (let depth = 0; from < tokens.length; from += 1) {
      const { kind, value } = tokens[from] as Token;
      if (kind === 'symbol' && '()'.includes(value)) depth += value === '(' ? 1 : -1;
      if (depth === 0 && tokens[from + 2]?.value === '=') break;
    }
    const members = readMembers(sql, tokens.slice(from + 1));
    requireKnown(isUnload ? options.unload : options.load, members);
    const format = readInside(members.get('FILE_FORMAT'));
    requireKnown(formats[format.get('TYPE') ?? ''], format);
    const access = readInside(members.get('CREDENTIALS'));
    requireKnown(credentials, access);
    const integration = members.get('STORAGE_INTEGRATION');
    if (integration !== undefined && (access.size > 0 || !this.integrations.has(integration.toUpperCase())))
      throw wrong(`Integration '${integration}' does not exist or not authorized.`);
    this.sent.push(sql);
    const answer = this.answers.shift();
    if (answer instanceof FakeFault) throw answer;
    return answer ?? [{ status: 'Copy executed with 0 files processed.' }];
  }

  /** The SQL with the rows of an earlier statement. @param results of the session, the last one at the end */
  static writeResult(sql: string, results: readonly Record<string, unknown>[][]): string {
    return sql.replace(
      /\(SELECT OBJECT_CONSTRUCT\(\*\) AS r FROM TABLE\(RESULT_SCAN\(LAST_QUERY_ID\(-(\d)\)\)\)\)/,
      (_, ago: string) => {
        const rows = results.at(-Number(ago)) ?? [];
        if (rows.length === 0) throw wrong('the statement has no result');
        const list = rows.map(
          (row) =>
            `SELECT parse_json('${JSON.stringify(row).replaceAll('\\', '\\\\').replaceAll("'", "''")}') AS r`,
        );
        return `(${list.join(' UNION ALL ')})`;
      },
    );
  }
}

/** The rows as Snowflake answers them. */
export function presentCopied(rows: readonly Record<string, unknown>[]): FakeResult {
  const names = Object.keys(rows[0] ?? {});
  return {
    columns: names.map((name) => ({ name, type: 'text' })),
    rows: rows.map((row) => names.map((name) => (row[name] === null ? null : String(row[name])))),
    statementTypeId: 0x1000,
  };
}
