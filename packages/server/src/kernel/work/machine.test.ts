import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMachine } from './machine.ts';
import { workStates } from './work.ts';

test('a state machine covers all pairs of states', () => {
  const door = createMachine({ open: ['shut'], shut: ['open', 'locked'], locked: ['shut'], gone: [] });
  const allowed = door.states.flatMap((from) =>
    door.states.filter((to) => door.allows(from, to)).map((to) => `${from} → ${to}`),
  );
  assert.deepEqual(allowed, ['open → shut', 'shut → open', 'shut → locked', 'locked → shut']);
  for (const to of door.states) {
    assert.deepEqual(
      door.listSources(to),
      door.states.filter((from) => door.allows(from, to)),
    );
  }
  assert.deepEqual(
    door.states.filter((state) => door.isEnd(state)),
    ['gone'],
  );
});

test('work moves from queued to ended, and never back from ended', () => {
  const moves = workStates.states.flatMap((from) =>
    workStates.states.filter((to) => workStates.allows(from, to)).map((to) => `${from} → ${to}`),
  );
  assert.deepEqual(moves.toSorted(), [
    'held → ended',
    'held → queued',
    'held → silent',
    'queued → ended',
    'queued → held',
    'silent → ended',
    'silent → held',
    'silent → queued',
  ]);
  assert.ok(workStates.isEnd('ended'));
});
