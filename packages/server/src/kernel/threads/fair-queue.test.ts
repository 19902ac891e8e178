import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFairQueue } from './fair-queue.ts';

const createQueue = (ofOne = 10, inAll = 100) =>
  createFairQueue({ ofOne, inAll }, () => new Error('too many wait'));

test('one task runs at a time, and owners take turns', async () => {
  const queue = createQueue();
  const outcomes: string[] = [];
  let running = 0;
  const task = (name: string) => async () => {
    running += 1;
    assert.equal(running, 1);
    await null;
    running -= 1;
    outcomes.push(name);
  };
  const many = ['a1', 'a2', 'a3', 'a4'].map((name) => queue.run('a', task(name)));
  const others = [queue.run('b', task('b1')), queue.run('c', task('c1')), queue.run('b', task('b2'))];
  await Promise.all([...many, ...others]);
  assert.deepEqual(outcomes, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

test('a failure rejects its own task only, and the next task runs', async () => {
  const queue = createQueue();
  const failing = queue.run('a', () => Promise.reject(new Error('broken')));
  const next = queue.run('a', async () => 'done');
  await assert.rejects(failing, /broken/);
  assert.equal(await next, 'done');
});

test('the number of waiting tasks is limited, per owner and in total', async () => {
  const queue = createQueue(2, 3);
  const { promise: open, resolve } = Promise.withResolvers<void>();
  const wait = () => open;
  const running = queue.run('a', wait);
  const waiting = [queue.run('a', wait), queue.run('a', wait)];
  await assert.rejects(queue.run('a', wait), /too many wait/);
  waiting.push(queue.run('b', wait));
  await assert.rejects(queue.run('c', wait), /too many wait/);
  resolve();
  await Promise.all([running, ...waiting]);
  assert.equal(await queue.run('c', async () => 1), 1);
});
