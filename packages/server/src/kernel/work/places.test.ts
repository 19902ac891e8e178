import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlaces, type Places } from './places.ts';

/** Takes as many places as the account may have. */
function takeAll(places: Places, accountId: string): number {
  const count = places.countFree(accountId);
  for (let taken = 0; taken < count; taken += 1) places.take(accountId);
  assert.equal(places.countFree(accountId), 0);
  return count;
}

test('one account does not get all places, so that others get some at once', () => {
  const places = createPlaces(256);
  assert.equal(takeAll(places, 'one'), 96);
  assert.equal(takeAll(places, 'two'), 48);
  assert.equal(takeAll(places, 'three'), 24);
  assert.deepEqual(places.listFull(), ['one', 'two', 'three']);
  places.release('one');
  assert.deepEqual(places.listFull(), ['one', 'two']);
});

test('accounts that take what they get in turns hold the same number, and leave as many', () => {
  const places = createPlaces(256);
  const accounts = ['one', 'two', 'three'];
  const held = accounts.map(() => 0);
  for (let turn = 0; turn < 256; turn += 1)
    for (const [index, accountId] of accounts.entries()) {
      if (places.countFree(accountId) === 0) continue;
      places.take(accountId);
      held[index] = (held[index] ?? 0) + 1;
    }
  assert.deepEqual(held, [48, 48, 48]);
  assert.equal(places.countFree('four'), 24);
});

test('a quarter is kept for the first webhooks of accounts', () => {
  const places = createPlaces(8);
  const accounts = ['one', 'two', 'three', 'four', 'five', 'six'];
  assert.deepEqual(
    accounts.map((accountId) => takeAll(places, accountId)),
    [3, 2, 1, 1, 1, 0],
  );
});
