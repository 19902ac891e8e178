/** The problems and events of all resources together. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventNames } from '../event.ts';
import { problems } from '../problem.ts';
import { outcomes } from './outcomes.ts';
import { kind } from './problem-kind.ts';
import { withoutDoubles } from './sum-of-outcomes.ts';

const first = {
  events: ['a-created'],
  problems: { 'a-not-found': kind(404, 'There is no a.', () => 'There is no a.') },
} as const;

test('a problem or an event that two resources declare is a type error, and an error at run time', () => {
  const sameEvent = { events: ['a-created'], problems: {} } as const;
  const sameProblem = { events: [], problems: first.problems } as const;
  // @ts-expect-error the event is declared twice
  assert.throws(() => withoutDoubles([first, sameEvent]), /a-created/);
  // @ts-expect-error the problem is declared twice
  assert.throws(() => withoutDoubles([first, sameProblem]), /a-not-found/);
});

test('the tables have the problems and events of every resource', () => {
  assert.equal(
    Object.keys(problems).length,
    outcomes.reduce((sum, each) => sum + Object.keys(each.problems).length, 0),
  );
  assert.equal(eventNames.length, new Set(eventNames).size);
  assert.equal(problems['variable-not-found'].detail({ name: 'x' }), 'The project has no variable "x".');
  // @ts-expect-error the detail needs its name
  problems['variable-not-found'].detail({ wrong: 'x' });
});
