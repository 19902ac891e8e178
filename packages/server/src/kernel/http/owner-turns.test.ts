import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOwnerTurns } from './owner-turns.ts';

const refuse = () => new Error('too many wait');

/** Tasks that run until they are ended by name. */
function createTasks() {
  const begun: string[] = [];
  const ends = new Map<string, (failure?: Error) => void>();
  const task = (name: string) => () =>
    new Promise<string>((resolve, reject) => {
      begun.push(name);
      ends.set(name, (failure) => (failure === undefined ? resolve(name) : reject(failure)));
    });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { begun, task, settled, end: (name: string, failure?: Error) => ends.get(name)?.(failure) };
}

test('a limited number of tasks of an owner run at once, and the others wait in order', async () => {
  const turns = createOwnerTurns({ running: 2, waiting: 10 }, refuse);
  const { begun, task, settled, end } = createTasks();
  const all = ['a1', 'a2', 'a3', 'a4'].map((name) => turns.run('a', task(name)));
  const other = turns.run('b', task('b1'));
  await settled();
  assert.deepEqual(begun, ['a1', 'a2', 'b1']);
  end('a2');
  await settled();
  assert.deepEqual(begun, ['a1', 'a2', 'b1', 'a3']);
  end('a1');
  await settled();
  for (const name of ['a3', 'a4', 'b1']) end(name);
  assert.deepEqual(await Promise.all([...all, other]), ['a1', 'a2', 'a3', 'a4', 'b1']);
});

test('a task that fails gives its turn to the next', async () => {
  const turns = createOwnerTurns({ running: 1, waiting: 10 }, refuse);
  const { begun, task, settled, end } = createTasks();
  const failing = turns.run('a', task('a1'));
  const next = turns.run('a', task('a2'));
  await settled();
  end('a1', new Error('broken'));
  await assert.rejects(failing, /broken/);
  await settled();
  assert.deepEqual(begun, ['a1', 'a2']);
  end('a2');
  assert.equal(await next, 'a2');
});

test('the number of waiting tasks of an owner is limited', async () => {
  const turns = createOwnerTurns({ running: 1, waiting: 1 }, refuse);
  const { task, settled, end } = createTasks();
  const retained = [turns.run('a', task('a1')), turns.run('a', task('a2'))];
  await assert.rejects(turns.run('a', task('a3')), /too many wait/);
  retained.push(turns.run('b', task('b1')));
  for (const name of ['a1', 'a2', 'b1']) {
    await settled();
    end(name);
  }
  assert.deepEqual(await Promise.all(retained), ['a1', 'a2', 'b1']);
});
