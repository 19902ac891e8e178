/**
 * What a pipeline needs and its repository does not have. A run fails and names it; then it is supplied, and the run
 * begins again with an empty database. Rows are made from the names of the columns; see `docs/pipeline-corpus.md`.
 */
export interface Supplies {
  /** SQL to run before the pipeline. */
  readonly schemas: Set<string>;
  /** Columns with their types, by the table. */
  readonly tables: Map<string, Map<string, string>>;
  /** The names of tables that are to be views, in lower case. */
  readonly views: Set<string>;
  readonly variables: Map<string, string>;
  readonly secrets: Set<string>;
  /** Connector profiles: their texts, by the names of their files. */
  readonly profiles: Map<string, string>;
  /** What texts look like. */
  texts: TextKind;
}

/** In the order in which they are tried. */
export const textKinds = ['number', 'date', 'word', 'json'] as const;
export type TextKind = (typeof textKinds)[number];

export const createSupplies = (): Supplies => ({
  schemas: new Set(),
  tables: new Map(),
  views: new Set(),
  variables: new Map(),
  secrets: new Set(),
  profiles: new Map(),
  texts: 'number',
});

/** Of a column without a known type, by its name. */
export function guessType(column: string): string {
  const name = column.toLowerCase();
  if (/^(?:is|has)_|_flag$/.test(name)) return 'BOOLEAN';
  if (/(?:_at|timestamp|datetime|_ts|_time)$|^(?:created|updated|modified)/.test(name)) return 'TIMESTAMP';
  if (/date$|^date|_dt$|^day$/.test(name)) return 'DATE';
  if (/amount|price|cost|total|revenue|sales|rate|score|salary|balance|percent|avg|sum/.test(name))
    return 'DECIMAL(18,2)';
  if (
    /(?:^|_)(?:id|key|sk|count|qty|quantity|number|num|no|year|month|age|rank|version|size|duration)$/.test(
      name,
    )
  )
    return 'BIGINT';
  if (/(?:^|_)(?:variant|json|payload|raw|data|src)$/.test(name)) return 'JSON';
  return 'VARCHAR';
}

export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;
const quoteText = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** A number from 0, always the same for the same seed and text. */
function hash(seed: number, text: string): number {
  let value = 2_166_136_261 ^ seed;
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 16_777_619);
  return value >>> 0;
}

const rowCount = 5;
const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon'];

function renderValue(column: string, type: string, row: number, texts: TextKind, seed: number): string {
  const number = (hash(seed, column) % 90) + row;
  const day = `2024-0${1 + (row % 9)}-1${row % 10}`;
  if (type === 'BOOLEAN') return row % 2 === 0 ? 'true' : 'false';
  if (type === 'DATE') return quoteText(day);
  if (type === 'TIMESTAMP') return quoteText(`${day} 0${row}:30:00`);
  if (type === 'JSON')
    return quoteText(`{"id":${row},"name":${JSON.stringify(words[row % 5])},"items":[{"id":${row}}]}`);
  // Keys are 1 to 5 in each table, so that joins have rows.
  if (type === 'BIGINT') return String(row + 1);
  if (type.startsWith('DECIMAL') || type === 'DOUBLE') return `${number}.25`;
  if (texts === 'number') return quoteText(String(row + 1));
  if (texts === 'date') return quoteText(day);
  if (texts === 'json') return quoteText(`{"id":${row},"name":${JSON.stringify(words[row % 5])}}`);
  return quoteText(words[row % 5] ?? '');
}

/** Creates what is to be there before the run. */
export function renderSupplies({ schemas, tables, views, texts }: Supplies, seed: number): string[] {
  const statements = [...schemas].map((schema) => `CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`);
  for (const [table, columns] of tables) {
    const named = columns.size === 0 ? new Map([['ID', 'BIGINT']]) : columns;
    const list = [...named].map(([column, type]) => `${quoteName(column)} ${type}`).join(', ');
    const isView = views.has((readNames(table).at(-1) ?? '').toLowerCase());
    const stored = isView ? `${table.slice(0, -1)}_supplied"` : table;
    statements.push(`CREATE TABLE IF NOT EXISTS ${stored} (${list})`);
    const rows = Array.from({ length: rowCount }, (_, row) => {
      const values = [...named].map(([column, type]) => renderValue(column, type, row, texts, seed));
      return `(${values.join(', ')})`;
    });
    statements.push(`INSERT INTO ${stored} VALUES ${rows.join(', ')}`);
    if (isView) statements.push(`CREATE VIEW ${table} AS SELECT * FROM ${stored}`);
  }
  return statements;
}

/** The names of a place, quoted or not. */
function readNames(place: string): string[] {
  return [...place.matchAll(/"((?:[^"]|"")*)"|[^".]+/g)].map(([whole, quoted]) =>
    quoted === undefined ? whole : quoted.replaceAll('""', '"'),
  );
}

/** Such as `"raw"."orders"`, as it is in the SQL: the error itself has only the last name. */
function findPlace(message: string, name: string): string {
  const written = name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const chain = new RegExp(`((?:(?:"[^"\\n]{1,200}"|[\\w$%]{1,200})\\.){0,2})"?${written}"?(?![\\w$])`, 'gi');
  const lines = message.slice(Math.max(0, message.indexOf('LINE ')));
  const before = [...lines.matchAll(chain)]
    .map(([, schema = '']) => schema)
    .sort((x, y) => y.length - x.length);
  const names = [...readNames(before[0] ?? ''), ...readNames(name)];
  const [database = '', schema = ''] = names;
  // As the warehouse has `database.schema.table`.
  const placed = names.length === 3 ? [`${database}.${schema}`.toLowerCase(), ...names.slice(2)] : names;
  return placed.map(quoteName).join('.');
}

interface Column {
  readonly name: string;
  /** Before the dot. */
  readonly table?: string;
}

/** What the files of a repository say of names. */
export interface Repository {
  columnsOf(table: string): readonly string[];
  /** The text of a connector profile. */
  renderProfile(name: string): string;
}

/** Adds what a failure names. Returns whether anything was added. */
export function supply(message: string, supplies: Supplies, repository: Repository): boolean {
  return (
    supplyProfile(message, supplies, repository) ||
    supplyTable(message, supplies, repository) ||
    supplyView(message, supplies) ||
    supplyColumn(message, supplies) ||
    supplyVariable(message, supplies) ||
    supplyTexts(message, supplies)
  );
}

function supplyProfile(message: string, { profiles }: Supplies, { renderProfile }: Repository): boolean {
  let isAdded = false;
  for (const [, name = ''] of message.matchAll(/the connector profile "((?:custom|flex)-[^"]+)" is not/g)) {
    const file = `connector-profile:${name}.json`;
    if (profiles.has(file)) continue;
    profiles.set(file, renderProfile(name));
    isAdded = true;
  }
  return isAdded;
}

function supplyTable(message: string, { tables, schemas }: Supplies, { columnsOf }: Repository): boolean {
  const schema = /Schema with name "?([^"\n]+?)"? does not exist/i.exec(message)?.[1];
  if (schema !== undefined && !schemas.has(schema)) {
    schemas.add(schema);
    return true;
  }
  const table = /(?:Table|View) with name "?([^"\n]+?)"? does not exist/i.exec(message)?.[1];
  const there = /there is no table ([\w".$ -]+?)(?:[:,;]|$)/m.exec(message)?.[1];
  const pattern = /no table matches "([^"]+)"/.exec(message)?.[1]?.replaceAll('%', 'x');
  const name = table ?? there ?? pattern;
  if (name === undefined) return false;
  const place = findPlace(message, name);
  if (tables.has(place)) return false;
  const names = readNames(place);
  if (names.length > 1) schemas.add(names.slice(0, -1).join('.'));
  const columns = columnsOf(names.at(-1) ?? '');
  tables.set(place, new Map(columns.map((column) => [column, guessType(column)])));
  return true;
}

/** What the pipeline makes a view of. */
function supplyView(message: string, { views }: Supplies): boolean {
  const name = /Existing object ([^\n]+) is of type Table, trying to replace with type View/.exec(
    message,
  )?.[1];
  if (name === undefined || views.has(name.toLowerCase())) return false;
  views.add(name.toLowerCase());
  return true;
}

function readColumn(message: string): Column | undefined {
  const referenced = /Referenced column "([^"]+)" (?:was )?not found/.exec(message)?.[1];
  if (referenced !== undefined) return { name: referenced };
  const [, table, name] =
    /(?:Table|Values list) "([^"]+)" does not have a column (?:named|with name) "([^"]+)"/.exec(message) ??
    [];
  if (name !== undefined && table !== undefined) return { name, table };
  // The aggregate of a subquery takes a column of the query around it where its own table has none of this name.
  const around = /cannot contain aggregates![\s\S]{0,500}?(?:MAX|MIN)\("?([\w $]{1,200}?)"?\)/i.exec(
    message,
  )?.[1];
  if (around !== undefined) return { name: around };
  const defined = /Column "([^"]+)" referenced that exists in the SELECT clause/.exec(message)?.[1];
  if (defined !== undefined) return { name: defined };
  const missing = /has no column "?([\w $]+?)"?(?:[:,;.]|$)/m.exec(message)?.[1];
  return missing === undefined ? undefined : { name: missing };
}

/** Into the table of that name, or into all. */
function supplyColumn(message: string, { tables }: Supplies): boolean {
  const column = readColumn(message);
  if (column === undefined) return false;
  const named = [...tables].filter(([place]) =>
    place.toLowerCase().endsWith(`"${(column.table ?? '').toLowerCase()}"`),
  );
  const mentioned = [...tables].filter(([place]) =>
    message.includes(quoteName(readNames(place).at(-1) ?? '')),
  );
  for (const chosen of [named, mentioned, [...tables].slice(-1), [...tables]]) {
    const lacking = chosen.filter(
      ([, columns]) => ![...columns.keys()].some((each) => each.toLowerCase() === column.name.toLowerCase()),
    );
    for (const [, columns] of lacking) columns.set(column.name, guessType(column.name));
    if (lacking.length > 0) return true;
  }
  return false;
}

function supplyVariable(message: string, { variables, secrets }: Supplies): boolean {
  const secret = /the secret reference "([^"]+)"/.exec(message)?.[1];
  if (secret !== undefined && !secrets.has(secret)) {
    secrets.add(secret);
    return true;
  }
  let isAdded = false;
  for (const [, name = ''] of message.matchAll(
    /the variable "([^"]+)" is not declared|there is no variable "([^"]+)"/g,
  )) {
    if (variables.has(name)) continue;
    variables.set(name, guessValue(name));
    isAdded = true;
  }
  return isAdded;
}

/** Of a variable, by its name. */
function guessValue(name: string): string {
  const lower = name.toLowerCase();
  if (/database|catalog|_db\b|^db/.test(lower)) return 'warehouse';
  if (/schema/.test(lower)) return 'main';
  if (/date|time/.test(lower)) return '2024-01-01';
  return /table|name|path|bucket|url|email|env|file/.test(lower) ? 'supplied' : '1';
}

/** A text that cannot be converted: the next kind of texts. */
function supplyTexts(message: string, supplies: Supplies): boolean {
  const isConversion =
    /Conversion Error|Malformed JSON|Could not convert|Could not parse|failed to cast|invalid (?:date|timestamp)/i;
  if (!isConversion.test(message)) return false;
  const column = /when casting from source column ([^\n]+)/.exec(message)?.[1]?.toLowerCase();
  for (const columns of supplies.tables.values())
    for (const [name, type] of columns)
      if (name.toLowerCase() === column && type !== 'VARCHAR') {
        columns.set(name, 'VARCHAR');
        return true;
      }
  const next = /json/i.test(message) ? 'json' : textKinds[textKinds.indexOf(supplies.texts) + 1];
  if (
    next === undefined ||
    supplies.texts === next ||
    textKinds.indexOf(next) < textKinds.indexOf(supplies.texts)
  )
    return false;
  supplies.texts = next;
  return true;
}
