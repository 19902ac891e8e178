/**
 * Sends several statements in one round trip, as a custom query object of `pg` (its Submittable interface,
 * which pg-cursor also uses).
 *
 * Terminology
 *   batch   Bind and Execute of each statement, then one Sync. PostgreSQL responds in one packet, and skips the
 *           rest after a failure. Without BEGIN the whole batch is one transaction, committed at the Sync
 *           (PostgreSQL, Protocol: Pipelining)
 *
 * A statement is parsed once per connection. Its columns are described once per process.
 */
import pg from 'pg';
import type { Parameter, PreparedStatement } from './statement.ts';

interface Field {
  name: string;
  dataTypeID: number;
}

interface Columns {
  names: readonly string[];
  parsers: readonly ((text: string) => unknown)[];
}

/** The members of pg's connection that this file uses. */
interface Connection {
  stream: { cork?(): void; uncork?(): void };
  parsedStatements: Record<string, string | undefined>;
  parse(query: { name: string; text: string }): void;
  bind(config: {
    statement: string;
    values: readonly unknown[];
    valueMapper: (value: Parameter) => string | Buffer | null;
  }): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(config: { portal: string }): void;
  sync(): void;
  on(event: 'readyForQuery' | 'end', listener: () => void): void;
  off(event: 'readyForQuery' | 'end', listener: () => void): void;
}

export interface Sent {
  statement: PreparedStatement;
  /** In the order of the statement's text. */
  parameters: readonly Parameter[];
  rows: Record<string, unknown>[];
  /** With more characters than this in all rows, there are none and `isTooLarge` is set. */
  mostCharacters?: number | undefined;
  isTooLarge?: boolean;
}

const columnsOf = new WeakMap<PreparedStatement, Columns>();
const noColumns: Columns = { names: [], parsers: [] };

const nothing: readonly Sent[] = [];
const ignoreEnd = () => undefined;

export class Batch {
  #items: readonly Sent[];
  #done: (failure: Error | undefined) => void;
  #at = 0;
  #columns: Columns | undefined;
  #charactersOfItem = 0;
  #settled = false;
  callback: ((failure: Error | null) => void) | undefined;

  constructor(items: readonly Sent[], done: (failure: Error | undefined) => void) {
    this.#items = items;
    this.#done = done;
    // pg calls this when the connection breaks during the batch.
    this.callback = (failure) => this.#settle(failure ?? undefined);
  }

  /** The statement that PostgreSQL is responding to. pg records it as parsed. */
  get name(): string | undefined {
    return this.#items[this.#at]?.statement.name;
  }

  get text(): string | undefined {
    return this.#items[this.#at]?.statement.text;
  }

  submit(connection: Connection): null {
    const parsed = new Set<string>();
    connection.stream.cork?.();
    for (const { statement, parameters } of this.#items) {
      const isKnown = connection.parsedStatements[statement.name] !== undefined || parsed.has(statement.name);
      // A statement without a name is parsed each time (passingStatement).
      if (statement.name === '' || !isKnown) {
        connection.parse(statement);
        parsed.add(statement.name);
      }
      connection.bind({ statement: statement.name, values: parameters, valueMapper: encodeValue });
      if (!columnsOf.has(statement)) connection.describe({ type: 'P', name: '' });
      connection.execute({ portal: '' });
    }
    connection.sync();
    connection.stream.uncork?.();
    return null;
  }

  handleRowDescription({ fields }: { fields: readonly Field[] }): void {
    const item = this.#items[this.#at];
    if (item === undefined) return;
    const columns = {
      names: fields.map((field) => field.name),
      parsers: fields.map(
        (field) => pg.types.getTypeParser(field.dataTypeID, 'text') as (text: string) => unknown,
      ),
    };
    columnsOf.set(item.statement, columns);
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const item = this.#items[this.#at];
    if (item === undefined) return;
    this.#columns ??= columnsOf.get(item.statement) ?? noColumns;
    const { names, parsers } = this.#columns;
    const { mostCharacters } = item;
    if (mostCharacters !== undefined) {
      for (const text of fields) this.#charactersOfItem += text?.length ?? 0;
      if (this.#charactersOfItem > mostCharacters) {
        item.isTooLarge = true;
        item.rows.length = 0;
        return;
      }
    }
    const row: Record<string, unknown> = {};
    for (let index = 0; index < fields.length; index++) {
      const text = fields[index];
      row[names[index] as string] = text == null ? null : parsers[index]?.(text);
    }
    item.rows.push(row);
  }

  handleCommandComplete(): void {
    const item = this.#items[this.#at];
    if (item !== undefined && !columnsOf.has(item.statement)) columnsOf.set(item.statement, noColumns);
    this.#at += 1;
    this.#columns = undefined;
    this.#charactersOfItem = 0;
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete();
  }

  /** Reports a failure only after its transaction is rolled back, so that a retry does not meet its locks. */
  handleError(failure: Error, connection: Connection): void {
    if (!(failure instanceof pg.DatabaseError)) {
      this.#settle(failure);
      return;
    }
    const onRolledBack = () => {
      connection.off('readyForQuery', onRolledBack);
      connection.off('end', onRolledBack);
      this.#settle(failure);
    };
    connection.on('readyForQuery', onRolledBack);
    connection.on('end', onRolledBack);
  }

  handleReadyForQuery(): void {
    this.#settle(undefined);
  }

  #settle(failure: Error | undefined): void {
    if (this.#settled) return;
    this.#settled = true;
    const done = this.#done;
    // V8 keeps finished batches alive for a while. Drop the rows now: keeping them made garbage collection a
    // third of all work.
    this.#items = nothing;
    this.#done = ignoreEnd;
    done(failure);
  }
}

/** Sends the statements in one round trip on the caller's connection. */
export function sendOnClient(client: pg.ClientBase, items: readonly Sent[]): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(
      new Batch(items, (failure) => (failure === undefined ? resolve() : reject(failure))) as never,
    );
  });
}

function encodeValue(value: Parameter): string | Buffer | null {
  if (typeof value === 'string' || value === null || Buffer.isBuffer(value)) return value;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return encodeArray(value);
  return String(value);
}

function encodeArray(values: Extract<Parameter, readonly unknown[]>): string {
  // An array may hold thousands of digests: check once whether any element needs escaping.
  if (values.every(isText) && !needsCare.test(values.join(''))) {
    return values.length === 0 ? '{}' : `{"${values.join('","')}"}`;
  }
  if (values.every(isNumber)) return `{${values.join(',')}}`;
  return `{${values.map(encodeElement).join(',')}}`;
}

const needsCare = /["\\]/;

function encodeElement(value: string | number | boolean | null | Date | Buffer): string {
  if (value === null) return 'NULL';
  if (Buffer.isBuffer(value)) return `"\\\\x${value.toString('hex')}"`;
  return `"${String(encodeValue(value)).replaceAll(/["\\]/g, '\\$&')}"`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}
