/** The asserts of tests. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Variable } from '../expressions/variables.ts';
import { planAction } from '../plan/plan-fixture.ts';

const declare = (name: string, type: 'NUMBER' | 'TEXT', value: number | string): Variable => ({
  name,
  type,
  behaviour: 'SHARED',
  settable: true,
  columns: [],
  value,
});
const variables = [declare('rows', 'NUMBER', 3), declare('city', 'TEXT', 'Oslo')];

const plan = async (type: string, parameters: object) => {
  const action = await planAction({ type, parameters }, variables);
  assert.ok(action.action === 'assert');
  return action;
};

describe('assert-scalar', () => {
  it('compares variables with values, by every comparator', async () => {
    const assertions = [
      ['rows', '3'],
      ['rows', 'Greater than', '2'],
      ['city', 'Is', 'Like', 'O%'],
      ['city', 'Not', 'Equal to', 'Bergen'],
    ];
    assert.equal((await plan('assert-scalar', { assertions })).fault, undefined);
    assert.equal((await plan('assert-scalar-variables', { scalarVariables: assertions })).fault, undefined);
  });

  it('tells every variable that is not as expected', async () => {
    const { fault } = await plan('assert-scalar', {
      assertions: [
        ['rows', '4'],
        ['city', 'Is', 'Equal to', 'Bergen'],
        ['rows', '3'],
      ],
    });
    assert.deepEqual(fault, {
      message: 'expected rows = "4", but rows = 3; expected city = "Bergen", but city = "Oslo"',
      expected: 'rows = "4"\ncity = "Bergen"',
      actual: 'rows = 3\ncity = "Oslo"',
    });
  });

  it('refuses what would compare nothing, or a text with a number', async () => {
    await assert.rejects(plan('assert-scalar', { assertions: [] }), /"assertions" is empty/);
    await assert.rejects(
      plan('assert-scalar', { assertions: [['rows', 'three']] }),
      /"three" is not a number/,
    );
    await assert.rejects(plan('assert-scalar', { assertions: [['none', '1']] }), /"none"/);
    await assert.rejects(plan('assert-scalar', { assertions: [['rows']] }), /at least 2/);
  });
});

describe('assert-table', () => {
  const ofRows = async (parameters: object) => {
    const { checks } = await plan('assert-table', { tableName: 't', ...parameters });
    const last = checks.at(-1);
    assert.ok(last);
    return last;
  };

  it('compares rows without regard to their order, each as often as it occurs', async () => {
    const check = await ofRows({
      expectedColumns: ['a', 'b'],
      expectedRows: [
        ['1', 'x'],
        ['1', 'x'],
        ['2', ''],
      ],
    });
    const found = [
      ['2', null],
      ['1', 'x'],
      ['1', 'x'],
    ];
    assert.equal(check.verify(found), undefined);
    const fault = check.verify([...found.slice(0, 2), ['3', 'y'], ['4', 'z']]);
    assert.match(fault?.message ?? '', /"t" does not have the expected rows: 1 missing, 2 not expected/);
    assert.equal(fault?.expected, '["a","b"]\n["1","x"]');
    assert.equal(fault?.actual, '["a","b"]\n["3","y"]\n["4","z"]');
  });

  it('expects no rows if there are columns only, and shows at most 20 of a side', async () => {
    const check = await ofRows({ expectedColumns: ['a'], expectedRows: [] });
    assert.equal(check.verify([]), undefined);
    const fault = check.verify(Array.from({ length: 30 }, (_, index) => [String(index)]));
    assert.equal(fault?.expected, 'no other rows');
    assert.match(fault?.actual ?? '', /\["19"\]\nand 10 more$/);
  });

  it('compares the number of rows with a range', async () => {
    const range = { rowCountComparisonType: 'Range', rowCountLowerValue: '2', rowCountUpperValue: '3' };
    const check = await ofRows(range);
    assert.equal(check.verify([[3]]), undefined);
    assert.deepEqual(check.verify([[4]]), {
      message: 'the table "t" has 4 rows, expected: from 2 to 3',
      expected: 'from 2 to 3 rows',
      actual: '4 rows',
    });
    await assert.rejects(ofRows({ ...range, rowCountUpperValue: '1' }), /exchange them/);
  });

  it('refuses rows that do not fit their columns, and checks of a table that must not exist', async () => {
    await assert.rejects(ofRows({ expectedRows: [['1']] }), /needs "expectedColumns"/);
    await assert.rejects(
      ofRows({ expectedColumns: ['a'], expectedRows: [['1', '2']] }),
      /row 1 of "expectedRows" has 2 cells, but "expectedColumns" names 1/,
    );
    await assert.rejects(
      ofRows({ exists: 'No', expectedColumns: ['a'] }),
      /"expectedColumns" checks a table/,
    );
  });
});
