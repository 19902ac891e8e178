import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FromRun, OfRun } from '../ports/run-messages.ts';
import { gatherMessages } from './gathered-messages.ts';

const source = { step: 's', stream: 'component' } as const;
const line = (text: string): OfRun => ({ type: 'line', run: 1, line: text, source, timestamp: '' });
const alive: OfRun = { type: 'alive', run: 1 };

function open() {
  const written: FromRun[] = [];
  return { written, ...gatherMessages((message) => written.push(message)) };
}

test('messages go with the next one, in their order', () => {
  const { written, tell, send } = open();
  tell(line('a'));
  tell(line('b'));
  assert.deepEqual(written, []);
  send(alive);
  assert.deepEqual(written, [{ type: 'several', messages: [line('a'), line('b'), alive] }]);
});

test('messages go at the end of the turn, and when there are many', async () => {
  const { written, tell } = open();
  tell(line('a'));
  await nextTurn();
  assert.deepEqual(written, [line('a')]);
  for (let index = 0; index < 50; index++) tell(alive);
  assert.equal(written.length, 2);
});

test('of a step only the last report goes, in the place of the first', () => {
  const { written, tell, flush } = open();
  const step = (stepId: string, status: 'RUNNING' | 'SUCCESS'): OfRun => ({
    type: 'step',
    run: 1,
    step: { stepId, pipelineRunId: 'p', name: 'n', componentType: 'c', status, startedAt: '' },
  });
  tell(step('a', 'RUNNING'));
  tell(line('x'));
  tell(step('a', 'SUCCESS'));
  tell(step('b', 'RUNNING'));
  flush();
  tell(step('b', 'SUCCESS'));
  flush();
  assert.deepEqual(written, [
    { type: 'several', messages: [step('a', 'SUCCESS'), line('x'), step('b', 'RUNNING')] },
    step('b', 'SUCCESS'),
  ]);
});
