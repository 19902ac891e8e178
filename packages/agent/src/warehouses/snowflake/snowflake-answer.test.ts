import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RawRow, RefusedAnswer, readAnswer, readPart } from './snowflake-answer.ts';

const rows = [
  ['a', null, ''],
  ['quote " and \\ and ] and }', '\u00e9\u{1F600}\n', '[[["rowset":['],
  ['\\', '\\"', '"rowset"'],
];
const answer = {
  data: {
    parameters: [{ name: 'rowset', value: ['x'] }],
    rowtype: [{ name: 'rowset":[', type: 'text' }],
    rowset: rows,
    total: 3,
    chunks: [{ url: 'https://example.com/?a=[1]' }],
    inner: { rowset: [['not a row']] },
  },
  message: null,
  success: true,
};

async function* give(text: string, sizes: readonly number[]): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  let from = 0;
  for (let turn = 0; from < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.subarray(from, from + size);
    from += size;
  }
}

test('rows and the rest are the same wherever the answer is cut into pieces', async () => {
  for (const text of [JSON.stringify(answer), JSON.stringify(answer, null, 2)])
    for (const sizes of [[1], [2], [3, 5], [7], [64, 1], [100_000]]) {
      const found: RawRow[] = [];
      const rest = await readAnswer(give(text, sizes), (row) => found.push(row));
      assert.deepEqual(found, rows);
      assert.deepEqual(rest, { ...answer, data: { ...answer.data, rowset: [] } });
    }
});

test('a part has rows without brackets around them', async () => {
  const text = rows.map((row) => JSON.stringify(row)).join(',\n');
  for (const sizes of [[1], [4, 9], [100_000]]) {
    const found: RawRow[] = [];
    await readPart(give(text, sizes), (row) => found.push(row));
    assert.deepEqual(found, rows);
  }
});

test('the number of a session keeps its digits', async () => {
  const rest = await readAnswer(give('{"data":{"sessionId":34534533453453001}}', [9]), () => undefined);
  assert.deepEqual(rest, { data: { sessionId: '34534533453453001' } });
});

test('an answer that is cut anywhere is refused', async () => {
  const text = JSON.stringify(answer);
  for (let end = 0; end < text.length; end += 1)
    await assert.rejects(
      readAnswer(give(text.slice(0, end), [11]), () => undefined),
      RefusedAnswer,
    );
});
