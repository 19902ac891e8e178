import { supplyConversion } from './conversions.ts';
import type { Inputs, Supplies } from './supplies.ts';
import { guessType, guessValue, quoteText, renderValue } from './values.ts';

export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Creates what is to be there before the run, in SQL of a user. */
export const renderStages = ({ stages }: Supplies): string[] =>
  [...stages].map((stage) => `CREATE STAGE IF NOT EXISTS ${quoteName(stage)} URL = 's3://supplied-stage/'`);

/** Creates what is to be there before the run. */
export function renderSupplies(supplies: Supplies, seed: number): string[] {
  const { schemas, tables, views, texts, values: expected } = supplies;
  const statements = [...schemas].map((schema) => `CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`);
  for (const [table, columns] of tables) {
    const named = columns.size === 0 ? new Map([['ID', 'BIGINT']]) : columns;
    const list = [...named].map(([column, type]) => `${quoteName(column)} ${type}`).join(', ');
    const isView = views.has((readNames(table).at(-1) ?? '').toLowerCase());
    const stored = isView ? `${table.slice(0, -1)}_supplied"` : table;
    statements.push(`CREATE TABLE IF NOT EXISTS ${stored} (${list})`);
    const rows = Array.from({ length: supplies.rows }, (_, row) => {
      const values = [...named].map(([column, type]) => {
        const value = row === 0 ? expected.get(column.toLowerCase()) : undefined;
        return value === undefined ? renderValue(column, type, row, texts, seed) : quoteText(value);
      });
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
  /** Where a pipeline is that is called by another path. */
  findMoved(name: string): string | undefined;
  readInputs(): Inputs;
}

/** Adds what a failure names. `sql`: of the component that failed. Returns whether anything was added. */
export function supply(message: string, sql: string, supplies: Supplies, repository: Repository): boolean {
  return (
    supplyProfile(message, supplies, repository) ||
    supplyMoved(message, supplies, repository) ||
    supplyStage(message, supplies) ||
    supplyTable(message.includes('LINE ') ? message : `${message}\nLINE ${sql}`, supplies, repository) ||
    supplyView(message, supplies) ||
    supplyColumn(message, supplies) ||
    supplyColumns(message, supplies) ||
    supplyVariable(message, supplies) ||
    supplyConversion(message, sql, supplies) ||
    supplyInputs(supplies, repository)
  );
}

function supplyMoved(message: string, { moved }: Supplies, { findMoved }: Repository): boolean {
  let isAdded = false;
  for (const [, name = ''] of message.matchAll(/the pipeline (.+?) is not in the project/g)) {
    const path = moved.has(name) ? undefined : findMoved(name);
    if (path === undefined) continue;
    moved.set(name, path);
    isAdded = true;
  }
  return isAdded;
}

/** As many columns as an INSERT without names has values. */
function supplyColumns(message: string, { tables }: Supplies): boolean {
  const [, table = '', count = '0'] =
    /table "?([^"\n]+?)"? has \d+ columns but (\d+) values were supplied/i.exec(message) ?? [];
  const found = [...tables].find(
    ([place]) => (readNames(place).at(-1) ?? '').toLowerCase() === table.toLowerCase(),
  );
  if (found === undefined) return false;
  const [, columns] = found;
  if (columns.size === 0) columns.set('ID', 'VARCHAR');
  const size = columns.size;
  for (let number = size + 1; number <= Number(count); number += 1)
    columns.set(`COLUMN_${number}`, 'VARCHAR');
  return columns.size > size;
}

/** Values for the pipeline's own variables, if nothing else is missing. */
function supplyInputs(supplies: Supplies, { readInputs }: Repository): boolean {
  if (supplies.inputs !== undefined) return false;
  const inputs = readInputs();
  supplies.inputs = inputs;
  return Object.keys(inputs.scalars).length + Object.keys(inputs.grids).length > 0;
}

function supplyStage(message: string, { stages }: Supplies): boolean {
  const stage = /there is no stage "([^"]+)"/.exec(message)?.[1];
  if (stage === undefined || stages.has(stage)) return false;
  stages.add(stage);
  return true;
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
  const there =
    /there is no table ([\w".$ -]+?)(?:[:,;]|$)/m.exec(message)?.[1] ??
    /the table "([^"\n]+)" does not exist: make it/.exec(message)?.[1];
  const pattern = /no table matches "([^"]+)"/.exec(message)?.[1]?.replaceAll('%', 'x');
  const name = table ?? there ?? pattern;
  if (name === undefined) return false;
  const schemaOf = /lower\(table_schema\) = lower\('([^']+)'\)/.exec(message)?.[1];
  const place =
    pattern !== undefined && schemaOf !== undefined
      ? [schemaOf, pattern].map(quoteName).join('.')
      : findPlace(message, name);
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
  const [, loaded, target] =
    /"loadColumns" has "([^"]+)", which is not a column of the table "([^"]+)"/.exec(message) ?? [];
  if (loaded !== undefined && target !== undefined) return { name: loaded, table: target };
  // DuckDB looks elsewhere for what the table in the FROM of a join does not have.
  const alias = /Referenced table "(\w+)" not found/.exec(message)?.[1];
  const elsewhere =
    alias === undefined
      ? undefined
      : new RegExp(`LINE \\d+:[\\s\\S]{0,300}\\b${alias}\\."?(\\w+)`).exec(message)?.[1];
  if (elsewhere !== undefined) return { name: elsewhere };
  const updated = /Referenced update column "?([\w $]+?)"? not found in table/.exec(message)?.[1];
  if (updated !== undefined) return { name: updated };
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
