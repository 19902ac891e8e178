/** Child tables, high-water marks of several loads, and loads at the same time. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createEndpointFixture } from './endpoint-fixture.ts';

const fixture = await createEndpointFixture();
after(() => fixture.dispose());
const { api, rows } = fixture;

const integer = { type: 'integer' };
/** The profile's rows have lists `lines` whose elements have the members. */
function publishLines(members: object): Promise<void> {
  const lines = { type: 'array', items: { type: 'object', properties: members } };
  const properties = { id: integer, at: integer, status: { type: 'string' }, lines };
  return fixture.publishProfile({ structure: { schema: { properties }, repeatingElementPath: ['data'] } });
}
const answerRows = (...data: object[]) => api.answer(() => ({ data }));
const withChildren = { nestedData: 'Child tables' };
const keyed = (tableName: string) => ({ tableName, createTableMode: 'APPEND', primaryKeys: ['id'] });

/** Runs an api-query. */
async function query(parameters: object): Promise<{ status: string; message?: string }> {
  const Load = { type: 'api-query', parameters: { profile: 'flex-api', dataSource: 'Rows', ...parameters } };
  const Start = { type: 'start', parameters: {}, transitions: { unconditional: ['Load'] } };
  const pipeline = { components: { Start, Load } };
  const name = `query-${api.requests.length}`;
  await fixture.publish({
    [`${name}.orch.yaml`]: JSON.stringify({ type: 'orchestration', version: '1.0', pipeline }),
  });
  const outcome = await fixture.run(name);
  const step = [...fixture.steps.values()].findLast((each) => each.name === 'Load');
  return { status: outcome.status, message: outcome.message ?? step?.message ?? '' };
}

test('rows that a filter leaves out have no children, and keep those of earlier loads', async () => {
  await publishLines({ n: integer });
  const parameters = {
    targetTable: 'filtered',
    createTableMode: 'Append',
    primaryKeys: ['id'],
    nestedData: 'Child tables',
    dataSourceFilter: [['status', 'Is', 'Equal to', 'open']],
  };
  answerRows({ id: 1, status: 'open', lines: [{ n: 1 }] }, { id: 2, status: 'closed', lines: [{ n: 2 }] });
  const first = await query(parameters);
  assert.equal(first.status, 'SUCCESS', first.message);
  assert.deepEqual(await rows('select parent_id, n from filtered_lines'), [[1, 1]]);
  answerRows({ id: 1, status: 'closed', lines: [] }, { id: 3, status: 'open', lines: [{ n: 3 }] });
  await query(parameters);
  assert.deepEqual(await rows('select id from filtered order by id'), [[1], [3]]);
  assert.deepEqual(await rows('select parent_id, n from filtered_lines order by 1'), [
    [1, 1],
    [3, 3],
  ]);
});

test('child tables are checked and widened as the table is', async () => {
  await publishLines({ n: integer });
  answerRows({ id: 1, lines: [{ n: 1 }] });
  await fixture.load(withChildren, keyed('widened'));
  await publishLines({ n: { type: 'number' } });
  answerRows({ id: 2, lines: [{ n: 1.5 }] });
  const { status, message } = await fixture.load(withChildren, keyed('widened'));
  assert.equal(status, 'FAILED');
  assert.match(message ?? '', /the column "n" of the table "widened_lines" is BIGINT.*such as "1\.5"/);
  assert.deepEqual(await rows('select id from widened'), [[1]]);
  answerRows({
    id: 2,
    lines: [
      { n: 1.5, more: { a: 0 } },
      { n: 2, position: 'top', parent_id: 7 },
    ],
  });
  const widened = await fixture.load({ ...withChildren, schemaChange: 'Widen' }, keyed('widened'));
  assert.equal(widened.status, 'SUCCESS', widened.message);
  assert.deepEqual(
    await rows(
      'select parent_id, position, n, more::varchar, element_position, element_parent_id from widened_lines order by 1, 2',
    ),
    [
      [1, 1, 1, null, null, null],
      [2, 1, 1.5, '{"a":0}', null, null],
      [2, 2, 2, null, 'top', 7],
    ],
  );
});

test('numbers with many digits are kept in child tables', async () => {
  await publishLines({ price: { type: 'number' }, data: { type: 'object' }, note: { type: 'string' } });
  const price = '0.12345678901234567891';
  api.answer((_, response) => {
    response.end(
      `{"data": [{"id": 1, "lines": [{"price": 1, "data": {"a": 1}}, {"price": ${price}, "data": {"a": ${price}}, "note": "n"}]}]}`,
    );
    return undefined;
  });
  const input = { ...withChildren, schemaChange: 'Widen' };
  const { status, message } = await fixture.load(input, keyed('exact'));
  assert.equal(status, 'SUCCESS', message);
  assert.deepEqual(await rows('select price, data::varchar, note from exact_lines order by position'), [
    ['1', '{"a":1}', null],
    [price, `{"a":${price}}`, 'n'],
  ]);
});

test('names that are the same for the warehouse are refused with both', async () => {
  await fixture.publishProfile();
  answerRows({ Id: 1 }, { ID: 2 });
  const { message } = await fixture.load({}, { tableName: 'names' });
  assert.match(message ?? '', /the members "Id" and "ID", which are the same name for the warehouse/);
  answerRows({ '': 1 });
  assert.match((await fixture.load({}, { tableName: 'names' })).message ?? '', /whose name is empty/);
  await publishLines({ sku: integer, SKU: integer });
  answerRows({ id: 1, lines: [{ sku: 1, SKU: 2 }] });
  const child = await fixture.load(withChildren, keyed('names'));
  assert.match(child.message ?? '', /the members "sku" and "SKU"/);
});

test('loads by other connections or with other conditions have other marks', async () => {
  await publishLines({ n: integer });
  const dataLoading = {
    loadType: 'INCREMENTAL_LOAD',
    incrementalLoading: { highWaterMarkSelection: 'at', parameter: 'since' },
  };
  const sent = () => api.requests.at(-1)?.query.get('since');
  const load = (overrides: object) =>
    fixture.load(
      { connectionRef: { overrides } },
      { tableName: 'marks', createTableMode: 'APPEND' },
      { dataLoading },
    );
  const parameters = { targetTable: 'marks', createTableMode: 'Append', dataLoading };
  answerRows({ id: 1, at: 5 });
  assert.equal((await load({ authType: 'NONE' })).status, 'SUCCESS');
  await load({ authType: 'NONE', account: 'other' });
  assert.equal(sent(), null);
  await load({ account: 'other', authType: 'NONE' });
  assert.equal(sent(), '5');
  await query({ ...parameters, dataSourceFilter: [['id', 'Is', 'Greater than', '0']] });
  assert.equal(sent(), null);
  await query({ ...parameters, dataSourceFilter: [['id', 'Is', 'Greater than', '1']] });
  assert.equal(sent(), null);
  // The endpoint may be named in another way, and the mark is the same.
  const plain = { ...parameters, connectionOptions: [['authType', 'NONE']] };
  assert.equal((await query({ ...plain, profile: 'The API', dataSource: 'rows' })).status, 'SUCCESS');
  assert.equal(sent(), '5');
});

test('a load whose mark another run has moved adds nothing', async () => {
  await publishLines({ n: integer });
  const dataLoading = {
    loadType: 'INCREMENTAL_LOAD',
    incrementalLoading: { highWaterMarkSelection: 'at', parameter: 'since' },
  };
  const output = { tableName: 'raced', createTableMode: 'APPEND' };
  answerRows({ id: 1, at: 5 });
  await fixture.load({}, output, { dataLoading });
  api.answer(async () => {
    await fixture.connection.run(
      `update headgate_high_water_marks set high_water_mark = '7' where load_key like '%raced%'`,
    );
    return { data: [{ id: 2, at: 6 }] };
  });
  const { status, message } = await fixture.load({}, output, { dataLoading });
  assert.equal(status, 'FAILED');
  assert.match(message ?? '', /another run has loaded rows into "raced" since this load began/);
  assert.deepEqual(await rows('select id from raced'), [[1]]);
});

test('two loads of one table at the same time replace the rows of each other', async () => {
  await publishLines({ n: integer });
  const other = await fixture.connect();
  const statements = [
    'begin',
    'create table headgate_load_of_shared (nothing boolean)',
    'drop table headgate_load_of_shared',
    'insert into shared values (2, 1, null, null)',
  ];
  await fixture.connection.run(
    'create or replace table shared (id bigint, "at" bigint, status varchar, lines json)',
  );
  for (const statement of statements) await other.run(statement);
  let waits = 0;
  fixture.onWait(async () => {
    waits += 1;
    if (waits === 2) await other.run('commit');
  });
  answerRows({ id: 2, at: 2 });
  const { status, message } = await fixture.load({}, keyed('shared'));
  assert.deepEqual([status, waits], ['SUCCESS', 2], message);
  assert.deepEqual(await rows('select id, "at" from shared'), [[2, 2]]);
  fixture.onWait(() => undefined);
  for (const statement of statements.slice(0, 2)) await other.run(statement);
  const stopped = await fixture.load({}, keyed('shared'));
  assert.equal(stopped.status, 'FAILED');
  assert.match(stopped.message ?? '', /the table "shared" is being changed by another run or statement/);
  await other.run('rollback');
});

test('values that are nested too deeply are named with their page', async () => {
  await fixture.publishProfile();
  api.answer((_, response) => {
    response.end(`{"data": [{"id": 1, "deep": ${'['.repeat(20_000)}${']'.repeat(20_000)}}]}`);
    return undefined;
  });
  const { status, message } = await fixture.load({}, { tableName: 'deep' });
  assert.equal(status, 'FAILED');
  assert.match(message ?? '', /page 1 of http:.* has lists or objects nested so deeply/);
});

test('the SQL of the step names no folder of the agent', async () => {
  await publishLines({ n: integer });
  answerRows({ id: 1, lines: [{ n: 1 }] });
  await fixture.load(withChildren, keyed('shown'));
  const { sql = '' } = [...fixture.steps.values()].findLast((each) => each.name === 'Load') ?? {};
  assert.match(sql, /read_json\('headgate-connector-rows\.json'/);
  assert.ok(!sql.includes(fixture.folder), sql);
});

test('truncate replaces the rows of a table that becomes wider', async () => {
  await fixture.publishProfile();
  await fixture.connection.run('create or replace table emptied as select 1 as id, 2 as v');
  const output = { tableName: 'emptied', createTableMode: 'TRUNCATE_AND_INSERT' };
  answerRows({ id: 3, v: 0.5, more: 'x' });
  const { status, message } = await fixture.load({ schemaChange: 'Widen' }, output);
  assert.equal(status, 'SUCCESS', message);
  assert.deepEqual(await rows('select id, v, more from emptied'), [[3, 0.5, 'x']]);
  answerRows();
  assert.equal((await fixture.load({ schemaChange: 'Widen' }, output)).status, 'SUCCESS');
  assert.deepEqual(await rows('select id from emptied'), []);
});

test('a value with the words of a conflict does not repeat the load', async () => {
  await fixture.publishProfile();
  let waits = 0;
  fixture.onWait(() => {
    waits += 1;
  });
  await fixture.connection.run('create or replace table conflicts (v integer)');
  answerRows({ v: 'a conflict' });
  const { message } = await fixture.load({}, { tableName: 'conflicts', createTableMode: 'APPEND' });
  assert.match(message ?? '', /such as "a conflict"/);
  await fixture.connection.run(`create or replace table conflicts (v varchar check (v <> 'conflict'))`);
  answerRows({ v: 'conflict' });
  const { status } = await fixture.load({}, { tableName: 'conflicts', createTableMode: 'APPEND' });
  assert.deepEqual([status, waits], ['FAILED', 0]);
  fixture.onWait(() => undefined);
});

test('pages with the same rows are refused, whatever else is in their texts', async () => {
  await fixture.publishProfile({ paging: { type: 'page' } });
  api.answer(({ query }) => ({ page: query.get('page'), data: [{ id: 1, at: { n: 1 } }] }));
  const { message } = await fixture.load({}, { tableName: 'same' });
  assert.match(message ?? '', /page 2 of .* is the same as page 1/);
});

test('an empty response is not an empty table, unless its status says so', async () => {
  await fixture.publishProfile();
  await fixture.connection.run('create or replace table kept as select 1 as id');
  const output = { tableName: 'kept', createTableMode: 'TRUNCATE_AND_INSERT' };
  const answerNothing = (status: number) =>
    api.answer((_, response) => {
      response.statusCode = status;
      response.end();
      return undefined;
    });
  answerNothing(200);
  const { status, message } = await fixture.load({}, output);
  assert.equal(status, 'FAILED');
  assert.match(message ?? '', /page 1 of .* is empty \(status 200\), so rows may be missing/);
  assert.deepEqual(await rows('select id from kept'), [[1]]);
  answerNothing(204);
  assert.equal((await fixture.load({}, output)).status, 'SUCCESS');
  assert.deepEqual(await rows('select id from kept'), []);
});

test('a quoted response ends before the word that is cut', async () => {
  await fixture.publishProfile();
  const token = 'a-token-that-is-cut';
  api.answer((_, response) => {
    response.end(`${'no json '.repeat(24)}${token}`);
    return undefined;
  });
  const { message } = await fixture.load({}, { tableName: 'quoted' });
  assert.match(message ?? '', /begins with: no json .* json …$/);
});

test('a limit that one page reaches does not read what leads to the next one', async () => {
  await fixture.publishProfile({ paging: { type: 'next-url', path: 'next' } });
  api.answer(() => ({ next: 'http://elsewhere.example/rows', data: [{ id: 1 }, { id: 2 }] }));
  const limited = await query({ targetTable: 'limited', limit: '2' });
  assert.equal(limited.status, 'SUCCESS', limited.message);
  const more = await query({ targetTable: 'limited', limit: '3' });
  assert.match(more.message ?? '', /pages of another server are not read/);
});

test('child lists whose names differ only in case are refused', async () => {
  const list = { type: 'array', items: { type: 'object', properties: { n: integer } } };
  const properties = { id: integer, lines: list, Lines: list };
  await fixture.publishProfile({ structure: { schema: { properties }, repeatingElementPath: ['data'] } });
  answerRows({ id: 1, lines: [{ n: 1 }], Lines: [{ n: 2 }] });
  const { message } = await fixture.load(withChildren, keyed('cased'));
  assert.match(message ?? '', /the members "lines" and "Lines", which are the same name/);
});
