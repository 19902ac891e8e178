import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ComponentEnd } from '../format/component-end.ts';
import type { Orchestration, TransitionKind } from '../format/pipeline.ts';
import { createWalk, sortTopologically } from './graph.ts';

type Edges = Partial<Record<TransitionKind, string[]>>;

function orchestration(components: Record<string, [type: string, edges?: Edges]>): Orchestration {
  const none = { success: [], failure: [], unconditional: [], true: [], false: [] };
  return {
    type: 'orchestration',
    path: 'p.orch.yaml',
    name: 'p',
    version: '1.0',
    variables: new Map(),
    description: '',
    components: new Map(
      Object.entries(components).map(([name, [type, edges = {}]]) => [
        name,
        {
          name,
          type,
          parameters: {},
          transitions: { ...none, ...edges },
          skipped: false,
          updateScalarVariables: [],
          updateGridVariables: [],
        },
      ]),
    ),
  };
}

/**
 * Walks to the end. Components end as given, else with SUCCESS. Returns what ran, in order, and the outcome.
 */
function walk(pipeline: Orchestration, ends: Record<string, ComponentEnd> = {}) {
  const machine = createWalk(pipeline);
  const ran: string[] = [];
  for (let ready = machine.takeReady(); ready.length > 0; ready = machine.takeReady()) {
    for (const { name } of ready) {
      ran.push(name);
      machine.finish(name, ends[name] ?? 'SUCCESS');
    }
  }
  return { ran, outcome: machine.outcome(), unreached: machine.unreached() };
}

describe('a transition is taken depending on how its component ended', () => {
  const taken: Record<ComponentEnd, TransitionKind[]> = {
    SUCCESS: ['success', 'unconditional'],
    SKIPPED: ['success', 'unconditional'],
    FAILED: ['failure', 'unconditional'],
    TRUE: ['success', 'unconditional', 'true'],
    FALSE: ['success', 'unconditional', 'false'],
  };
  const kinds: TransitionKind[] = ['success', 'failure', 'unconditional', 'true', 'false'];
  for (const [end, takenKinds] of Object.entries(taken)) {
    for (const kind of kinds) {
      const follows = takenKinds.includes(kind);
      it(`${end}: ${kind} is ${follows ? 'taken' : 'not taken'}`, () => {
        const pipeline = orchestration({
          Start: ['start', { success: ['A'] }],
          A: ['if', { [kind]: ['B'] }],
          B: ['sql-script'],
        });
        assert.equal(walk(pipeline, { A: end as ComponentEnd }).ran.includes('B'), follows);
      });
    }
  }
});

describe('the walk', () => {
  it('starts an and after all of its sources, and an or after the first', () => {
    const both = (type: string) =>
      orchestration({
        Start: ['start', { unconditional: ['A', 'B'] }],
        A: ['sql-script', { success: ['Join'] }],
        B: ['sql-script', { success: ['Join'] }],
        Join: [type],
      });
    const machine = createWalk(both('and'));
    const names = () => machine.takeReady().map(({ name }) => name);
    assert.deepEqual(names(), ['Start']);
    machine.finish('Start', 'SUCCESS');
    assert.deepEqual(names(), ['A', 'B']);
    machine.finish('A', 'SUCCESS');
    assert.deepEqual(names(), []);
    assert.equal(machine.outcome(), undefined);
    machine.finish('B', 'SUCCESS');
    assert.deepEqual(names(), ['Join']);
    assert.deepEqual(walk(both('or')).ran, ['Start', 'A', 'B', 'Join']);
  });

  it('an and that can no longer be reached does not run', () => {
    const pipeline = orchestration({
      Start: ['start', { success: ['A', 'B'] }],
      A: ['sql-script', { success: ['And'] }],
      B: ['sql-script', { success: ['And'], failure: ['C'] }],
      C: ['sql-script'],
      And: ['and'],
    });
    assert.deepEqual(walk(pipeline, { B: 'FAILED' }), {
      ran: ['Start', 'A', 'B', 'C'],
      outcome: { status: 'SUCCESS' },
      unreached: ['And'],
    });
  });

  it('a failure without a failure or unconditional transition fails the pipeline, and nothing more starts', () => {
    const pipeline = orchestration({
      Start: ['start', { success: ['A', 'B'] }],
      A: ['sql-script', { success: ['C'] }],
      B: ['sql-script', { success: ['C'] }],
      C: ['sql-script'],
    });
    assert.deepEqual(walk(pipeline, { A: 'FAILED' }), {
      ran: ['Start', 'A', 'B'],
      outcome: { status: 'FAILED', component: 'A' },
      unreached: ['C'],
    });
  });

  it('end-failure ends the walk with FAILED and end-success with SUCCESS, even if other components wait', () => {
    const ending = (type: string) =>
      orchestration({
        Start: ['start', { success: ['End', 'A'] }],
        End: [type],
        A: ['sql-script', { success: ['B'] }],
        B: ['or'],
      });
    assert.deepEqual(walk(ending('end-failure')).outcome, { status: 'FAILED', component: 'End' });
    const { ran, outcome } = walk(ending('end-success'));
    assert.deepEqual(outcome, { status: 'SUCCESS', component: 'End' });
    assert.ok(!ran.includes('B'));
  });

  it('fails if a branch fails without a transition for it, even after another branch reached end-success', () => {
    const ending = (first: string, second: string) =>
      orchestration({ Start: ['start', { success: ['End', 'Other'] }], End: [first], Other: [second] });
    const outcome = (first: string, second: string) =>
      walk(ending(first, second), second === 'sql-script' ? { Other: 'FAILED' } : {}).outcome;
    assert.deepEqual(outcome('end-success', 'sql-script'), { status: 'FAILED', component: 'Other' });
    assert.deepEqual(outcome('end-success', 'end-failure'), { status: 'FAILED', component: 'Other' });
    assert.deepEqual(outcome('end-failure', 'end-success'), { status: 'FAILED', component: 'End' });
    assert.deepEqual(outcome('end-failure', 'sql-script'), { status: 'FAILED', component: 'End' });
  });

  it('ends for any graph and any ends, and runs each component at most once', () => {
    const names = Array.from({ length: 8 }, (_, index) => `c${index}`);
    const some = fc.array(fc.constantFrom(...names), { maxLength: 4 });
    const component = fc.record({
      type: fc.constantFrom('and', 'or', 'if', 'sql-script', 'end-success', 'end-failure'),
      edges: fc.record({ success: some, failure: some, unconditional: some, true: some, false: some }),
      end: fc.constantFrom<ComponentEnd>('SUCCESS', 'FAILED', 'SKIPPED', 'TRUE', 'FALSE'),
    });
    fc.assert(
      fc.property(fc.tuple(...names.map(() => component)), (components) => {
        const pipeline = orchestration({
          Start: ['start', { unconditional: ['c0', 'c1'] }],
          ...Object.fromEntries(components.map(({ type, edges }, index) => [`c${index}`, [type, edges]])),
        });
        const ends = Object.fromEntries(components.map(({ end }, index) => [`c${index}`, end]));
        const { ran, outcome, unreached } = walk(pipeline, ends);
        assert.equal(new Set(ran).size, ran.length);
        assert.ok(outcome);
        assert.deepEqual([...ran, ...unreached].sort(), ['Start', ...names].sort());
      }),
      { numRuns: 300 },
    );
  });
});

describe('topologicalOrder', () => {
  const components = (sources: Record<string, string[]>) =>
    new Map(Object.entries(sources).map(([name, list]) => [name, { sources: list }]));

  it('puts sources before those that use them', () => {
    assert.deepEqual(sortTopologically(components({ C: ['B', 'A'], B: ['A'], A: [] })).order, [
      'A',
      'B',
      'C',
    ]);
  });

  it('names a cycle', () => {
    assert.deepEqual(sortTopologically(components({ X: [], A: ['C'], B: ['A'], C: ['B'] })).cycle, [
      'A',
      'C',
      'B',
      'A',
    ]);
  });

  it('handles a chain of 100,000 components', () => {
    const chain = Object.fromEntries(
      Array.from({ length: 100_000 }, (_, index) => [`c${index}`, [`c${index + 1}`]]),
    );
    assert.equal(sortTopologically(components(chain)).order?.[0], 'c99999');
  });
});
