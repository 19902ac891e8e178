/**
 * batch.ts uses undocumented members of pg (docs/adr/0041). This test checks each of them, so that an
 * incompatible update of pg fails here first.
 */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase } from '../../../testing/database.ts';

const { version } = createRequire(import.meta.url)('pg/package.json') as { version: string };
const describeChange = (what: string) =>
  `pg ${version}: ${what}. kernel/database/trips/batch.ts relies on it: change batch.ts and this test together (docs/adr/0041).`;

/** The argument that pg passes to a custom query. */
interface Connection {
  stream: Record<'cork' | 'uncork', unknown>;
  parsedStatements: Record<string, unknown>;
  parse(query: object): void;
  bind(config: object): void;
  describe(message: object): void;
  execute(config: object): void;
  sync(): void;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
}

const name = 'canary';
const text = 'select $1::integer as number, $2::bytea as bytes';

/** A custom query like Batch: pg calls `submit`, then a handler for each message of the server. */
class Probe {
  readonly called: string[] = [];
  readonly seen = new Map<string, unknown[]>();
  readonly ended = Promise.withResolvers<void>();
  readonly #send: (connection: Connection) => void;
  callback = () => undefined;
  name = name;
  text = text;

  constructor(send: (connection: Connection) => void) {
    this.#send = send;
  }

  submit(connection: Connection): null {
    try {
      this.#send(connection);
    } catch (failure) {
      this.ended.reject(failure);
    }
    return null;
  }

  #note(handler: string, inputs: unknown[]): void {
    this.called.push(handler);
    this.seen.set(handler, inputs);
  }

  handleRowDescription(...inputs: unknown[]): void {
    this.#note('handleRowDescription', inputs);
  }
  handleDataRow(...inputs: unknown[]): void {
    this.#note('handleDataRow', inputs);
  }
  handleCommandComplete(...inputs: unknown[]): void {
    this.#note('handleCommandComplete', inputs);
  }
  handleEmptyQuery(...inputs: unknown[]): void {
    this.#note('handleEmptyQuery', inputs);
  }
  handleError(...inputs: unknown[]): void {
    this.#note('handleError', inputs);
    const [, connection] = inputs as [Error, Connection];
    const onReady = () => {
      connection.off('readyForQuery', onReady);
      this.called.push('readyForQuery');
      this.ended.resolve();
    };
    connection.on('readyForQuery', onReady);
  }
  handleReadyForQuery(...inputs: unknown[]): void {
    this.#note('handleReadyForQuery', inputs);
    this.ended.resolve();
  }
}

function send(connection: Connection, values: readonly unknown[], { isParsed = false } = {}): void {
  if (!isParsed) connection.parse({ name, text, types: [] });
  const valueMapper = (value: unknown) => (Buffer.isBuffer(value) ? value : `${value}`);
  connection.bind({ statement: name, values, valueMapper });
  connection.describe({ type: 'P', name: '' });
  connection.execute({ portal: '' });
}

const database = await createTestDatabase();
const client = new pg.Client(database.connection);
before(() => client.connect());
after(async () => {
  await client.end();
  await database.drop();
});

async function probe(work: (connection: Connection) => void): Promise<Probe> {
  const query = new Probe(work);
  client.query(query as never);
  await query.ended.promise;
  return query;
}

test('the connection of pg has the members that a batch calls', async () => {
  await probe((connection) => {
    for (const member of ['parse', 'bind', 'describe', 'execute', 'sync', 'on', 'off'] as const)
      assert.equal(typeof connection[member], 'function', describeChange(`connection.${member}() is gone`));
    for (const member of ['cork', 'uncork'] as const)
      assert.equal(
        typeof connection.stream[member],
        'function',
        describeChange(`connection.stream.${member}() is gone`),
      );
    assert.equal(
      typeof connection.parsedStatements,
      'object',
      describeChange('connection.parsedStatements is gone'),
    );
    connection.sync();
  });
});

test('several statements before one Sync call the handlers in order', async () => {
  const values = [7, Buffer.from([0, 92, 255])];
  const { called, seen } = await probe((connection) => {
    send(connection, values);
    send(connection, values, { isParsed: true });
    connection.parse({ name: '', text: '', types: [] });
    connection.bind({ statement: '', values: [], valueMapper: String });
    connection.execute({ portal: '' });
    connection.sync();
  });
  const one = ['handleRowDescription', 'handleDataRow', 'handleCommandComplete'];
  assert.deepEqual(
    called,
    [...one, ...one, 'handleEmptyQuery', 'handleReadyForQuery'],
    describeChange('other handlers of a query are called'),
  );
  const [description] = (seen.get('handleRowDescription') ?? []) as [{ fields: Record<string, unknown>[] }];
  assert.deepEqual(
    description.fields.map((field) => [field.name, field.dataTypeID]),
    [
      ['number', 23],
      ['bytes', 17],
    ],
    describeChange('handleRowDescription gets no fields with name and dataTypeID'),
  );
  const [row] = (seen.get('handleDataRow') ?? []) as [{ fields: unknown[] }];
  assert.deepEqual(
    row.fields,
    ['7', '\\x005cff'],
    describeChange('bind ignores valueMapper, or handleDataRow gets no fields as text'),
  );
});

test('pg records a parsed statement by its name', async () => {
  await probe((connection) => {
    assert.equal(
      connection.parsedStatements[name],
      text,
      describeChange('connection.parsedStatements[name] is not the text'),
    );
    connection.sync();
  });
});

test('a refused statement is reported before the connection is ready again', async () => {
  const { called, seen } = await probe((connection) => {
    send(connection, ['no number', null], { isParsed: true });
    connection.sync();
  });
  assert.deepEqual(
    called,
    ['handleError', 'readyForQuery'],
    describeChange('failures arrive in another order'),
  );
  const [failure] = seen.get('handleError') ?? [];
  assert.ok(failure instanceof pg.DatabaseError, describeChange('handleError gets no pg.DatabaseError'));
});
