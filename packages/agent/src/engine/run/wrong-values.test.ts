/** A value that cannot be used as it is meant fails its component, and is never passed over. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from './engine-fixture.ts';
import { grid, number, print, renderOrchestration, start, text, update } from './pipeline-fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
});
afterEach(() => fixture.dispose());

const variables = {
  n: number('5'),
  unset: number(''),
  t: text('9'),
  none: text(''),
  g: grid({ a: 'TEXT' }, []),
};

async function run(component: object, others: Record<string, object> = {}) {
  await fixture.publish({
    'main.orch.yaml': renderOrchestration({ Start: start('C'), C: component, ...others }, variables),
  });
  const { status, message = '' } = await fixture.run('main');
  return { status, message };
}

async function fails(component: object, says: RegExp): Promise<void> {
  const { status, message } = await run(component);
  assert.equal(status, 'FAILED', message);
  assert.match(message, says);
}

const advanced = (condition1: string) => ({
  type: 'if',
  parameters: { mode: 'Advanced', condition1 },
  transitions: { true: ['Yes'], false: ['No'] },
});
const ends = { Yes: { type: 'end-success', parameters: {} }, No: { type: 'end-failure', parameters: {} } };

describe('an advanced condition', () => {
  for (const condition of ['"n > 5"', '"0"', '[]', '({})', 'none', 'unset', '0 / 0', '(async () => true)()'])
    it(`fails when it yields neither true nor false: ${condition}`, async () => {
      const { status, message } = await run(advanced(condition), ends);
      assert.equal(status, 'FAILED');
      assert.match(message, /"C" failed: .*(neither true nor false|a Promise, which is not a value)/);
    });

  const decided: [string, boolean][] = [
    ['n > 4', true],
    ['n == 4', false],
    ['n <= 5 && n >= 5 && n !== 4', true],
    ['n', true],
    ['n - 5', false],
    ['"Yes"', true],
    ['"FALSE"', false],
    ['"no"', false],
    ['["n = 1"].length == 1', true],
    ['[1].map((n) => n == 1)[0]', true],
    ['(() => { let m = n; m += 1; return m > n; })()', true],
  ];
  for (const [condition, branch] of decided)
    it(`${condition} is ${branch}`, async () => {
      const { status, message } = await run(advanced(condition), ends);
      assert.equal(status, branch ? 'SUCCESS' : 'FAILED', message);
      assert.doesNotMatch(message, /"C" failed|not started/);
    });
});

describe('a simple condition', () => {
  const simple = (...row: string[]) => ({ type: 'if', parameters: { mode: 'Simple', condition: [row] } });

  for (const [comparator, value] of [
    ['Equal to', '1,000'],
    ['Greater than', 'abc'],
    ['Less than', ''],
    ['In', '1, two'],
    ['Between', '1,000 and 2,000'],
  ] as const)
    it(`fails on a NUMBER ${comparator} "${value}"`, async () => {
      await fails(
        simple('n', 'Is', comparator, value),
        /"C" failed: the variable "n" is NUMBER, but ".*" is not a number/,
      );
    });

  it('compares a NUMBER with numbers, and a TEXT with texts', async () => {
    for (const row of [
      ['n', 'Is', 'Between', '1 and 1e3'],
      ['n', 'Is', 'In', "'5', 7"],
      ['n', 'Not', 'Null', ''],
      ['n', 'Is', 'Like', '5%'],
      ['t', 'Is', 'Greater than', '10'],
    ])
      assert.deepEqual(await run(simple(...row)), { status: 'SUCCESS', message: '' });
    assert.match([...fixture.steps.values()].at(-1)?.message ?? '', /true/);
  });
});

describe('an expression', () => {
  for (const [expression, type] of [
    ['Promise.resolve(1)', 'Promise'],
    ['(async () => 1)()', 'Promise'],
    ['new Map([[1, 2]])', 'Map'],
    ['new Set([1])', 'Set'],
    ['/x/', 'RegExp'],
  ])
    it(`that yields a ${type} fails: ${expression}`, async () => {
      await fails(
        update('t', expression as string),
        new RegExp(`the result is a ${type}, which is not a value`),
      );
    });

  it('may yield objects and lists of values', async () => {
    for (const expression of ['({})', '[]', '({a: 1})', 'Object.create(null)'])
      assert.equal((await run(update('t', expression))).status, 'SUCCESS', expression);
  });
});

describe('an assertion whose check is empty', () => {
  for (const [parameters, name] of [
    [{ rowCountComparisonType: '${none}', rowCountValue: '${none}' }, 'rowCountComparisonType'],
    [{ exists: '${none}' }, 'exists'],
    [{ tableMetadata: { fromGrid: { variable: 'g', columns: ['a'] } } }, 'tableMetadata'],
  ] as const)
    it(`fails and names "${name}"`, async () => {
      const makes = { type: 'sql-script', parameters: { sqlScript: 'create table t as select 1' } };
      const check = { type: 'assert-table', parameters: { tableName: 't', ...parameters } };
      await fixture.publish({
        'main.orch.yaml': renderOrchestration(
          { Start: start('Make'), Make: { ...makes, transitions: { success: ['C'] } }, C: check },
          variables,
        ),
      });
      const { status, message = '' } = await fixture.run('main');
      assert.equal(status, 'FAILED');
      assert.match(message, new RegExp(`"C" failed: "${name}" is empty after its expression`));
    });
});

describe('a NUMBER variable', () => {
  const query = (sql: string) => ({
    type: 'query-to-scalar',
    parameters: { mode: 'Advanced', query: sql, scalarVariableMapping: [['n', 'a']] },
  });

  for (const value of ['9007199254740993', '12345678901234567.25', '-0.12345678901234567890', '1e-400'])
    it(`refuses ${value}, whose digits it would lose`, async () => {
      const type = value.includes('.') ? 'decimal(38, 20)' : 'varchar';
      await fails(
        query(`select '${value}'::${type} as a`),
        /"C" failed: the variable "n" is NUMBER, but .* has more digits than a number can hold.*TEXT/,
      );
    });

  for (const value of [
    '9007199254740992',
    '123456789012345.25',
    '1.50',
    '-1e300',
    '0.1',
    '00012.000',
    '1e400',
  ])
    it(`takes or refuses ${value} as a number`, async () => {
      const { status, message } = await run(query(`select '${value}' as a`));
      assert.equal(status, value === '1e400' ? 'FAILED' : 'SUCCESS', message);
    });

  it('can be TEXT instead, which keeps every digit', async () => {
    const sum = { ...query('select 9007199254740993 as a'), transitions: { success: ['Print'] } };
    sum.parameters.scalarVariableMapping = [['t', 'a']];
    assert.equal((await run(sum, { Print: print('t') })).status, 'SUCCESS');
    assert.match([...fixture.steps.values()].at(-1)?.message ?? '', /9007199254740993/);
  });
});
