import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { followSignals } from './followed-signals.ts';

test('a controller is aborted with the reason of the first signal', () => {
  const [kill, cancel] = [new AbortController(), new AbortController()];
  const { controller } = followSignals([kill.signal, cancel.signal]);
  assert.equal(controller.signal.aborted, false);
  cancel.abort('cancelled');
  kill.abort('killed');
  assert.equal(controller.signal.reason, 'cancelled');
  assert.equal(followSignals([kill.signal]).controller.signal.reason, 'killed');
});

test('a released controller follows no signal, and leaves no listener', () => {
  const kill = new AbortController();
  const { controller, release } = followSignals([kill.signal]);
  release();
  assert.deepEqual(getEventListeners(kill.signal, 'abort'), []);
  kill.abort();
  assert.equal(controller.signal.aborted, false);
});
