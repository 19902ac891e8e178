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

test('the parts of an owner take turns, and have no more turns than another owner', async () => {
  const queue = createQueue();
  const outcomes: string[] = [];
  const add = (owner: string, part: string, name: string) =>
    queue.run([owner, part], async () => {
      outcomes.push(name);
    });
  const first = queue.run('a', async () => undefined);
  await Promise.all([
    first,
    ...['1', '2', '3'].map((number) => add('a', 'x', `ax${number}`)),
    ...['1', '2'].map((number) => add('a', 'y', `ay${number}`)),
    ...['1', '2', '3'].map((number) => add('b', 'x', `bx${number}`)),
  ]);
  assert.deepEqual(outcomes, ['ax1', 'bx1', 'ay1', 'bx2', 'ax2', 'bx3', 'ay2', 'ax3']);
});

test('an owner has a bound over all its parts', async () => {
  const queue = createQueue(1);
  const { promise: open, resolve } = Promise.withResolvers<void>();
  const running = queue.run('a', () => open);
  const waiting = ['1', '2', '3', '4'].map((part) => queue.run(['a', part], () => open));
  await assert.rejects(
    queue.run(['a', '5'], () => open),
    /too many wait/,
  );
  waiting.push(queue.run(['b', '1'], () => open));
  resolve();
  await Promise.all([running, ...waiting]);
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
