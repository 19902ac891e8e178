import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createEndpointFixture } from './endpoint-fixture.ts';

const fixture = await createEndpointFixture();
after(() => fixture.dispose());
const { api, rows } = fixture;
const schema = (properties: object) => ({
  schema: { type: 'object', properties: { data: { type: 'array', items: { type: 'object', properties } } } },
  repeatingElementPath: ['data'],
});

test('the rows of all pages are loaded, with the columns of the schema', async () => {
  await fixture.publishProfile({
    url: `${api.origin}/shops/{shop}/rows`,
    paging: { type: 'page', sizeParameter: 'size', size: 2 },
    headerParameters: [{ name: 'X-Kind', value: 'all' }],
    structure: schema({ id: { type: 'integer' }, name: { type: 'string' }, at: { type: 'object' } }),
  });
  const all = [1, 2, 3].map((id) => ({ id, name: `n${id}`, at: { x: id }, extra: 1 }));
  api.answer(({ query }) => ({
    data: all.slice((Number(query.get('page')) - 1) * 2, Number(query.get('page')) * 2),
  }));
  const input = {
    uriParams: [['shop', 'a b']],
    queryParams: [['q', '1&2']],
    headerParams: [['x-more', 'y']],
  };
  const { status, message } = await fixture.load(input);
  assert.equal(status, 'SUCCESS', message);
  assert.match(message ?? '', /^3 rows from 2 pages of http:.*\n.*left out: extra/);
  assert.deepEqual(await rows('select id, name, "at"::varchar from loaded order by id'), [
    [1, 'n1', '{"x":1}'],
    [2, 'n2', '{"x":2}'],
    [3, 'n3', '{"x":3}'],
  ]);
  const [first, second] = api.requests;
  assert.equal(first?.url, '/shops/a%20b/rows?q=1%262&size=2&page=1');
  assert.equal(second?.query.get('page'), '2');
  assert.equal(first?.headers['x-kind'], 'all');
  assert.equal(first?.headers['x-more'], 'y');
});

test('offsets count the elements of the outermost list, not the rows in them', async () => {
  const orders = [1, 2, 3, 4, 5].map((id) => ({ id, lines: id === 4 ? [] : [{ n: id }, { n: -id }] }));
  await fixture.publishProfile({
    paging: { type: 'offset', sizeParameter: 'limit', size: 2 },
    structure: { repeatingElementPath: ['data', 'lines'] },
  });
  api.answer(({ query }) => {
    const offset = Number(query.get('offset'));
    return { data: orders.slice(offset, offset + 2) };
  });
  const { status, message } = await fixture.load({}, { tableName: 'lines' });
  assert.equal(status, 'SUCCESS', message);
  assert.deepEqual(
    await rows('select n from lines order by n'),
    [-5, -3, -2, -1, 1, 2, 3, 5].map((n) => [n]),
  );
});

test('pages that are the same again are not loaded twice', async () => {
  await fixture.publishProfile({ paging: { type: 'page', totalPath: 'pages' } });
  api.answer(() => ({ pages: 3, data: [{ id: 1 }] }));
  const { status, message } = await fixture.load({}, { tableName: 'repeated' });
  assert.equal(status, 'FAILED');
  assert.match(
    message ?? '',
    /page 2 of .* is the same as page 1: the parameter of the paging has no effect/,
  );
});

test('without loadSelectedData each page is one row of DATA_VALUE, as it came', async () => {
  await fixture.publishProfile();
  api.answer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"data": [{"id": 12345678901234567890, "price": 0.10000000000000000001}]}');
    return undefined;
  });
  const { status, message } = await fixture.load({ loadSelectedData: 'No' });
  assert.equal(status, 'SUCCESS', message);
  assert.deepEqual(await rows('select "DATA_VALUE"::varchar from loaded'), [
    ['{"data": [{"id": 12345678901234567890, "price": 0.10000000000000000001}]}'],
  ]);
});

test('without a schema the columns are those of the rows', async () => {
  await fixture.publishProfile();
  api.answer(() => ({ data: [{ id: 1, ok: true }, { id: 2.5, name: 'x', list: [1] }, { id: null }] }));
  assert.equal((await fixture.load()).status, 'SUCCESS');
  assert.deepEqual(await rows('select id, ok, name, list::varchar from loaded'), [
    [1, true, null, null],
    [2.5, null, 'x', '[1]'],
    [null, null, null, null],
  ]);
});

test('large integers keep their digits, also beside one that a double holds exactly', async () => {
  await fixture.publishProfile({});
  api.answer((_, response) => {
    response.end('{"data": [{"id": 1234567890123456789}, {"id": 1234567890123456800}]}');
  });
  const { status, message } = await fixture.load({}, { tableName: 'large' });
  assert.equal(status, 'SUCCESS', message);
  assert.deepEqual(await rows('select id::varchar from large order by id'), [
    ['1234567890123456789'],
    ['1234567890123456800'],
  ]);
});

test('modes: append adds, truncate keeps the table, fail-if-exists sends nothing', async () => {
  await fixture.publishProfile({ structure: schema({ id: { type: 'integer' } }) });
  api.answer(() => ({ data: [{ id: 1 }] }));
  const target = { tableName: 'modes' };
  for (const createTableMode of ['APPEND', 'append'])
    assert.equal((await fixture.load({}, { ...target, createTableMode })).status, 'SUCCESS');
  assert.deepEqual(await rows('select id from modes'), [[1], [1]]);
  await fixture.load({}, { ...target, createTableMode: 'TRUNCATE_AND_INSERT' });
  assert.deepEqual(await rows('select id from modes'), [[1]]);
  const before = api.requests.length;
  const failed = await fixture.load({}, { ...target, createTableMode: 'FAIL_IF_EXISTS' });
  assert.match(failed.message ?? '', /the table "modes" exists/);
  assert.equal(api.requests.length, before);
});

test('with primary keys, append replaces the rows with the same keys, and keeps the last of a page', async () => {
  await fixture.publishProfile({ structure: schema({ id: { type: 'integer' }, v: { type: 'string' } }) });
  const output = { tableName: 'keyed', createTableMode: 'APPEND', primaryKeys: ['id'] };
  api.answer(() => ({
    data: [
      { id: 1, v: 'a' },
      { id: 2, v: 'b' },
    ],
  }));
  await fixture.load({}, output);
  api.answer(() => ({
    data: [
      { id: 2, v: 'c' },
      { id: 3, v: 'd' },
      { id: 3, v: 'e' },
    ],
  }));
  const { status, message } = await fixture.load({}, output);
  assert.equal(status, 'SUCCESS', message);
  assert.deepEqual(await rows('select id, v from keyed order by id'), [
    [1, 'a'],
    [2, 'c'],
    [3, 'e'],
  ]);
  api.answer(() => ({ data: [{ id: null, v: 'x' }] }));
  assert.match((await fixture.load({}, output)).message ?? '', /row 1 has no "id"/);
});

test('a value that does not fit stops the load, or widens the column', async () => {
  await fixture.publishProfile({ structure: schema({ id: { type: 'integer' } }) });
  const output = { tableName: 'changing', createTableMode: 'APPEND' };
  api.answer(() => ({ data: [{ id: 1 }] }));
  await fixture.load({}, output);
  api.answer(() => ({ data: [{ id: 2 }, { id: 'three', more: true }] }));
  const stopped = await fixture.load({}, output);
  assert.equal(stopped.status, 'FAILED');
  assert.match(stopped.message ?? '', /"id" of row 2 is "three", but the schema of the profile says integer/);
  const strict = await fixture.load({ schemaChange: 'Stop on new members' }, output);
  assert.match(strict.message ?? '', /"id" of row 2/);
  assert.deepEqual(await rows('select id from changing'), [[1]]);
  const widened = await fixture.load({ schemaChange: 'Widen' }, output);
  assert.equal(widened.status, 'SUCCESS', widened.message);
  assert.deepEqual(await rows('select id, more from changing order by id'), [
    ['1', null],
    ['2', null],
    ['three', true],
  ]);
});

test('fractions are not rounded into a column of integers', async () => {
  await fixture.publishProfile({ structure: { repeatingElementPath: ['data'] } });
  const output = { tableName: 'prices', createTableMode: 'APPEND' };
  api.answer(() => ({ data: [{ price: 20 }] }));
  await fixture.load({}, output);
  api.answer(() => ({ data: [{ price: 19.99 }] }));
  const { status, message } = await fixture.load({}, output);
  assert.deepEqual([status, await rows('select price from prices')], ['FAILED', [[20]]], message);
  assert.match(message ?? '', /"price" of the table "prices" is BIGINT/);
  assert.equal((await fixture.load({ schemaChange: 'Widen' }, output)).status, 'SUCCESS');
  assert.deepEqual(await rows('select price from prices order by 1'), [[19.99], [20]]);
});

test('lists of objects become child tables', async () => {
  const lines = {
    type: 'array',
    items: { type: 'object', properties: { sku: { type: 'string' }, n: { type: 'integer' } } },
  };
  await fixture.publishProfile({ structure: schema({ id: { type: 'integer' }, lines }) });
  api.answer(() => ({
    data: [
      {
        id: 1,
        lines: [
          { sku: 'a', n: 1 },
          { sku: 'b', n: 2 },
        ],
      },
      { id: 2, lines: [] },
    ],
  }));
  const output = { tableName: 'orders', createTableMode: 'APPEND', primaryKeys: ['id'] };
  for (let load = 0; load < 2; load += 1) {
    const { status, message } = await fixture.load({ nestedData: 'Child tables' }, output);
    assert.equal(status, 'SUCCESS', message);
  }
  assert.deepEqual(await rows('select * from orders order by id'), [[1], [2]]);
  assert.deepEqual(await rows('select * from orders_lines order by position'), [
    [1, 1, 'a', 1],
    [1, 2, 'b', 2],
  ]);
  const answerLines = (more: unknown) => api.answer(() => ({ data: [{ id: 3, lines: more }] }));
  const strictly = { nestedData: 'Child tables', schemaChange: 'Stop on new members' };
  for (const [more, says] of [
    [[{ sku: 'c', n: 1.7 }], /"n" of element 1 of "lines" of row 1 is "1.7", but the schema/],
    [[{ sku: 'c' }, { sku: 'd', kind: 7 }], /element 2 of "lines" of row 1 has "kind"/],
    [[5], /element 1 of "lines" of row 1 is "5", not an object/],
    [{ sku: 'c' }, /"lines" of row 1 is an object, not a list/],
  ] as const) {
    answerLines(more);
    const { status, message } = await fixture.load(strictly, output);
    assert.equal(status, 'FAILED');
    assert.match(message ?? '', says);
  }
  answerLines([{ sku: 'c', kind: 7 }]);
  const left = await fixture.load({ nestedData: 'Child tables' }, output);
  assert.match(left.message ?? '', /left out: lines\.kind/);
});

test('an incremental load sends the mark of the last one and keeps it with the rows', async () => {
  await fixture.publishProfile({ structure: schema({ id: { type: 'integer' }, at: { type: 'string' } }) });
  const dataLoading = {
    loadType: 'INCREMENTAL_LOAD',
    incrementalLoading: { highWaterMarkSelection: 'at', parameter: 'since' },
  };
  const output = { tableName: 'events', createTableMode: 'APPEND' };
  const load = () => fixture.load({}, output, { dataLoading });
  api.answer(() => ({
    data: [
      { id: 2, at: '2026-01-02T00:00:00Z' },
      { id: 1, at: '2026-01-01T00:00:00Z' },
    ],
  }));
  const first = await load();
  assert.match(first.message ?? '', /high-water mark of "at": 2026-01-02T00:00:00Z/);
  assert.equal(api.requests.at(-1)?.query.get('since'), null);
  api.answer(() => ({
    data: [
      { id: 2, at: '2026-01-02T00:00:00Z' },
      { id: 3, at: '2026-01-02T02:30:00+01:00' },
    ],
  }));
  await load();
  assert.equal(api.requests.at(-1)?.query.get('since'), '2026-01-02T00:00:00Z');
  assert.deepEqual(await rows('select id from events order by id'), [[1], [2], [3]]);
  // A load that fails moves no mark.
  api.answer(() => ({
    data: [
      { id: 4, at: '2026-01-09T00:00:00Z' },
      { id: 'x', at: '2026-01-09T00:00:00Z' },
    ],
  }));
  assert.equal((await load()).status, 'FAILED');
  api.answer(() => ({ data: [] }));
  await load();
  assert.equal(api.requests.at(-1)?.query.get('since'), '2026-01-02T02:30:00+01:00');
});

test('api-query selects, filters and limits; api-extract keeps pages', async () => {
  await fixture.publishProfile({
    structure: schema({ id: { type: 'integer' }, name: { type: 'string' }, x: { type: 'string' } }),
  });
  api.answer(() => ({ data: [1, 2, 3, 4].map((id) => ({ id, name: `n${id}`, x: 'y' })) }));
  const component = (type: string, parameters: object) =>
    JSON.stringify({
      type: 'orchestration',
      version: '1.0',
      pipeline: {
        components: {
          Start: { type: 'start', parameters: {}, transitions: { unconditional: ['Load'] } },
          Load: {
            type,
            parameters: { profile: 'The API', dataSource: 'Rows', targetTable: 'queried', ...parameters },
          },
        },
      },
      design: {},
    });
  const query = component('api-query-v2', {
    basicAdvancedMode: 'Basic',
    authenticationMethod: 'Other',
    dataSelection: ['id', 'name'],
    dataSourceFilter: [['id', 'Is', 'Greater than', '1']],
    combineFilters: 'And',
    limit: '3',
    type: 'Standard',
    stage: '[Custom]',
  });
  await fixture.publish({ 'query.orch.yaml': query, 'extract.orch.yaml': component('api-extract', {}) });
  const queried = await fixture.run('query');
  assert.equal(queried.status, 'SUCCESS', queried.message);
  assert.deepEqual(await rows('select * from queried order by id'), [
    [2, 'n2'],
    [3, 'n3'],
  ]);
  const extracted = await fixture.run('extract');
  assert.equal(extracted.status, 'SUCCESS', extracted.message);
  assert.deepEqual(await rows('select json_array_length("DATA_VALUE"->\'data\') from queried'), [[4]]);
});

test('an unknown profile or endpoint is named with those that there are', async () => {
  await fixture.publishProfile();
  assert.match(
    (await fixture.load({ profile: 'flex-shop' })).message ?? '',
    /^not started: .*the connector profile "flex-shop" is not in .* or use one of "flex-api"/,
  );
  assert.match(
    (await fixture.load({ endpoint: 'Orders' })).message ?? '',
    /^not started: .*no endpoint "Orders": use one of "Rows"/,
  );
  const misspelled = await fixture.load({ loadSelectdData: 'No', loadSelectedData: undefined });
  assert.match(misspelled.message ?? '', /did you mean "loadSelectedData"/);
});
