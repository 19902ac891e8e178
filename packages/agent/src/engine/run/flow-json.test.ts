import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFlow, type Flow, readTable } from './flow-fixture.ts';

let flow: Flow;
beforeEach(async () => {
  flow = await createFlow();
  await flow.sql(
    'create table calls (id integer, data json)',
    `insert into calls values
     (1, '{"request":"r1","transcript":[{"speaker":"A","sentences":[{"text":"hi","start":1.5},{"text":"yes","start":2}]},{"speaker":"B","sentences":[{"text":"no","start":"x"}]}],"tags":["t1","t2"],"@odd key":{"a.b":7}}'),
     (2, '{"request":null,"transcript":[],"tags":[]}'),
     (3, '{}')`,
  );
});
afterEach(() => flow.dispose());

interface Element {
  name: string;
  datatype?: string;
  include?: boolean;
  isArray?: boolean;
  alias?: string;
  children?: Element[];
}

/** An element as files write it. */
function element({ name, datatype = 'VARIANT', include, isArray, alias, children }: Element): object {
  return {
    name,
    datatype,
    size: '0',
    decimalPlaces: '0',
    columnName: 'data',
    aliasName: alias ?? name,
    isArray: String(isArray ?? false),
    include: String(include ?? false),
    ...(children === undefined ? {} : { childElements: children.map(element) }),
  };
}

const text: Element = { name: 'text', datatype: 'VARCHAR', include: true };
const sentences = (fields: Element[]): Element => ({
  name: 'sentences',
  isArray: true,
  children: [{ name: 'sentences-element', children: fields }],
});
const transcript = (children: Element[]): Element => ({
  name: 'transcript',
  isArray: true,
  children: [{ name: 'transcript-element', children }],
});
const tags: Element = {
  name: 'tags',
  isArray: true,
  children: [{ name: 'tags-element', datatype: 'VARCHAR', include: true, alias: 'tag' }],
};

function extract(columns: Element[], more: object = {}, source: object = readTable('calls')) {
  const parameters = {
    includeInputColumns: 'No',
    columns: columns.map(element),
    outerJoin: 'No',
    inputAlias: 'i',
    arrayPrefix: 'f',
    castingMethod: 'Fail on invalid data',
    caseColumnAliasNames: 'No',
    ...more,
  };
  return { In: source, Last: { type: 'extract-nested-data-sf', sources: ['In'], parameters } };
}

describe('extract-nested-data', () => {
  it('makes a row of each element of nested arrays', async () => {
    const speaker = { name: 'speaker', datatype: 'VARCHAR', include: true };
    assert.deepEqual(await flow.rowsOf(extract([transcript([speaker, sentences([text])])])), [
      ['A', 'hi'],
      ['A', 'yes'],
      ['B', 'no'],
    ]);
    assert.deepEqual(await flow.columns(), ['speaker', 'text']);
  });

  it('multiplies arrays side by side, and does not unnest an array without an included element', async () => {
    const speaker = { name: 'speaker', datatype: 'VARCHAR', include: true };
    assert.equal((await flow.rowsOf(extract([transcript([speaker]), tags]))).length, 4);
    assert.deepEqual(
      await flow.rowsOf(extract([transcript([sentences([{ ...text, include: false }])]), tags])),
      [['t1'], ['t2']],
    );
  });

  it('keeps rows without elements by outerJoin, and the columns of the source', async () => {
    for (const source of [readTable('calls'), readTable('calls', ['id'])]) {
      const { In, Last } = extract([tags], { outerJoin: 'Yes', includeInputColumns: 'Yes' });
      const names = source.parameters.columnNames.length === 0 ? source : readTable('calls', ['id', 'data']);
      const rows = await flow.rowsOf({ In: names, Last });
      assert.deepEqual(
        rows.map((row) => [row[0], row.at(-1)]),
        [
          [1, 't1'],
          [1, 't2'],
          [2, null],
          [3, null],
        ],
      );
      assert.deepEqual(await flow.columns(), ['id', 'data', 'tag']);
      assert.ok(In);
    }
  });

  it('takes values by paths, also with odd keys', async () => {
    const columns = [
      { name: 'request', datatype: 'VARCHAR', include: true },
      { name: "['@odd key']['a.b']", datatype: 'NUMBER', include: true, alias: 'seven' },
      { name: '@odd key"."a.b', datatype: 'INTEGER', include: true, alias: 'again' },
      { name: 'tags', include: true },
    ];
    assert.deepEqual(await flow.rowsOf(extract(columns)), [
      ['r1', 7, 7, '["t1","t2"]'],
      [null, null, null, '[]'],
      [null, null, null, null],
    ]);
  });

  it('fails at values that do not fit, or gives NULL', async () => {
    const columns = [transcript([sentences([{ name: 'start', datatype: 'FLOAT', include: true }])])];
    const Out = { type: 'rewrite-table', sources: ['Last'], parameters: { targetTable: 'result' } };
    assert.match(
      await flow.failureOf({ ...extract(columns), Out }),
      /"Out" failed: .*Could not convert string/,
    );
    const tolerant = { castingMethod: 'Replace all unparseable values with null' };
    assert.deepEqual(await flow.rowsOf(extract(columns, tolerant)), [[1.5], [2], [null]]);
  });

  it('reads text with JSON and nested values of the warehouse', async () => {
    await flow.sql(
      `create table texts as select '{"tags":["a"]}' as data`,
      `create table nested as select {'tags': ['b', 'c']} as data`,
    );
    assert.deepEqual(await flow.rowsOf(extract([tags], {}, readTable('texts'))), [['a']]);
    assert.deepEqual(await flow.rowsOf(extract([tags], {}, readTable('nested'))), [['b'], ['c']]);
  });

  it('tells two new columns of the same name apart', async () => {
    const twice = [
      { name: 'request', datatype: 'VARCHAR', include: true, alias: 'x' },
      { name: 'tags', include: true, alias: 'X' },
    ];
    await flow.rowsOf(extract(twice));
    assert.deepEqual(await flow.columns(), ['x', 'i_X']);
  });

  it('fails before the run if the tree is wrong', async () => {
    const Out = { type: 'rewrite-table', sources: ['Last'], parameters: { targetTable: 'result' } };
    const none = await flow.failureOf({ ...extract([{ ...text, include: false }]), Out });
    assert.match(none, /"columns" includes no element/);
    const odd = await flow.failureOf({ ...extract([{ ...text, datatype: 'ODD' }]), Out });
    assert.match(odd, /"ODD" is not a type/);
  });
});

describe('flatten-variant', () => {
  const flatten = (parameters: object) => flow.apply('flatten-variant', 'calls', parameters);

  it('takes values; without a name they are named like the path', async () => {
    const rows = await flatten({
      includeInputColumns: 'No',
      columnMapping: [
        ['data', 'request', 'VARCHAR', ''],
        ['data', 'transcript[0].speaker', 'VARCHAR', 'first'],
        ['data', '', 'VARIANT', 'all'],
      ],
      columnFlattens: null,
    });
    assert.deepEqual(await flow.columns(), ['request', 'first', 'all']);
    assert.deepEqual(
      rows.map((row) => row.slice(0, 2)),
      [
        ['r1', 'A'],
        [null, null],
        [null, null],
      ],
    );
  });

  it('takes whole columns that are not JSON', async () => {
    await flow.sql(
      `create table ranges as select 'not json' as created, '"a"'::json as token, 7 as n, [{'ip': '1'}, {'ip': '2'}] as prefixes`,
    );
    const parameters = {
      includeInputColumns: 'No',
      columnMapping: [
        ['created', '', 'VARCHAR', ''],
        ['token', '', 'VARCHAR', ''],
        ['n', '', 'NUMBER', 'm'],
        ['p', 'ip', 'VARCHAR', ''],
        ['p', '', 'VARIANT', 'whole'],
      ],
      columnFlattens: [['prefixes', '', 'p', 'No', 'No', 'Both']],
    };
    assert.deepEqual(await flow.apply('flatten-variant', 'ranges', parameters), [
      ['not json', 'a', 7, '1', '{"ip":"1"}'],
      ['not json', 'a', 7, '2', '{"ip":"2"}'],
    ]);
    assert.deepEqual(await flow.columns(), ['created', 'token', 'm', 'ip', 'whole']);
  });

  it('makes rows of arrays, one in another', async () => {
    const rows = await flatten({
      includeInputColumns: 'Yes',
      columnMapping: [
        ['t', 'speaker', 'VARCHAR', 'speaker'],
        ['s.value', 'text', 'VARCHAR(10)', 'text'],
      ],
      columnFlattens: [
        ['data', 'transcript', 't', 'No', 'No', 'Both'],
        ['t', 'sentences', 's', 'No', 'No', 'Array'],
      ],
    });
    assert.deepEqual(
      rows.map((row) => [row[0], ...row.slice(2)]),
      [
        [1, 'A', 'hi'],
        [1, 'A', 'yes'],
        [1, 'B', 'no'],
      ],
    );
  });

  it('keeps rows without elements by outer, and takes elements themselves', async () => {
    const rows = await flatten({
      includeInputColumns: 'No',
      columnMapping: [
        ['data', 'request', 'VARCHAR', 'request'],
        ['f', 'value', 'VARCHAR', 'tag'],
      ],
      columnFlattens: [['data', 'tags', 'f', 'Yes', 'No', 'Both']],
    });
    assert.deepEqual(rows, [
      ['r1', 't1'],
      ['r1', 't2'],
      [null, null],
      [null, null],
    ]);
  });
});

it('construct-variant leaves NULLs out', async () => {
  await flow.sql("create table pairs as select * from (values (1, 'x'), (2, null)) v(id, name)");
  const parameters = {
    columnMappings: [
      ['id', 'id'],
      ['name', "it's"],
    ],
    outputSlot: 'v',
  };
  assert.deepEqual(await flow.apply('construct-variant', 'pairs', parameters), [
    [`{"id":1,"it's":"x"}`],
    ['{"id":2}'],
  ]);
  await flow.sql(
    "create table nested as select '{\"a\":null}'::json as n, 'null'::json as j, null::json as k",
  );
  const columnMappings = [['n'], ['j'], ['k']];
  assert.deepEqual(await flow.apply('construct-variant', 'nested', { columnMappings, outputSlot: 'v' }), [
    ['{"n":{"a":null},"j":null}'],
  ]);
});
