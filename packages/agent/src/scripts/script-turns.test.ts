import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScriptTurns } from './script-turns.ts';

const never = new AbortController().signal;
const at = (projectId: string, environmentName: string, share?: number) => ({
  projectId,
  environmentName,
  ...(share === undefined ? {} : { share }),
});

/** Enters, and notes the name when it has its place. */
function createScene(places: number) {
  const enter = createScriptTurns(places);
  const entered: string[] = [];
  const leave: (() => void)[] = [];
  async function start(name: string, place: ReturnType<typeof at>): Promise<void> {
    const waiting = enter(place, never).then((left) => {
      entered.push(name);
      leave.push(left);
    });
    await Promise.race([waiting, new Promise(setImmediate)]);
  }
  return { enter, entered, start, leaveFirst: () => leave.shift()?.() };
}

test('sleeping scripts of one environment leave half of the places to others', async () => {
  const { entered, start } = createScene(4);
  for (const name of ['a', 'b', 'c', 'd']) await start(name, at('A', 'dev'));
  assert.deepEqual(entered, ['a', 'b']);
  await start('other', at('B', 'prod'));
  assert.deepEqual(entered, ['a', 'b', 'other']);
});

test('an environment with the whole share takes all places', async () => {
  const { entered, start } = createScene(3);
  for (const name of ['a', 'b', 'c', 'd']) await start(name, at('A', 'dev', 100));
  assert.deepEqual(entered, ['a', 'b', 'c']);
});

test('two environments of one project leave a place to another project', async () => {
  const { entered, start, leaveFirst } = createScene(4);
  for (const name of ['a1', 'a2', 'a3']) await start(name, at('A', 'dev'));
  for (const name of ['a4', 'a5', 'a6']) await start(name, at('A', 'test'));
  assert.deepEqual(entered, ['a1', 'a2', 'a4']);
  await start('b', at('B', 'prod'));
  assert.equal(entered.at(-1), 'b');
  leaveFirst();
  await new Promise(setImmediate);
  assert.equal(entered.at(-1), 'a3');
});

test('with two places, each of two projects has one; with one place, they take turns', async () => {
  for (const places of [1, 2]) {
    const { entered, start } = createScene(places);
    for (const name of ['dev', 'test']) await start(name, at('A', name));
    assert.deepEqual(entered, ['dev']);
    await start('b', at('B', 'prod'));
    assert.equal(entered.includes('b'), places === 2);
  }
});

test('projects take turns, and in them environments', async () => {
  const { entered, start, leaveFirst } = createScene(1);
  await start('first', at('A', 'dev'));
  await start('a1', at('A', 'dev'));
  await start('a2', at('A', 'dev'));
  await start('a3', at('A', 'test'));
  await start('b1', at('B', 'dev'));
  for (let turn = 0; turn < 4; turn++) {
    leaveFirst();
    await new Promise(setImmediate);
  }
  assert.deepEqual(entered, ['first', 'b1', 'a3', 'a1', 'a2']);
});

test('a script that is killed while it waits gives up its turn', async () => {
  const { enter, entered, start, leaveFirst } = createScene(1);
  const killing = new AbortController();
  await start('first', at('A', 'dev'));
  const killed = assert.rejects(enter(at('A', 'dev'), killing.signal), /killed/);
  await start('next', at('B', 'dev'));
  killing.abort(new Error('killed'));
  await killed;
  leaveFirst();
  await new Promise(setImmediate);
  assert.deepEqual(entered, ['first', 'next']);
});
