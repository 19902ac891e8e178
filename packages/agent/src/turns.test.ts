import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTurns } from './turns.ts';

const never = new AbortController().signal;

/** Work that ends when it is told to. */
function createWork() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => async () => {
    begun.push(name);
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.set(name, resolve);
    await promise;
    return name;
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { begun, work, end };
}

describe('turns of projects', () => {
  it('a project has a bound, and those that wait take turns', async () => {
    const turns = createTurns(3, 2);
    const { begun, work, end } = createWork();
    const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) =>
      turns.take(name[0] ?? '', never, work(name)),
    );
    assert.deepEqual(begun, ['a1', 'a2', 'b1']);
    await end('a1');
    assert.deepEqual(begun.slice(3), ['a3']);
    await end('a2');
    await end('b1');
    assert.deepEqual(begun.slice(4), ['b2', 'c1']);
    await end('a3');
    assert.deepEqual(begun.slice(6), ['a4']);
    for (const name of ['b2', 'c1', 'a4']) await end(name);
    assert.deepEqual(await Promise.all(all), ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']);
  });

  it('who does not wait any more takes no place, and a failure gives its place back', async () => {
    const turns = createTurns(1, 1);
    const { begun, work, end } = createWork();
    const first = turns.take('a', never, work('a1'));
    const left = new AbortController();
    const refused = assert.rejects(turns.take('b', left.signal, work('b1')), /cancelled/);
    const failing = assert.rejects(
      turns.take('c', never, () => Promise.reject(new Error('broken'))),
      /broken/,
    );
    const last = turns.take('b', never, work('b2'));
    left.abort(new Error('cancelled'));
    await refused;
    await end('a1');
    await end('b2');
    await failing;
    assert.deepEqual(await Promise.all([first, last]), ['a1', 'b2']);
    assert.deepEqual(begun, ['a1', 'b2']);
  });
});
