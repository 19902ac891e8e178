import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from './json-text.ts';
import type { ConnectorStructure } from './profile.ts';
import { readPageRows, rowsOf } from './rows.ts';
import { getRowSchema, inferStructure, listColumns } from './schema.ts';

const at = (path: string[], more: Partial<ConnectorStructure> = {}): ConnectorStructure => ({
  schema: undefined,
  containedInOuterArray: false,
  repeatingElementPath: path,
  ...more,
});

test('rows are the elements at the path; an object is one row; null is none', () => {
  assert.deepEqual(rowsOf({ a: { b: [1, 2] } }, at(['a', 'b'])), [1, 2]);
  assert.deepEqual(rowsOf({ a: { id: 1 } }, at(['a'])), [{ id: 1 }]);
  assert.deepEqual(rowsOf({ a: null }, at(['a'])), []);
  assert.deepEqual(rowsOf(null, at([])), []);
  assert.deepEqual(rowsOf([1, 2], at([])), [1, 2]);
  assert.deepEqual(
    rowsOf([{ a: [1] }, { a: [2, 3] }], at(['a'], { containedInOuterArray: true })),
    [1, 2, 3],
  );
});

test('what an API counts are the elements of the outermost list', () => {
  const page = {
    data: [
      { id: 1, lines: [1, 2, 3] },
      { id: 2, lines: [] },
    ],
  };
  const nested = readPageRows(page, at(['data', 'lines']));
  assert.deepEqual([nested.rows, nested.elements, nested.isNestedList], [[1, 2, 3], page.data, false]);
  const list = readPageRows(page.data, at(['lines'], { containedInOuterArray: true }));
  assert.deepEqual([list.rows, list.elements, list.isNestedList], [[1, 2, 3], page.data, true]);
  const wrapped = readPageRows([{ data: [1, 2] }], at(['data'], { containedInOuterArray: true }));
  assert.deepEqual([wrapped.elements, wrapped.isNestedList], [[1, 2], true]);
  const flat = readPageRows([{ a: { id: 1 } }, { a: { id: 2 } }], at(['a']));
  assert.deepEqual([flat.rows.length, flat.elements.length, flat.isNestedList], [2, 2, false]);
});

test('an answer of another structure is an error that names what is there', () => {
  assert.throws(() => rowsOf({ error: 'busy' }, at(['data'])), /no "data"; it has "error"/);
  assert.throws(() => rowsOf({ data: 'x' }, at(['data', 'items'])), /a string there/);
  assert.throws(() => rowsOf({}, at([], { containedInOuterArray: true })), /says that it is a list/);
});

test('a list that the schema does not require may be absent', () => {
  const schema = { type: 'object', properties: { items: { type: 'array' } } };
  assert.deepEqual(rowsOf({}, at(['items'], { schema })), []);
  assert.throws(
    () => rowsOf({}, at(['items'], { schema: { ...schema, required: ['items'] } })),
    /no "items"/,
  );
});

test('the structure is inferred from samples', () => {
  const structure = inferStructure([
    { total: 2, data: [{ id: 1, price: 1, tags: ['a'], at: { city: 'x' }, note: null }] },
    { total: 2, data: [{ id: 2, price: 1.5, tags: [], note: 'n' }] },
  ]);
  assert.deepEqual(structure.repeatingElementPath, ['data']);
  assert.deepEqual(listColumns(getRowSchema(structure) ?? {}), [
    { name: 'id', type: 'integer' },
    { name: 'price', type: 'number' },
    { name: 'tags', type: 'json' },
    { name: 'at', type: 'json' },
    { name: 'note', type: 'text' },
  ]);
});

test('the time to infer a structure does not grow with the square of its members', () => {
  const rows = Array.from({ length: 100_000 }, (_, index) => ({
    [`member${index}`]: [{ [`m${index}`]: 1 }],
  }));
  const before = process.cpuUsage().user;
  const columns = listColumns(getRowSchema(inferStructure([rows])) ?? {});
  assert.equal(columns.length, 1_000);
  // The square took hours.
  assert.ok(process.cpuUsage().user - before < 10_000_000);
});

test('numbers keep their digits', () => {
  const text = '{"id":12345678901234567890,"price":0.10000000000000000001,"n":1,"t":"1234567890123456789"}';
  assert.equal(JSON.stringify(parseJson(text)), text);
  assert.deepEqual(parseJson('{"a":1.5}'), { a: 1.5 });
  assert.equal(JSON.stringify(parseJson('[1e400,-1E999]')), '[1e400,-1E999]');
});
