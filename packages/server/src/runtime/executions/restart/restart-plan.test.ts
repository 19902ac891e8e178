/** The plan of a restart: what is kept, with which values, and what is named because it would run again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RestartPlan } from '@headgate/contract';
import fc from 'fast-check';
import { begin, failed, plan, planned, root, step } from '../../../../testing/planned-restart.ts';
import type { RecordedStep } from './restart-steps.ts';

describe('the plan of a restart', () => {
  it('keeps what ended, and names the failed step if it may have had an effect', () => {
    const steps = [
      begin,
      step('A', { began: 1, ended: 2, next: ['B'] }),
      failed('B', { began: 2, ended: 3 }),
    ];
    assert.deepEqual(planned(steps).kept, ['Start SUCCESS', 'A SUCCESS']);
    assert.deepEqual(planned(steps).named, []);
    const [first, second] = steps;
    assert.ok(first && second);
    const wrote = [first, second, failed('B', { began: 2, ended: 3, effect: true })];
    assert.deepEqual(planned(wrote).repeated, [
      { component: 'B', why: 'failed, and may have changed data before' },
    ]);
  });

  it('keeps the result of an if, a skipped component and a failure that was handled', () => {
    const steps = [
      begin,
      step('A', { type: 'if', began: 1, ended: 2, branch: false, next: ['B'] }),
      step('B', { status: 'SKIPPED', began: 2, ended: 3, next: ['C'] }),
      step('C', { status: 'FAILED', began: 3, ended: 4, next: ['D'], effect: true }),
      failed('D', { began: 4, ended: 5 }),
    ];
    assert.deepEqual(planned(steps).kept, ['Start SUCCESS', 'A FALSE', 'B SKIPPED', 'C FAILED']);
    assert.deepEqual(planned(steps).named, []);
  });

  it('repeats the failure that led to an end-failure, and names what followed it', () => {
    const steps = [
      begin,
      step('A', { status: 'FAILED', began: 1, ended: 2, next: ['Tell', 'Log'] }),
      step('Tell', { began: 2, ended: 3, next: ['Fail'], effect: true }),
      step('Log', { began: 2, ended: 4, next: [], effect: true }),
      step('Fail', { type: 'end-failure', began: 3, ended: 5, next: [] }),
    ];
    assert.deepEqual(planned(steps).kept, ['Start SUCCESS']);
    assert.deepEqual(planned(steps).named.sort(), ['Log', 'Tell']);
  });

  it('does not keep an end, which would end the walk before the rest has run', () => {
    const steps = [
      begin,
      step('A', { began: 1, ended: 2, next: ['End'] }),
      step('End', { type: 'end-success', began: 2, ended: 3, next: [] }),
      failed('B', { began: 1, ended: 4 }),
    ];
    assert.deepEqual(planned(steps).kept, ['Start SUCCESS', 'A SUCCESS']);
  });

  it('counts the last attempt', () => {
    const retried = [
      begin,
      step('A', { id: '1', status: 'FAILED', began: 1, ended: 2, effect: true }),
      step('A', { id: '2', began: 2, ended: 3, next: ['B'], effect: true }),
      step('B', { id: '3', status: 'FAILED', began: 3, ended: 4, effect: true }),
      step('B', { id: '4', status: 'FAILED', began: 4, ended: 5, next: [] }),
    ];
    assert.deepEqual(planned(retried).kept, ['Start SUCCESS', 'A SUCCESS']);
    assert.deepEqual(planned(retried).named, ['B']);
  });

  it('has the values after the kept steps, in the order of their ends', () => {
    const steps = [
      begin,
      step('Slow', { began: 1, ended: 3, next: [], variables: [{ name: 'x', value: 'late' }] }),
      step('Fast', { began: 1, ended: 2, next: ['B'], variables: [{ name: 'x', value: 'early' }] }),
      failed('B', { began: 2, ended: 4, variables: [{ name: 'x', value: 'never' }] }),
    ];
    const { runs } = planned(steps).plan;
    assert.deepEqual(runs[0]?.variables, [{ name: 'x', value: 'late' }]);
  });

  it('goes back to the moment when a component began', () => {
    const steps = [
      begin,
      step('Slow', { began: 1, ended: 4, next: [], effect: true, variables: [{ name: 'x', value: 'late' }] }),
      step('A', { began: 1, ended: 2, next: ['B'], variables: [{ name: 'x', value: 'early' }] }),
      step('B', { began: 2, ended: 3, next: ['C'], effect: true }),
      failed('C', { began: 4, ended: 5, effect: true }),
    ];
    const back = planned(steps, { from: 'B' });
    assert.deepEqual(back.kept, ['Start SUCCESS', 'A SUCCESS']);
    assert.deepEqual(back.named.sort(), ['B', 'C', 'Slow']);
    assert.deepEqual(back.plan.runs[0]?.variables, [{ name: 'x', value: 'early' }]);
    assert.deepEqual(plan(steps, { from: 'b' }), { unknown: 'b', nearest: 'B' });
  });

  it('refuses values that are not kept, also those of a called pipeline, which then starts from its beginning', () => {
    const lost = { name: 'token', lost: 'secret' } as const;
    const steps = [begin, step('A', { ended: 2, next: ['B'], variables: [lost] }), failed('B', { ended: 3 })];
    assert.deepEqual(plan(steps), {
      reason:
        'the value of the variable "token" at that place is not kept, because it contains a secret: start the pipeline again',
    });
    const calling = [
      begin,
      failed('A', { type: 'run-orchestration', child: 'child', ended: 4 }),
      step('In', { run: 'child', ended: 2, next: ['Fails'], variables: [lost], effect: true }),
      failed('Fails', { run: 'child', ended: 3 }),
    ];
    const { plan: found, named } = planned(calling);
    assert.deepEqual(found.runs[0]?.open, []);
    assert.equal(found.runs.length, 1);
    assert.deepEqual(named, ['In']);
  });

  it('continues called pipelines and iterations that were under way', () => {
    const iterating = { type: 'run-orchestration', parent: 'Each', began: 1 };
    const steps = [
      begin,
      failed('Each', { type: 'grid-iterator', began: 1, ended: 7 }),
      step('Call', { ...iterating, id: 'c1', child: 'one', iteration: 'k1', ended: 3, next: [] }),
      step('In', { id: 'i1', run: 'one', ended: 2, next: [], effect: true }),
      failed('Call', { ...iterating, id: 'c2', child: 'two', iteration: 'k2', ended: 6 }),
      step('In', { id: 'i2', run: 'two', ended: 4, next: ['Out'], effect: true }),
      failed('Out', { run: 'two', ended: 5, effect: true }),
    ];
    const { plan: found, named } = planned(steps);
    assert.deepEqual(found.runs[0]?.open, [
      { component: 'Each', iterations: ['k1'], partial: [{ iteration: 'k2', run: 1 }] },
    ]);
    assert.deepEqual(found.runs[1]?.kept, [{ component: 'In', end: 'SUCCESS', next: ['Out'] }]);
    assert.deepEqual(named, ['Out']);
    // From its beginning, everything in it runs again.
    assert.deepEqual(planned(steps, { from: 'Each' }).named.sort(), ['In', 'Out']);
  });

  it('keeps what the base kept, and continues what it did not reach', () => {
    const base: RestartPlan = {
      restartOf: 'first',
      projectVariables: [],
      runs: [
        {
          variables: [{ name: 'x', value: 'base' }],
          kept: [{ component: 'Start', end: 'SUCCESS', next: ['A', 'Each'] }],
          open: [
            { component: 'A', run: 1 },
            { component: 'Each', iterations: ['k1'] },
          ],
        },
        { variables: [], kept: [{ component: 'In', end: 'SUCCESS', next: ['Out'] }], open: [] },
      ],
    };
    assert.deepEqual(planned([], { base }).plan.runs, base.runs);
    const steps = [
      step('Start', { status: 'SKIPPED', kept: true, ended: 1 }),
      failed('Each', { type: 'grid-iterator', began: 1, ended: 4 }),
      step('Do', { parent: 'Each', iteration: 'k2', ended: 2, next: [], effect: true }),
      failed('Do', { id: 'Do 3', parent: 'Each', iteration: 'k3', ended: 3, effect: true }),
    ];
    const { plan: found, named } = planned(steps, { base });
    assert.deepEqual(found.runs[0]?.open, [
      { component: 'Each', iterations: ['k1', 'k2'] },
      { component: 'A', run: 1 },
    ]);
    assert.deepEqual(found.runs[1], base.runs[1]);
    assert.deepEqual(named, ['Do']);
  });

  it('has the variables that an attempt changed before it failed', () => {
    const variables = [{ name: 'x', value: 'tried' }];
    const steps = [
      begin,
      step('A', { id: '1', status: 'FAILED', began: 1, ended: 2, variables }),
      step('A', { id: '2', began: 2, ended: 3, next: ['B'] }),
      failed('B', { began: 3, ended: 4 }),
    ];
    assert.deepEqual(planned(steps).plan.runs[0]?.variables, variables);
    const iterated = [
      begin,
      failed('Each', { type: 'grid-iterator', began: 1, ended: 5 }),
      step('A', { id: '1', parent: 'Each', iteration: 'k1', status: 'FAILED', ended: 2, variables }),
      step('A', { id: '2', parent: 'Each', iteration: 'k1', ended: 3, next: [] }),
      failed('A', { id: '3', parent: 'Each', iteration: 'k2', ended: 4 }),
    ];
    assert.deepEqual(planned(iterated).plan.runs[0]?.variables, variables);
  });

  it('has the values that a called pipeline was given', () => {
    const steps = [
      begin,
      failed('A', { type: 'run-orchestration', child: 'child', ended: 4 }),
      step('In', { run: 'child', ended: 2, next: ['Out'], variables: [{ name: 'x', value: 'changed' }] }),
      failed('Out', { run: 'child', ended: 3 }),
    ];
    const inputs = [
      { name: 'x', value: 'given' },
      { name: 'day', value: '2026-01-01' },
    ];
    const { plan: first } = planned(steps, { calledWith: new Map([['child', inputs]]) });
    const values = [
      { name: 'x', value: 'changed' },
      { name: 'day', value: '2026-01-01' },
    ];
    assert.deepEqual(first.runs[1]?.variables, values);
    const later = new Map([['child', [{ name: 'x', value: 'other' }]]]);
    const again = [
      failed('A', { type: 'run-orchestration', child: 'child', ended: 2 }),
      failed('Out', { run: 'child', ended: 1 }),
    ];
    assert.deepEqual(planned(again, { base: first, calledWith: later }).plan.runs[1]?.variables, values);
  });

  it('goes back to a moment at which a call or an iterator of the base had not begun', () => {
    const base: RestartPlan = {
      restartOf: 'first',
      projectVariables: [],
      runs: [
        {
          variables: [],
          kept: [{ component: 'Start', end: 'SUCCESS', next: ['A'] }],
          open: [
            { component: 'A', run: 1 },
            { component: 'Each', iterations: ['k1'] },
          ],
        },
        { variables: [], kept: [{ component: 'In', end: 'SUCCESS', next: ['Out'] }], open: [] },
      ],
    };
    const steps = [
      step('Start', { status: 'SKIPPED', kept: true, ended: 1 }),
      step('A', { type: 'run-orchestration', child: 'child', began: 1, ended: 4, next: ['Each'] }),
      step('In', { run: 'child', status: 'SKIPPED', kept: true, ended: 2 }),
      step('Out', { run: 'child', ended: 3, next: [], effect: true }),
      failed('Each', { type: 'grid-iterator', began: 4, ended: 5 }),
    ];
    const { plan: found, named } = planned(steps, { base, from: 'A' });
    assert.deepEqual(found.runs, base.runs);
    assert.deepEqual(named, ['Out']);
  });

  it('names what the base kept if a called pipeline has to start from its beginning', () => {
    const base: RestartPlan = {
      restartOf: 'first',
      projectVariables: [],
      runs: [
        {
          variables: [],
          kept: [{ component: 'Start', end: 'SUCCESS', next: ['A'] }],
          open: [{ component: 'A', run: 1 }],
        },
        { variables: [], kept: [{ component: 'In', end: 'SUCCESS', next: ['Read', 'Out'] }], open: [] },
      ],
    };
    const steps = [
      step('Start', { status: 'SKIPPED', kept: true, ended: 1 }),
      failed('A', { type: 'run-orchestration', child: 'child', began: 1, ended: 5 }),
      step('In', { run: 'child', status: 'SKIPPED', kept: true, ended: 2 }),
      step('Out', { run: 'child', ended: 3, next: [], variables: [{ name: 'token', lost: 'secret' }] }),
      failed('Last', { run: 'child', began: 3, ended: 4 }),
    ];
    const { plan: found, named } = planned(steps, { base });
    assert.deepEqual(found.runs[0]?.open, []);
    assert.deepEqual(named, ['In']);
  });

  it('names what an earlier restart accepted until it ends', () => {
    const steps = [begin, failed('A', { began: 1, ended: 2, effect: true })];
    const { plan: base } = planned(steps);
    assert.deepEqual(planned([], { base }).named, ['A']);
    const again = [
      step('Start', { type: 'start', status: 'SKIPPED', kept: true, ended: 1, next: ['A'] }),
      failed('A', { began: 1, ended: 2 }),
    ];
    assert.deepEqual(planned(again, { base }).named, ['A']);
    const done = [step('A', { began: 1, ended: 2, next: ['B'] }), failed('B', { began: 2, ended: 3 })];
    const next = planned(done, { base });
    assert.deepEqual(next.named, []);
    assert.equal(next.plan.repeats, undefined);
  });

  it('names what the restart before kept, even if the agent did not report it as kept', () => {
    const { plan: base } = planned([step('A', { began: 1, ended: 2, next: [], effect: true })]);
    const steps = [
      failed('A', { id: '1', began: 1, ended: 2, next: ['End'] }),
      step('End', { type: 'end-failure', began: 2, ended: 3 }),
    ];
    const { kept, named } = planned(steps, { base });
    assert.deepEqual(kept, []);
    assert.deepEqual(named, ['A']);
  });

  it('names what may have run without a report when the agent was lost', () => {
    const steps = [
      begin,
      step('A', { began: 1, ended: 2, next: ['B'] }),
      step('Read', { type: 'query-to-scalar', status: 'FAILED', began: 1 }),
    ];
    assert.deepEqual(planned(steps).named, []);
    assert.deepEqual(planned(steps, { isLost: true }).repeated, [
      { component: 'Read', why: 'was running when the agent was lost' },
      { component: 'B', why: 'was next when the agent was lost' },
    ]);
    const inside = [
      step('Start', { type: 'start', status: 'SKIPPED', kept: true, ended: 1, next: ['Each', 'Other'] }),
      step('Each', { type: 'grid-iterator', status: 'FAILED', began: 1 }),
      step('Do', { parent: 'Each', iteration: 'k1', began: 1, ended: 2, next: [] }),
      step('Try', { status: 'FAILED', began: 1, ended: 3 }),
    ];
    assert.deepEqual(planned(inside, { isLost: true }).repeated, [
      { component: 'Do', why: 'may have run once more when the agent was lost' },
      { component: 'Try', why: 'may have been tried again when the agent was lost' },
      { component: 'Other', why: 'was next when the agent was lost' },
    ]);
    // A report was refused: an end is missing.
    const gap = [begin, step('A', { began: 1, ended: 3, next: ['B'] })];
    assert.deepEqual(planned(gap).named, ['B']);
    assert.deepEqual(planned([], { isLost: true }).named, ['main.orch.yaml']);
    assert.deepEqual(planned([]).named, []);
  });

  it('names a step that did not end if its type may have an effect', () => {
    const steps = [begin, step('A', { status: 'CANCELLED', began: 1 })];
    assert.deepEqual(planned(steps).repeated, [
      { component: 'A', why: 'did not end, and may have changed data' },
    ]);
  });

  it('refuses an execution whose agent recorded nothing', () => {
    const found = plan([{ ...begin, record: null }]);
    assert.ok('reason' in found);
    assert.match(found.reason, /earlier version/);
  });

  it('takes any records: it keeps what ended, and keeps or names what had an effect', () => {
    const name = fc.constantFrom('A', 'B', 'C', 'constructor', '__proto__');
    const anyStep = fc.record({
      id: fc.constantFrom('1', '2', '3', '4', '5', '6'),
      runId: fc.constantFrom(root, 'child', 'other'),
      name,
      type: fc.constantFrom('sql-script', 'run-orchestration', 'grid-iterator', 'end-failure', 'nonsense'),
      status: fc.constantFrom('RUNNING', 'SUCCESS', 'FAILED', 'CANCELLED', 'SKIPPED'),
      childId: fc.constantFrom(null, 'child', 'other', root),
      record: fc.record(
        {
          began: fc.nat(9),
          ended: fc.integer({ min: 1, max: 9 }),
          parent: fc.constantFrom('1', '2', '3', 'nobody'),
          iteration: fc.constantFrom('k1', 'k2'),
          next: fc.array(name),
          effect: fc.boolean(),
          variables: fc.array(fc.record({ name, value: fc.string() })),
        },
        { requiredKeys: ['began'] },
      ),
    });
    const unique = fc.uniqueArray(anyStep, { selector: ({ id }) => id });
    const steps: fc.Arbitrary<RecordedStep[]> = unique as fc.Arbitrary<RecordedStep[]>;
    fc.assert(
      fc.property(steps, fc.boolean(), steps, (all, isLost, earlier) => {
        const { plan: base } = planned(earlier);
        const found = plan(all, { isLost, base });
        assert.ok('plan' in found);
        const ended = (some: RecordedStep[]) =>
          some.filter(({ runId, record }) => runId === root && record?.ended !== undefined);
        const names = new Set([...ended(all), ...ended(earlier)].map((each) => each.name));
        const retained = found.plan.runs[0]?.kept.map(({ component }) => component) ?? [];
        for (const component of retained) assert.ok(names.has(component));
        const named = new Set([...retained, ...found.repeated.map(({ component }) => component)]);
        // A plan keeps names only: an end of the same name in a called pipeline or an iterator settles an effect.
        const isTop = ({ runId, record }: RecordedStep) => runId === root && record?.parent === undefined;
        const inside = new Set(all.filter((each) => !isTop(each)).map((each) => each.name));
        const before = earlier.filter((each) => !inside.has(each.name));
        for (const each of [...all, ...before])
          if (isTop(each) && each.record?.effect === true) assert.ok(named.has(each.name), each.name);
      }),
    );
  });
});
