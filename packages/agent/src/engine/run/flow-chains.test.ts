import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFlow, type Flow, readTable } from './flow-fixture.ts';

let flow: Flow;
beforeEach(async () => {
  flow = await createFlow();
  await flow.sql(
    'create table numbers as select * from (values (1, 10, 5), (2, 20, null), (3, 30, 7), (4, 15, 1)) v(a, b, c)',
  );
});
afterEach(() => flow.dispose());

type Step = { type: string; parameters: object };

const calculate = (calculations: string[][], include = 'Yes'): Step => ({
  type: 'calculator',
  parameters: { includeInputColumns: include, calculations },
});
const keep = (...condition: string[]): Step => ({
  type: 'filter',
  parameters: { filterConditions: [condition], combineCondition: 'And' },
});
const rename = (columnMapping: string[][], include = 'Yes'): Step => ({
  type: 'rename',
  parameters: { includeInputColumns: include, columnMapping },
});
const number = (column: string, name: string): Step => ({
  type: 'rank',
  parameters: {
    includeInputColumns: 'Yes',
    orderingWithinPartitions: [[column], ['a']],
    functions: [['Row Number', name]],
  },
});

function chain(steps: readonly Step[], source: object): Record<string, object> {
  const components: Record<string, object> = { In: source };
  for (const [index, step] of steps.entries()) {
    const name = index === steps.length - 1 ? 'Last' : `Step ${index}`;
    components[name] = { ...step, sources: [index === 0 ? 'In' : `Step ${index - 1}`] };
  }
  return components;
}

/** The rows if each step reads a table that the step before wrote, so that nothing can merge. */
async function runOneByOne(steps: readonly Step[]): Promise<unknown[][]> {
  let rows: unknown[][] = [];
  for (const [index, step] of steps.entries()) {
    const from = index === 0 ? 'numbers' : `step_${index - 1}`;
    rows = await flow.rowsOf(chain([step], readTable(from)));
    await flow.sql(`create or replace table step_${index} as select * from result`);
  }
  return rows;
}

/** Steps that read and change the same few columns. */
function createSteps(seed: number): Step[] {
  let state = seed;
  const pick = <T>(choices: readonly T[]): T => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return choices[Math.floor(state / 65_536) % choices.length] as T;
  };
  const names = ['a', 'b', 'c'];
  let spare = 0;
  return Array.from({ length: 7 }, () => {
    const [one, two] = [pick(names), pick(names)];
    spare += 1;
    const steps: readonly Step[] = [
      calculate([[`"${one}" + 1`, one]]),
      calculate([[`${one} * 2 + coalesce(${two}, 0)`, `d${spare}`]]),
      calculate([
        [two, one],
        [one, two === one ? 'e' : two],
      ]),
      calculate([[`sum(${one}) OVER ()`, two]]),
      keep(one, 'Is', 'Greater than', '2'),
      keep(one, 'Not', 'Null', ''),
      rename([
        [one, two],
        [two, one],
      ]),
      rename(names.map((name) => [name, name]).toReversed(), 'No'),
      calculate([...names.map((name) => [`"${name}"`, name]), ['1', 'one']], 'No'),
      number(one, `n${spare}`),
    ];
    const step = pick(steps);
    return one === two && step.type === 'rename' ? keep(one, 'Not', 'Null', '') : step;
  });
}

describe('a chain of components', () => {
  for (let seed = 1; seed <= 25; seed += 1) {
    it(`means the same as its steps one by one (${seed})`, async () => {
      const steps = createSteps(seed * 7_919);
      const expected = await runOneByOne(steps);
      for (const columns of [[], ['a', 'b', 'c']]) {
        assert.deepEqual(
          await flow.rowsOf(chain(steps, readTable('numbers', columns))),
          expected,
          JSON.stringify(steps),
        );
      }
    });
  }

  it('fails if a step reads a column that an earlier step dropped', async () => {
    const steps = [calculate([['a', 'x']], 'No'), calculate([['b', 'y']])];
    const Out = { type: 'rewrite-table', sources: ['Last'], parameters: { targetTable: 'result' } };
    for (const columns of [[], ['a', 'b', 'c']]) {
      const message = await flow.failureOf({ ...chain(steps, readTable('numbers', columns)), Out });
      assert.match(message, /Referenced column "b" not found/);
    }
  });
});

describe('a chain of 1,000 components plans and runs', () => {
  const count = 1_000;
  const repeat = (create: (index: number) => Step) =>
    Array.from({ length: count }, (_, index) => create(index));
  const sumOf = async (steps: Step[], columns: string[] = ['a', 'b', 'c']) => {
    const total = calculate([['sum(a) over ()', 'total']], 'No');
    const rows = await flow.rowsOf(chain([...steps, total], readTable('numbers', columns)));
    return rows[0]?.[0];
  };

  it('that each change the same column', async () => {
    assert.equal(await sumOf(repeat(() => calculate([['"a" + 1', 'a']]))), 4_010);
    assert.equal(
      await sumOf(
        repeat(() => calculate([['"a" + 1', 'a']])),
        [],
      ),
      4_010,
    );
  });

  it('that filter', async () => {
    assert.equal(await sumOf(repeat((index) => keep('b', 'Is', 'Less than', `${1_020 - index}`))), 7);
  });

  it('that rename, calculate and filter', async () => {
    const steps = repeat((index) => {
      if (index % 3 === 0) return calculate([['a + 1', 'a']]);
      if (index % 3 === 1) return keep('a', 'Is', 'Greater than', '0');
      return rename([
        ['b', 'c'],
        ['c', 'b'],
      ]);
    });
    assert.equal(await sumOf(steps), 10 + 4 * 334);
  });

  it('that each add a column', async () => {
    assert.equal(await sumOf(repeat((index) => calculate([[`b + ${index}`, `column ${index}`]]))), 10);
  });
});
