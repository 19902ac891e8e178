/** The declared types of statements match PostgreSQL's description (docs/adr/0040). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { startTestServer } from '../../../../testing/server.ts';
import { guardedPage, guardedRead } from '../../security/guarded-read.ts';
import { type ColumnType, nameSqlType, type ParameterType } from './sql-types.ts';
import { listStatements, type PreparedStatement, statement } from './statement.ts';

const server = await startTestServer();
const { database } = server.deps;

const countAccounts = statement(
  { parameters: { name: 'text' }, row: { count: 'bigint' } },
  'select count(*) as count from account where name like $name',
);

interface Described {
  /** Types of the parameters, by OID, in the order of the text. */
  parameters: readonly number[];
  columns: readonly { name: string; dataTypeID: number }[];
}

/** Gets PostgreSQL's description of a statement (PostgreSQL, Message Flow: Extended Query, Describe). */
function describe(client: pg.Client, text: string): Promise<Described> {
  const described = { parameters: [] as number[], columns: [] as Described['columns'] };
  return new Promise((resolve, reject) => {
    const query = {
      submit(connection: DescribingConnection): null {
        connection.once('parameterDescription', ({ dataTypeIDs }) => {
          described.parameters = dataTypeIDs;
        });
        connection.parse({ name: '', text });
        connection.describe({ type: 'S', name: '' });
        connection.sync();
        return null;
      },
      handleRowDescription({ fields }: { fields: Described['columns'] }): void {
        described.columns = fields;
      },
      handleReadyForQuery: () => resolve(described),
      handleError: reject,
    };
    client.query(query as never);
  });
}

interface DescribingConnection {
  once(event: 'parameterDescription', listener: (message: { dataTypeIDs: number[] }) => void): void;
  parse(query: { name: string; text: string }): void;
  describe(message: { type: 'S'; name: string }): void;
  sync(): void;
}

/** The differences between a declaration and PostgreSQL's description, one sentence each. */
async function differences(
  client: pg.Client,
  { parameters, parameterTypes, columnTypes, text }: PreparedStatement,
) {
  const described = await describe(client, text);
  const declaredTypes = parameters.map((name) => [`$${name}`, parameterTypes[name]] as const);
  const said = described.parameters.map((oid, index) => [`$${parameters[index]}`, oid] as const);
  const compared = [await compare(client, declaredTypes, said)];
  if (columnTypes !== undefined) {
    const columns = described.columns.map(({ name, dataTypeID }) => [name, dataTypeID] as const);
    compared.push(await compare(client, Object.entries(columnTypes), columns));
  }
  return compared.flat();
}

type Named<Type> = readonly (readonly [name: string, type: Type])[];

async function compare(
  client: pg.Client,
  declared: Named<ColumnType | ParameterType | undefined>,
  described: Named<number>,
): Promise<string[]> {
  const oids = new Map(described);
  const names = new Set([...declared.map(([name]) => name), ...oids.keys()]);
  const types = new Map(declared);
  const found: string[] = [];
  for (const name of names) {
    const type = types.get(name);
    const expected = type === undefined ? 'not declared' : nameSqlType(type);
    const oid = oids.get(name);
    const is = oid === undefined ? 'not there' : await typeName(client, oid);
    const sameAs = type === undefined ? expected : await typeName(client, expected);
    if (is !== sameAs) found.push(`${name}: declared ${expected}, in PostgreSQL ${is}`);
  }
  return found;
}

const typeNames = new Map<string | number, string>();

/** PostgreSQL's name of a type, from its OID or one of its names. */
async function typeName(client: pg.Client, type: string | number): Promise<string> {
  const known = typeNames.get(type);
  if (known !== undefined) return known;
  const select = 'select format_type($1::text::regtype, null) as name';
  const { rows } = await client.query<{ name: string }>(select, [String(type)]);
  const name = rows[0]?.name ?? 'unknown';
  typeNames.set(type, name);
  return name;
}

async function onClient(work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client(server.database.connection);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

test('the declared parameters and columns of every statement match PostgreSQL', () =>
  onClient(async (client) => {
    let compared = 0;
    for (const each of listStatements()) {
      const found = await differences(client, each).catch((failure: Error) => [failure.message]);
      assert.deepEqual(found, [], each.source);
      compared += 1;
    }
    assert.ok(compared > 200, `only ${compared} statements`);
  }));

test('a declaration that differs from its statement is detected', () =>
  onClient(async (client) => {
    const wrong = {
      ...statement(
        { parameters: { name: 'text' }, row: { account_id: 'uuid', name: 'text' } },
        'select account_id, name from account where name = $name',
      ),
      parameterTypes: { name: 'uuid' },
      columnTypes: { account_id: 'text', title: 'text' },
    } as const;
    assert.deepEqual(await differences(client, wrong), [
      '$name: declared uuid, in PostgreSQL text',
      'account_id: declared text, in PostgreSQL uuid',
      'title: declared text, in PostgreSQL not there',
      'name: declared not declared, in PostgreSQL text',
    ]);
  }));

test('a statement must use exactly the parameters that it declares', () => {
  assert.throws(() => statement({}, 'select $name::text as name'), /The parameter \$name is not declared/);
  assert.throws(
    () => statement({ parameters: { name: 'text' } }, 'select 1 as one'),
    /The declared parameter \$name is not used/,
  );
  const again = { parameters: { name: 'text' }, row: { count: 'integer' } } as const;
  assert.throws(() => statement(again, countAccounts.source), /already declared with different types/);
  assert.throws(
    () => guardedRead({ parameters: { now: 'text' }, row: {} }, 'select $now'),
    /The parameter \$now is reserved/,
  );
  assert.throws(
    () => guardedPage({ parameters: { name: 'text' }, row: {} }, { rows: 'select', total: 'select 1' }),
    /The declared parameter \$name is not used/,
  );
});

test('the compiler refuses parameters that a statement does not declare', () => {
  // Each call is a type error; the function is never run.
  const nothing = statement({}, 'select 2 as two');
  const calls = () => [
    // @ts-expect-error takes no parameters
    database.read(nothing, { name: 'a' }),
    // @ts-expect-error an array names nothing
    database.read(countAccounts, Array.of('a')),
    // @ts-expect-error a name is missing
    database.read(countAccounts, {}),
    // @ts-expect-error another type
    database.read(countAccounts, { name: 1 }),
    // @ts-expect-error may not be null
    database.read(countAccounts, { name: null }),
    // @ts-expect-error an unknown parameter
    database.read(countAccounts, { name: 'a', other: 'b' }),
  ];
  assert.equal(typeof calls, 'function');
});
