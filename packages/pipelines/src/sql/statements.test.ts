import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { splitStatements } from './statements.ts';

describe('splitStatements', () => {
  const cases: [string, string[]][] = [
    ['select 1', ['select 1']],
    [' a ; b;; ', ['a', 'b']],
    ["select ';' ; b", ["select ';'", 'b']],
    ["select 'it''s; '; b", ["select 'it''s; '", 'b']],
    ["select E'a\\';b'; c", ["select E'a\\';b'", 'c']],
    ['select ";" ; b', ['select ";"', 'b']],
    ['-- a;\nb; -- c', ['-- a;\nb']],
    ['/* ; /* ; */ ; */ a; b', ['/* ; /* ; */ ; */ a', 'b']],
    ['select $$ ; $$; select $q$ ; $$ ; $q$', ['select $$ ; $$', 'select $q$ ; $$ ; $q$']],
    ['select a$b; c', ['select a$b', 'c']],
    ["select 'never ends; b", ["select 'never ends; b"]],
    ['-- only a comment', []],
  ];
  for (const [script, statements] of cases) {
    it(script, () => assert.deepEqual(splitStatements(script), statements));
  }
});
