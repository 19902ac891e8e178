import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSessionState } from './session-state.ts';

const [one, two] = [{ name: 'one' }, { name: 'two' }];
/** Passes statements, each of an iteration or of none. The last one is refused with a message, or passes. */
function passAll(statements: readonly (readonly [string, ...object[]])[], refused?: RegExp) {
  const state = createSessionState();
  const last = statements.length - 1;
  for (const [index, [sql, ...path]] of statements.entries()) {
    if (index === last && refused !== undefined) assert.throws(() => state.pass(sql, path), refused);
    else state.pass(sql, path);
  }
}

describe('what concurrent iterations leave in a session', () => {
  const make = 'create or replace temp table "Part" (a int)';
  const read = 'insert into whole select * from PART';
  for (const [what, statements, refused] of [
    [
      'its own temporary table is read',
      [
        [make, one],
        [read, one],
      ],
      undefined,
    ],
    [
      'the table of another iteration is not',
      [
        [make, one],
        [read, two],
      ],
      /the temporary table "Part" is of another/,
    ],
    [
      'a table that was made anew is not',
      [
        [make, one],
        [make, two],
        [read, one],
      ],
      /Sequential/,
    ],
    ['a table from before the iterations is', [[make], [read, two]], undefined],
    [
      'a table of the iteration around is',
      [
        [make, one],
        [read, one, two],
      ],
      undefined,
    ],
    ['after them, the table of one of them is', [[make, one], [read]], undefined],
    [
      'after them, a table that several made is not',
      [[make, one], [make, two], [read]],
      /of another iteration/,
    ],
    [
      'after them, it is when it was made once more',
      [[make, one], [make, two], [make], [read, one]],
      undefined,
    ],
    [
      'a table with a similar name is',
      [
        [make, one],
        ['select * from parts, a.part_2', two],
      ],
      undefined,
    ],
    [
      'a table that is made from itself is read',
      [
        [make, one],
        ['create or replace temp table part as select * from part', two],
      ],
      /temporary/,
    ],
    [
      'the last part of a qualified name counts',
      [
        ['create temp table temp.main."part" (a int)', one],
        [read, two],
      ],
      /temporary/,
    ],
    [
      'a table that is made IF NOT EXISTS is shared',
      [
        ['create temp table if not exists part (a int)', one],
        [read, two],
      ],
      undefined,
    ],
    [
      'a variable of its own is read',
      [
        ['set variable x = 1', one],
        ["select getvariable('x')", one],
      ],
      undefined,
    ],
    [
      'a variable of another iteration is not',
      [
        ['set variable x = 1', one],
        ["select getvariable('x')", two],
      ],
      /the variable x was set by another/,
    ],
    [
      'a schema that another one set is not used',
      [
        ['use a', one],
        ['select 1', two],
      ],
      /the current schema was set by another/,
    ],
    [
      'a schema may be set again',
      [
        ['use a', one],
        ['use b', two],
        ['select 1', two],
      ],
      undefined,
    ],
    ['after them, a schema that all set is used', [['use a', one], ['use a', two], ['select 1']], undefined],
    [
      'after them, one of several schemas is not',
      [['use a', one], ['-- why\nuse b', two], ['select 1']],
      /current schema/,
    ],
  ] as const)
    it(what, () => passAll(statements, refused));
});
