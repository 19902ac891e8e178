import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFlow, type Flow, readTable } from './flow-fixture.ts';

let flow: Flow;
beforeEach(async () => {
  flow = await createFlow();
  await flow.sql(
    "create table people as select * from (values (1, 'Ann', 'Berlin', 1.4, date '2026-01-05', 2.0), (2, '', 'Paris', 1.6, date '2026-02-05', 1.0), (3, null, 'Par_s', null, null, 3.0), (4, '  ', 'active', 2.5, date '2026-03-05', 2.5)) v(id, name, city, score, born, \"limit\")",
  );
});
afterEach(() => flow.dispose());

const columns = ['id', 'name', 'city', 'score', 'born', 'limit'];

async function ids(conditions: string[][], combineCondition = 'And', names = columns): Promise<unknown[]> {
  const parameters = { filterConditions: conditions, combineCondition, mode: 'Basic' };
  const rows = await flow.rowsOf({
    In: readTable('people', names),
    Last: { type: 'filter', sources: ['In'], parameters },
  });
  return rows.map(([id]) => id);
}
const one = (...condition: string[]) => ids([condition]);

describe('a filter', () => {
  it('keeps NULLs and blanks by their comparators', async () => {
    assert.deepEqual(await one('name', 'Is', 'Null or blank', ''), [2, 3, 4]);
    assert.deepEqual(await one('name', 'Not', 'Null or blank', ''), [1]);
    assert.deepEqual(await one('name', 'Is', 'Blank', ''), [2, 4]);
    assert.deepEqual(await one('name', 'Not', 'Blank', ''), [1]);
    assert.deepEqual(await one('name', 'Is', 'Null', ''), [3]);
    assert.deepEqual(await one('born', 'Is', 'Null or blank', ''), [3]);
  });

  it('compares texts', async () => {
    assert.deepEqual(await one('city', 'Is', 'Like', 'Par%'), [2, 3]);
    assert.deepEqual(await one('city', 'Is', 'Ilike', 'par%'), [2, 3]);
    assert.deepEqual(await one('city', 'Is', 'Similar to', 'P_ris|B%'), [1, 2]);
    assert.deepEqual(await one('city', 'Is', 'Similar to', '(Ber|Par)(lin|.s)'), [1]);
    assert.deepEqual(await one('city', 'Is', 'Contains', '_'), [3]);
    assert.deepEqual(await one('city', 'Not', 'Starts with', 'Par'), [1, 4]);
    assert.deepEqual(await one('city', 'Is', 'Ends with', 'lin'), [1]);
    assert.deepEqual(await one('city', 'Is', 'In', "('Berlin', 'Paris')"), [1, 2]);
  });

  it('compares whole numbers with fractions without rounding them', async () => {
    assert.deepEqual(await one('id', 'Is', 'Greater than', '1.5'), [2, 3, 4]);
    assert.deepEqual(await one('id', 'Is', 'Between', '1.5 and 3.5'), [2, 3]);
    assert.deepEqual(await one('id', 'Is', 'In', '1.0, 2.5'), [1]);
    assert.deepEqual(await one('score', 'Is', 'Less than or equal to', '1.6'), [1, 2]);
    assert.deepEqual(await one('city', 'Is', 'Greater than', '1.5'), [1, 2, 3, 4]);
  });

  it('takes the name of another column as that column, but not for a text column', async () => {
    assert.deepEqual(await one('score', 'Is', 'Greater than', 'limit'), [2]);
    assert.deepEqual(await one('city', 'Is', 'Equal to', 'city'), []);
    await flow.sql('alter table people rename score to active');
    const names = ['id', 'city', 'active'];
    assert.deepEqual(await ids([['city', 'Is', 'Equal to', 'active']], 'And', names), [4]);
    assert.deepEqual(await ids([['id', 'Is', 'Greater than', 'active']], 'And', names), [2, 4]);
  });

  it('takes expressions and quoted values', async () => {
    assert.deepEqual(await one('id', 'Is', 'Equal to', '"limit" - 1'), [1]);
    assert.deepEqual(await one('score', 'Is', 'Greater than', '"limit"'), [2]);
    assert.deepEqual(await one('born', 'Is', 'Less than', 'current_date'), [1, 2, 4]);
    assert.deepEqual(await one('born', 'Is', 'Equal to', "'2026-01-05'"), [1]);
    assert.deepEqual(await one('born', 'Is', 'Equal to', "strptime('05/02/2026', '%d/%m/%Y')"), [2]);
    assert.deepEqual(await one('id', 'Is', 'In', '(select max(id) from people)'), [4]);
  });

  it('keeps what only looks like an expression as a text', async () => {
    await flow.sql("insert into people (id, city) values (5, 'f(x); drop table people'), (6, 'Acme (UK)')");
    assert.deepEqual(await one('city', 'Is', 'Equal to', 'f(x); drop table people'), [5]);
    assert.deepEqual(await one('city', 'Is', 'Equal to', 'Acme (UK)'), [6]);
    assert.deepEqual(await one('city', 'Is', 'Equal to', '"x") or (1=1'), []);
  });

  it('combines conditions', async () => {
    const conditions = [
      ['id', 'Is', 'Equal to', '1'],
      ['city', 'Is', 'Like', 'Par%'],
    ];
    assert.deepEqual(await ids(conditions, 'Or'), [1, 2, 3]);
    assert.deepEqual(await ids(conditions, 'AND'), []);
  });
});

describe('map-values', () => {
  const parameters = (results: string[], other?: string) => ({
    valueMap: [
      ['score', 'Is', 'Greater than', '2', results[0]],
      ['score', 'Is', 'Null', '', results[1]],
    ],
    columnName: 'size',
    ...(other === undefined ? {} : { other }),
  });

  it('gives the value of the first row that holds', async () => {
    const rows = await flow.apply('map-values', 'people', parameters(['large', "it's unknown"], 'small'));
    assert.deepEqual(
      rows.map((row) => [row[0], row.at(-1)]),
      [
        [1, 'small'],
        [2, 'small'],
        [3, "it's unknown"],
        [4, 'large'],
      ],
    );
  });

  it('gives numbers if all values are numbers, and NULL without "other"', async () => {
    const rows = await flow.apply('map-values', 'people', parameters(['10', '-1']));
    assert.deepEqual(
      rows.map((row) => row.at(-1)),
      [null, null, -1, 10],
    );
  });
});
