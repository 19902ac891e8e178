/** Values of an API in tables whose columns have other types: each reads back equal, or nothing is loaded. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { compareDecimals, isDecimal } from '@headgate/pipelines';
import { createEndpointFixture } from './endpoint-fixture.ts';

const fixture = await createEndpointFixture();
after(() => fixture.dispose());
const { api, rows } = fixture;
await fixture.publishProfile();

/** Each row is a JSON text. */
function answerRows(texts: readonly string[]): void {
  api.answer((_, response) => {
    response.end(`{"data": [${texts.join(', ')}]}`);
    return undefined;
  });
}

const output = { tableName: 'typed', createTableMode: 'APPEND' };

/** Loads one value, as JSON, into a table with a column of the type. Returns what it has then. */
async function loadInto(type: string, value: string, input: object = {}) {
  await fixture.connection.run(`create or replace table typed (v ${type})`);
  answerRows([`{"v": ${value}}`]);
  const { status, message = '' } = await fixture.load(input, output);
  const [[text, now] = []] = await rows('select v::varchar, typeof(v) from typed');
  return { status, message, text, type: now };
}

test('what fits a column without loss is loaded', async () => {
  for (const [type, value, text] of [
    ['INTEGER', '5', '5'],
    ['INTEGER', '"5"', '5'],
    ['BIGINT', '20.0', '20'],
    ['HUGEINT', '123456789012345678901234567890', '123456789012345678901234567890'],
    ['DECIMAL(10, 2)', '19.99', '19.99'],
    ['DECIMAL(10, 2)', '"19.9"', '19.90'],
    ['DECIMAL(38, 20)', '0.12345678901234567891', '0.12345678901234567891'],
    ['DOUBLE', '"0.5"', '0.5'],
    ['DOUBLE', '9007199254740992', '9007199254740992.0'],
    ['FLOAT', '0.1', '0.1'],
    ['VARCHAR', '5', '5'],
    ['VARCHAR', '1.5', '1.5'],
    ['VARCHAR', 'true', 'true'],
    ['VARCHAR', '{"a":[1]}', '{"a":[1]}'],
    ['JSON', '"abc"', '"abc"'],
    ['JSON', '"5"', '"5"'],
    ['JSON', '{"a":0.12345678901234567891}', '{"a":0.12345678901234567891}'],
    ['DATE', '"2026-01-31"', '2026-01-31'],
    ['TIMESTAMP', '"2026-01-31T08:30:00.5Z"', '2026-01-31 08:30:00.5'],
    ['TIMESTAMP', '"2026-01-31T08:30:00+00:00"', '2026-01-31 08:30:00'],
    ['TIMESTAMP', '"2026-01-31T08:30:00+0000"', '2026-01-31 08:30:00'],
    ['TIMESTAMP', '"2026-01-31 08:30:00-00"', '2026-01-31 08:30:00'],
    ['TIMESTAMP_NS', '"2026-01-31T08:30:00.123456789-00:00"', '2026-01-31 08:30:00.123456789'],
    ['TIMESTAMP WITH TIME ZONE', '"2026-01-31T08:30:00+01:00"', '2026-01-31 07:30:00+00'],
    ['TIME', '"08:30"', '08:30:00'],
    ['BOOLEAN', '"true"', 'true'],
    ["ENUM('a', 'b')", '"b"', 'b'],
    ['VARCHAR[]', '["a"]', '[a]'],
  ] as const) {
    const loaded = await loadInto(type, value);
    assert.deepEqual([loaded.status, loaded.text], ['SUCCESS', text], `${type} ${value}: ${loaded.message}`);
  }
});

test('texts beside values of other types stay texts in a column of text', async () => {
  await fixture.connection.run('create or replace table typed (v VARCHAR)');
  answerRows(['{"v": "abc"}', '{"v": "a\\"b"}', '{"v": {"a": 1}}', '{"v": null}']);
  const { status, message } = await fixture.load({}, output);
  assert.equal(status, 'SUCCESS', message);
  assert.deepEqual(await rows('select v from typed order by rowid'), [['abc'], ['a"b'], ['{"a":1}'], [null]]);
});

test('a small number with an exponent fits a DECIMAL beside numbers with more digits', async () => {
  await fixture.connection.run('create or replace table typed (v DECIMAL(38, 20))');
  answerRows(['{"v": 0.12345678901234567891}', '{"v": 1.2e-7}', '{"v": -120e-1}', '{"v": 2.50e1}']);
  const { status, message } = await fixture.load({}, output);
  assert.equal(status, 'SUCCESS', message);
  const [[first] = [], ...others] = await rows('select v::varchar from typed order by rowid');
  assert.equal(first, '0.12345678901234567891');
  assert.deepEqual(
    others.map(([text]) => Number(text)),
    [1.2e-7, -12, 25],
  );
  answerRows(['{"v": 0.12345678901234567891}', '{"v": 1.2e-20}']);
  assert.match((await fixture.load({}, output)).message ?? '', /such as "1\.2e-20"/);
});

test('what a column cannot hold stops the load, with the column, both types and the value', async () => {
  for (const [type, value, source] of [
    ['INTEGER', '3000000000', 'integers'],
    ['BIGINT', '1.5', 'numbers'],
    ['BIGINT', '"007"', 'text'],
    ['BIGINT', '"abc"', 'text'],
    ['BIGINT', 'true', 'booleans'],
    ['DECIMAL(4, 2)', '123', 'integers'],
    ['DECIMAL(4, 2)', '1.234', 'numbers'],
    ['DOUBLE', '9007199254740993', 'integers'],
    ['DOUBLE', '0.12345678901234567891', 'numbers with more digits than DOUBLE has'],
    ['FLOAT', '0.123456789', 'numbers'],
    ['BOOLEAN', '1', 'integers'],
    ['BOOLEAN', '"yes"', 'text'],
    ['DATE', '"2026-01-31T08:30:00Z"', 'text'],
    ['DATE', '"2026-02-30"', 'text'],
    ['DATE', '"31/01/2026"', 'text'],
    ['TIMESTAMP', '"2026-01-31T08:30:00+01:00"', 'text'],
    ['TIMESTAMP', '"2026-01-31T08:30:00.1234567Z"', 'text'],
    ['TIMESTAMP', '"2026-01-31T08:30:00+00:01"', 'text'],
    ['TIMESTAMP', '1767225600', 'integers'],
    ['TIMESTAMP WITH TIME ZONE', '"2026-01-31T08:30:00"', 'text'],
    ["ENUM('a', 'b')", '"c"', 'text'],
    ['VARCHAR[]', '{"a":1}', 'JSON'],
    ['DATE', '{"a":1}', 'JSON'],
  ] as const) {
    const { status, message, text } = await loadInto(type, value);
    assert.deepEqual([status, text], ['FAILED', undefined], `${type} ${value}`);
    const shown = type.replace(/, (?=\d)/, ',');
    assert.ok(message.includes(`the column "v" of the table "typed" is ${shown}`), message);
    assert.ok(message.includes(`the API gives ${source}, such as `), message);
  }
});

test('Widen gives a column the narrowest type for the rows that it has and those that come', async () => {
  for (const [type, before, value, wider, texts] of [
    ['INTEGER', '1', '3000000000', 'BIGINT', ['1', '3000000000']],
    ['BIGINT', '1', '1.5', 'DOUBLE', ['1.0', '1.5']],
    ['BIGINT', '9007199254740993', '1.5', 'VARCHAR', ['9007199254740993', '1.5']],
    ['DOUBLE', '1', '9007199254740993', 'VARCHAR', ['1', '9007199254740993']],
    ['DOUBLE', '1', '0.12345678901234567891', 'VARCHAR', ['1', '0.12345678901234567891']],
    ['DECIMAL(4, 2)', '1.5', '1.234', 'DOUBLE', ['1.5', '1.234']],
    ['BOOLEAN', 'true', '5', 'VARCHAR', ['true', '5']],
    ['BIGINT', '1', '{"a":0.5}', 'JSON', ['1', '{"a":0.5}']],
    ['DATE', "'2026-01-31'", '"soon"', 'VARCHAR', ['2026-01-31', 'soon']],
  ] as const) {
    await fixture.connection.run(`create or replace table typed as select ${before}::${type} as v`);
    answerRows([`{"v": ${value}}`]);
    const { message } = await fixture.load({ schemaChange: 'Widen' }, output);
    const found = await rows(`select v::varchar, typeof(v) from typed order by rowid`);
    assert.deepEqual(
      found,
      texts.map((text) => [text, wider]),
      `${type} ${value}: ${message}`,
    );
  }
});

test('integers and fractions that no double holds together become text, or stop the load', async () => {
  const texts = ['{"id": 9007199254740993, "v": 1}', '{"id": 0.5, "v": 0.12345678901234567891}'];
  const target = { tableName: 'mixed' };
  answerRows(texts);
  assert.equal((await fixture.load({}, target)).status, 'SUCCESS');
  assert.deepEqual(await rows('select id, v from mixed'), [
    ['9007199254740993', '1'],
    ['0.5', '0.12345678901234567891'],
  ]);
  const properties = { id: { type: 'number' }, v: { type: 'number' } };
  await fixture.publishProfile({ structure: { schema: { properties }, repeatingElementPath: ['data'] } });
  const { status, message } = await fixture.load({}, target);
  assert.equal(status, 'FAILED');
  assert.match(
    message ?? '',
    /"id" of the table "mixed" would be DOUBLE, which cannot hold 9007199254740993/,
  );
  assert.equal((await rows('select * from mixed')).length, 2);
  await fixture.publishProfile();
});

/** Not random: a failure can be repeated. */
function createChooser(seed: number) {
  let state = seed;
  return <T>(list: readonly T[]): T => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return list[Math.floor((state / 2 ** 32) * list.length)] as T;
  };
}

const types = [
  ...['TINYINT', 'INTEGER', 'UBIGINT', 'BIGINT', 'HUGEINT', 'DECIMAL(9, 2)', 'DECIMAL(38, 10)', 'FLOAT'],
  ...[
    'DOUBLE',
    'VARCHAR',
    'BOOLEAN',
    'DATE',
    'TIMESTAMP',
    'TIMESTAMP_S',
    'TIMESTAMP_NS',
    'TIME',
    'UUID',
    'JSON',
  ],
];
const values = [
  ...['null', '0', '1', '-7', '255', '3000000000', '9007199254740993', '-9223372036854775808', '1e22'],
  ...[
    '123456789012345678901234567890',
    '0.5',
    '-19.99',
    '0.1',
    '1234.5678',
    '0.12345678901234567891',
    '1e-400',
  ],
  ...['true', 'false', '""', '"x"', '"1"', '"-1.50"', '"1e3"', '"true"', '"2026-01-31"', '"10:20:30.5"'],
  ...['"2026-01-31T10:20:30Z"', '"2026-01-31 10:20:30.123456789"', '"0f8fad5b-d9cb-469f-a165-70867728950e"'],
  ...['{"a":1}', '[0.12345678901234567891,"x"]', '[]'],
];

const plainMoment = (text: string) =>
  text
    .replace('T', ' ')
    .replace('Z', '')
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')
    .replace(/ 00:00:00$/, '');

/** Whether a text of the table says what a value of the API says. */
function isSame(value: string, found: unknown, type: unknown): boolean {
  if (value === 'null' || found === null) return value === 'null' && (found === null || found === 'null');
  const text = type === 'JSON' && /^"/.test(String(found)) ? JSON.parse(String(found)) : found;
  const source = value.startsWith('"') ? (JSON.parse(value) as string) : value;
  // Values of several types, among them lists or objects, come as JSON.
  if (text === source || text === value) return true;
  if (isDecimal(source) && isDecimal(String(text))) return compareDecimals(source, String(text)) === 0;
  return String(type).startsWith('TIME') && plainMoment(source) === plainMoment(String(text));
}

test('random values in tables of random types read back equal, or the table is as before', async () => {
  const choose = createChooser(18);
  const count = { SUCCESS: 0, FAILED: 0 };
  for (let round = 0; round < 80; round += 1) {
    const columns = ['a', 'b'].map((name) => ({ name, type: choose(types) }));
    const schemaChange = choose(['Stop', 'Widen', 'Widen']);
    const defined = columns.map(({ name, type }) => `${name} ${type}`).join(', ');
    await fixture.connection.run(`create or replace table typed (n INTEGER, ${defined})`);
    const existing = columns.map(({ type }) => choose([`TRY_CAST('1' AS ${type})`, 'NULL']));
    await fixture.connection.run(`insert into typed select 0, ${existing.join(', ')}`);
    const shown = 'select n, a::varchar, typeof(a), b::varchar, typeof(b) from typed order by n';
    const before = await rows(shown);
    const given = [1, 2].map((n) => ({ n, a: choose(values), b: choose(values) }));
    answerRows(given.map(({ n, a, b }) => `{"n": ${n}, "a": ${a}, "b": ${b}}`));
    const { status, message } = await fixture.load({ schemaChange }, output);
    count[status as 'SUCCESS' | 'FAILED'] += 1;
    const after = await rows(shown);
    const what = JSON.stringify({ columns, schemaChange, given, before, after, message });
    if (status === 'FAILED') {
      assert.deepEqual(after, before, what);
      assert.match(message ?? '', /such as .* which it cannot hold without loss/, what);
      continue;
    }
    assert.equal(after.length, 3, what);
    for (const [index, { a, b }] of given.entries()) {
      const [, textA, typeA, textB, typeB] = after[index + 1] ?? [];
      assert.ok(isSame(a, textA, typeA) && isSame(b, textB, typeB), what);
    }
    const [[, oldA, , oldB] = [], [, newA, typeA, newB, typeB] = []] = [before[0], after[0]];
    assert.ok(isSame(String(oldA), newA, typeA) && isSame(String(oldB), newB, typeB), what);
  }
  assert.ok(count.SUCCESS > 20 && count.FAILED > 20, JSON.stringify(count));
});
