/**
 * Several statements in one trip, as `pg` lets a query of one's own be (its Submittable, as of pg-cursor).
 *
 * Terminology
 *   batch   Bind and Execute of each statement, then one Sync: PostgreSQL answers all in one packet, and
 *           after a failure skips the rest. Without BEGIN the whole batch is one transaction, committed at
 *           the Sync (PostgreSQL, Protocol: Pipelining)
 *
 * A statement is parsed once a connection, and its columns are asked for once a process.
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

/** What is used of pg's connection. */
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
  #settled = false;
  callback: ((failure: Error | null) => void) | undefined;

  constructor(items: readonly Sent[], done: (failure: Error | undefined) => void) {
    this.#items = items;
    this.#done = done;
    // Called by pg when its connection breaks in the middle.
    this.callback = (failure) => this.#settle(failure ?? undefined);
  }

  /** The statement that is answered now: pg notes it as parsed. */
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
      if (connection.parsedStatements[statement.name] === undefined && !parsed.has(statement.name)) {
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
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete();
  }

  /**
   * A failure is told before its transaction is undone: whoever hears of it and asks again must not meet its
   * locks.
   */
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
    // V8 keeps batches for a while after their end, each with the next; with their rows they made collecting
    // a third of all work.
    this.#items = nothing;
    this.#done = ignoreEnd;
    done(failure);
  }
}

/** One trip on a connection that the caller has. */
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
  // Thousands of digests, say: asked once whether anything needs care.
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
