/**
 * Which of DuckDB's own functions SQL of a tenant may call, and which names its macros may have. DuckDB does
 * not say which table functions change its configuration, so the ones that only read are listed here. One that
 * a later DuckDB adds is refused until it is listed.
 */
import { type DuckDBConnection, StatementType } from '@duckdb/node-api';
import { checkStatementKind, refuseKind } from './duckdb-statement-kinds.ts';
import { hasName, readStatements, readWords, type Word } from './sql-words.ts';

const words = (text: string) => text.split(/\s+/).filter((each) => each !== '');

const readingTableFunctions = new Set(
  words(`
  duckdb_approx_database_count duckdb_columns duckdb_connection_count duckdb_constraints
  duckdb_coordinate_systems duckdb_databases duckdb_dependencies duckdb_extensions duckdb_external_file_cache
  duckdb_functions duckdb_indexes duckdb_keywords duckdb_log_contexts duckdb_logs duckdb_memory
  duckdb_optimizers duckdb_prepared_statements duckdb_schemas duckdb_secret_types duckdb_secrets
  duckdb_sequences duckdb_settings duckdb_table_sample duckdb_tables duckdb_temporary_files duckdb_types
  duckdb_variables duckdb_views generate_series glob icu_calendar_names json_each json_tree
  parquet_bloom_probe parquet_file_metadata parquet_full_metadata parquet_kv_metadata parquet_metadata
  parquet_scan parquet_schema pg_timezone_names pragma_collations pragma_database_size
  pragma_metadata_info pragma_platform pragma_show pragma_storage_info pragma_table_info
  pragma_user_agent pragma_version query_table range read_blob read_csv read_csv_auto read_duckdb read_json
  read_json_auto read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects
  read_parquet read_text repeat repeat_row seq_scan sniff_csv sql_auto_complete summary test_all_types
  test_vector_types unnest which_secret`),
);

/** Of the scalar functions with side effects those that change nothing for others. */
const harmlessScalarFunctions = new Set(
  words(`
  current_connection_id current_query current_query_id current_transaction_id currval error
  gen_random_uuid nextval random setseed sleep_ms stats uuid uuidv4 uuidv7`),
);

/** DuckDB replaces these by a query of its catalog. Another one may become any statement. */
const readingPragmas = new Set(
  words(`
  collations database_list database_size functions metadata_info platform show show_databases show_tables
  show_tables_expanded storage_info table_info user_agent version`),
);

const refusals: Readonly<Record<string, string>> = {
  query: 'write the query itself',
  json_execute_serialized_sql: 'write the query itself',
};
const refusal = 'the configuration of the warehouse belongs to its agent';

export interface BuiltInFunctions {
  readonly names: ReadonlySet<string>;
  readonly refused: ReadonlySet<string>;
}

/** Call it before any SQL of a tenant: macros of a tenant are not DuckDB's own. */
export async function readBuiltInFunctions(connection: DuckDBConnection): Promise<BuiltInFunctions> {
  const reader = await connection.runAndReadAll(
    'select distinct function_name, function_type, has_side_effects from system.main.duckdb_functions() where internal',
  );
  const names = new Set<string>();
  const refused = new Set<string>();
  for (const [value, type, hasSideEffects] of reader.getRows()) {
    const name = String(value).toLowerCase();
    names.add(name);
    const isAllowed =
      type === 'table'
        ? readingTableFunctions.has(name)
        : hasSideEffects !== true || harmlessScalarFunctions.has(name);
    if (!isAllowed) refused.add(name);
  }
  return { names, refused };
}

/**
 * Reads the words of the SQL. duckdb-plan.ts has the last word on table functions; this check also covers
 * scalar functions and the bodies of views and macros when they are made.
 *
 * @throws Error that names the function or the statement, and the remedy
 */
export function checkCalls(sql: string, functions: BuiltInFunctions): void {
  if (!mayNeedCheck(sql, functions)) return;
  for (const statement of readStatements(sql)) {
    checkFirstWord(statement);
    checkMacroName(statement, functions);
    // CALL is refused by its kind.
    if (statement[0]?.value === 'call') continue;
    for (const name of calledFunctions(statement)) if (functions.refused.has(name)) refuseFunction(name);
  }
}

/** @throws Error with the function and the remedy */
export function refuseFunction(name: string): never {
  throw new Error(`the function "${name}" is not allowed in this warehouse: ${refusals[name] ?? refusal}`);
}

/** Large statements, such as inserts of many values, are rarely worth reading word by word. */
function mayNeedCheck(sql: string, { refused }: BuiltInFunctions): boolean {
  const lower = sql.toLowerCase();
  return ['import', 'pragma', 'macro', 'function', ...refused].some((name) => lower.includes(name));
}

/** DuckDB replaces these statements by others before it names their kind. */
function checkFirstWord([first, second]: readonly Word[]): void {
  const isImport =
    first?.value === 'import' || (first?.value === 'pragma' && second?.value === 'import_database');
  if (isImport) refuseKind('IMPORT DATABASE', 'create the tables, and fill them by COPY … FROM');
  if (first?.value === 'pragma' && !readingPragmas.has(second?.value ?? ''))
    checkStatementKind(StatementType.PRAGMA);
}

/** Words after which a name and its parenthesis are a table, view, index, alias or query, and not a call. */
const naming = new Set([
  'into',
  'table',
  'exists',
  'on',
  'references',
  'view',
  'index',
  'copy',
  'with',
  'recursive',
  'as',
]);

function* calledFunctions(statement: readonly Word[]): Generator<string> {
  const ends = findGroupEnds(statement);
  for (const [index, word] of statement.entries()) {
    if (!isName(word) || !isSymbol(statement[index + 1], '(')) continue;
    const before = statement[startOfName(statement, index) - 1];
    const names = before?.kind === 'name' && naming.has(before.value);
    if (!names && !isNamedQuery(statement, ends.get(index + 1))) yield word.value;
  }
}

/** Where `catalog.schema.name` begins, of which the word at `index` is the last. */
function startOfName(statement: readonly Word[], index: number): number {
  let start = index;
  while (isSymbol(statement[start - 1], '.') && isName(statement[start - 2])) start -= 2;
  return start;
}

/** Whether it is one of the queries of WITH: `name (columns) AS (`, `name (columns) AS MATERIALIZED (`. */
function isNamedQuery(statement: readonly Word[], end: number | undefined): boolean {
  if (end === undefined || statement[end + 1]?.value !== 'as') return false;
  const after = statement[end + 2];
  return isSymbol(after, '(') || after?.value === 'materialized' || after?.value === 'not';
}

/** For each open parenthesis with an end, the index of its end. */
function findGroupEnds(statement: readonly Word[]): Map<number, number> {
  const ends = new Map<number, number>();
  const open: number[] = [];
  for (const [index, word] of statement.entries()) {
    if (isSymbol(word, '(')) open.push(index);
    const from = isSymbol(word, ')') ? open.pop() : undefined;
    if (from !== undefined) ends.set(from, index);
  }
  return ends;
}

/** Queries of every run, and the agent's own, would call the macro in place of DuckDB's function. */
function checkMacroName(statement: readonly Word[], { names }: BuiltInFunctions): void {
  const macro = statement.findIndex(
    ({ kind, value }) => kind === 'name' && (value === 'macro' || value === 'function'),
  );
  const before = statement.slice(0, macro).map(({ value }) => value);
  const creates = before[0] === 'create' && before.every((word) => makingWords.has(word));
  if (macro < 0 || !creates) return;
  const open = statement.findIndex((word) => isSymbol(word, '('));
  const name = statement[open - 1]?.value ?? '';
  if (names.has(name)) throw takenName(name);
}

/** For a statement that DuckDB cannot explain. @throws Error if the name of a refused function is a word of it */
export function refuseNamesOfFunctions(sql: string, { refused }: BuiltInFunctions): void {
  for (const { kind, value } of readWords(sql))
    if (isNameKind(kind) && refused.has(value)) refuseFunction(value);
}

/**
 * For after a CREATE. Removes macros with the name of a DuckDB function, and views and macros that call a
 * refused function. DuckDB writes their definitions from what it has read, so no spelling hides a call.
 *
 * @throws Error if there was one
 */
export async function checkCreated(
  connection: DuckDBConnection,
  sql: string,
  { names, refused }: BuiltInFunctions,
): Promise<void> {
  const suspects = new Set<string>();
  for (const { kind, value } of readWords(sql))
    if (isNameKind(kind) && refused.has(value)) suspects.add(value);
  if (suspects.size === 0 && !hasName(sql, makers)) return;
  const reader = await connection.runAndReadAll(created);
  for (const [kind, catalog, schema, name, text = ''] of reader.getRows().map((row) => row.map(String))) {
    const called = findCall(text, kind === 'view', suspects);
    const isTaken = kind !== 'view' && names.has(name?.toLowerCase() ?? '');
    if (called === undefined && !isTaken) continue;
    const path = [catalog, schema, name].map((each) => `"${each?.replaceAll('"', '""')}"`).join('.');
    await connection.run(`drop ${kind} ${path}`);
    if (called !== undefined) refuseFunction(called);
    throw takenName(name ?? '');
  }
}

/** @param isView its head has its name and columns, as in `query (a) AS` */
function findCall(definition: string, isView: boolean, names: ReadonlySet<string>): string | undefined {
  let isHead = isView;
  let last: Word | undefined;
  for (const word of readWords(definition)) {
    if (!isHead && isName(last) && isSymbol(word, '(') && names.has(last.value)) return last.value;
    if (word.kind === 'name' && word.value === 'as') isHead = false;
    last = word;
  }
  return undefined;
}

const created = `
  select 'view', database_name, schema_name, view_name, sql from system.main.duckdb_views() where not internal
  union all
  select if(function_type = 'macro', 'macro', 'macro table'), database_name, schema_name, function_name, macro_definition
  from system.main.duckdb_functions() where not internal and function_type in ('macro', 'table_macro')`;

function takenName(name: string): Error {
  return new Error(
    `a macro cannot have the name "${name}" of a function of DuckDB: other queries would call the macro instead; give it another name`,
  );
}

const makingWords = new Set([
  'create',
  'or',
  'replace',
  'temp',
  'temporary',
  'persistent',
  'local',
  'global',
  'unlogged',
]);

const makers = new Set(['macro', 'function']);

const isNameKind = (kind: Word['kind']) => kind === 'name' || kind === 'quoted';

function isName(word: Word | undefined): word is Word {
  return word !== undefined && isNameKind(word.kind);
}

function isSymbol(word: Word | undefined, symbol: string): boolean {
  return word?.kind === 'symbol' && word.value === symbol;
}
