/** From the names of tables in a statement to their places in the warehouse. */
import type { TableReference } from '../dialect/dialect.ts';
import { type PlacedSchema, placeSchema } from '../tokens/names.ts';
import { quoteName, quoteNames } from '../tokens/tokens.ts';
import type { Node } from '../tokens/tree.ts';
import { type Frame, refuse } from './frame.ts';

const partLimit = 3;

/** The name of a table with the defaults of the script: `table`, `schema.table`, `database.schema.table`. */
export function readReference(
  names: readonly string[],
  frame: Frame,
  node: Node | undefined,
): TableReference {
  if (names.length > partLimit) {
    refuse(
      frame,
      node,
      `"${names.join('.')}" has ${names.length} parts: a table has at most 3, database.schema.table`,
    );
  }
  const [table = '', schema, database] = names.toReversed();
  const defaults = frame.script.names;
  // `USE SCHEMA other_database.s` also sets the database.
  return {
    database: database ?? defaults.database,
    schema: schema === undefined ? defaults.schema : schema || 'public',
    table,
  };
}

interface PlacedTable extends PlacedSchema {
  readonly reference: TableReference;
  /** As written in SQL. */
  readonly sql: string;
}

/** The place of a table. A name that is right as it was written stays. */
export function placeTable(
  names: readonly string[],
  written: string,
  frame: Frame,
  node: Node | undefined,
): PlacedTable {
  const reference = readReference(names, frame, node);
  const { path, isMade } = placeSchema(reference.database, reference.schema, frame.script.names);
  const place = [...path, reference.table];
  if (frame.script.temporary.has(keyOf(place)))
    return {
      reference,
      path: ['temp', 'main'],
      isMade: false,
      sql: `temp.main.${quoteName(reference.table)}`,
    };
  const defaults = frame.script.names;
  const isPlain = names.length === 1 && defaults.database === undefined && defaults.schema === undefined;
  const isSame =
    isPlain ||
    (names.length === place.length &&
      names.every((name, index) => name === place[index] || isSameWord(name, place[index])));
  return { reference, path, isMade, sql: isSame ? written : quoteNames(place) };
}

const isSameWord = (left: string, right: string | undefined) => left.toLowerCase() === right?.toLowerCase();

export function keyOf(place: readonly string[]): string {
  return JSON.stringify(place.map((name) => name.toLowerCase()));
}

/** Makes the schema of a table before the statement, unless it is always there. */
export function makeSchema({ path, isMade }: PlacedSchema, frame: Frame): void {
  if (!isMade) return;
  const sql = `CREATE SCHEMA IF NOT EXISTS ${quoteNames(path)}`;
  if (!frame.before.includes(sql)) frame.before.push(sql);
}
