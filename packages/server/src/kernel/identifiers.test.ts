import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMovableClock } from '../../testing/clock.ts';
import { createUuidMaker, isUuid, toUuid } from './identifiers.ts';

test('identifiers are UUIDs of version 7 with their creation time', () => {
  const clock = createMovableClock(new Date('2026-11-21T09:30:00.123Z'));
  const id = createUuidMaker(clock)();
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16), clock.now().getTime());
});

test('identifiers increase within a millisecond, beyond the counter, and when the clock goes back', () => {
  const clock = createMovableClock();
  const newId = createUuidMaker(clock);
  let last = '';
  for (let made = 0; made < 20_000; made += 1) {
    if (made % 3_000 === 2_999) clock.advance(made % 2 === 0 ? 0.001 : -5);
    const id = newId();
    assert.ok(isUuid(id) && id > last, `${id} after ${last}`);
    last = id;
  }
});

test('two processes make different identifiers at the same time', () => {
  const clock = createMovableClock();
  const [one, other] = [createUuidMaker(clock), createUuidMaker(clock)];
  const made = new Set(Array.from({ length: 2_000 }, () => [one(), other()]).flat());
  assert.equal(made.size, 4_000);
});

test('a text that is no UUID becomes an unused one', () => {
  const id = createUuidMaker(createMovableClock())();
  assert.equal(toUuid(id), id);
  for (const text of ['', 'x', id.toUpperCase(), `${id} `, `urn:uuid:${id}`]) {
    assert.equal(isUuid(text), false);
    assert.equal(toUuid(text), '00000000-0000-0000-0000-000000000000');
  }
});
