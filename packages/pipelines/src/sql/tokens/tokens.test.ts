import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sqlRewriter, unchangedSql } from '../rewriter.ts';
import { lexicalRules, type SqlKind, TokenReader, tokenize } from './tokens.ts';

const vendors = ['snowflake', 'redshift'] as const;

describe('the check before a run and the run divide a script in the same way', () => {
  const cases: [script: string, statements: number, redshift?: number | 'refused'][] = [
    ['select 1', 1],
    [' select 1 ; select 2;; ', 2],
    ["select ';' ; select 2", 2],
    ["select 'it''s; '; select 2", 2],
    ["select 'it\\'s; fine'", 1],
    ["select 'a\\\\'; select 'b'", 2],
    ["select E'a\\';b'; select 1", 2],
    ['select ";" ; select 2', 2],
    ["select ';''\"' ; select 2", 2],
    ['-- a;\nselect 1; -- c', 1],
    ['-- it\'s\nselect 1; -- "\nselect 2', 2],
    ['/* it\'s ; " */ select 1; select 2', 2],
    ["select $$ ; ' $$; select $q$ ; $$ ; $q$", 2],
    ['select a$b; select c', 2],
    ['select 1 -- a\rselect 2; select 3', 2],
    ['// a; b\nselect 1', 1, 2],
    ['select a, // one; two\n b; select 2', 2, 3],
    ['select 7 // 2; select 1', 2],
    ['/* a /* b */ select 1; select 2 /* */', 2, 'refused'],
    ['select\u00a01\u2003;\u3000select 2', 2],
    ['select `a;b`; select 1', 2],
    ['-- only a comment', 0],
    ['/* ; */ ;', 0],
    ['\u00a0', 0],
  ];
  for (const [script, ...expected] of cases) {
    it(JSON.stringify(script), () => {
      const counts = vendors.map((vendor) => countOf(() => sqlRewriter.rewriteScript(script, { vendor })));
      assert.deepEqual(counts, [expected[0], expected.at(-1)]);
      const readable = counts.filter((count) => count !== 'refused');
      assert.equal(unchangedSql.script(script).length, Math.min(...readable));
    });
  }
});

function countOf(read: () => readonly unknown[]): number | 'refused' {
  try {
    return read().length;
  } catch {
    return 'refused';
  }
}

describe('the rules of each kind of SQL', () => {
  const values = (sql: string, kind: SqlKind) =>
    tokenize(sql, lexicalRules[kind]).tokens.map(({ value }) => value);
  const cases: [sql: string, snowflake: string[], redshift: string[], duckdb: string[]][] = [
    ["'\\'' ", ["'\\''"], ["'\\''"], []],
    ["'\\' ", [], [], ["'\\'"]],
    ['`a`', ['a'], ['a'], ['`', 'A', '`']],
    ['1\n//b\n2', ['1', '2'], ['1', '//', 'B', '2'], ['1', '//', 'B', '2']],
    ['1//b', ['1', '//', 'B'], ['1', '//', 'B'], ['1', '//', 'B']],
    ['(//b\n)', ['(', ')'], ['(', '//', 'B', ')'], ['(', '//', 'B', ')']],
    ['4 //* x */ 2', ['4', '/', '2'], ['4', '/', '2'], ['4', '/', '2']],
    ['/* /* */ a', ['A'], [], []],
    ['/* /* */ a */', ['A', '*', '/'], [], []],
    ['a\u00a0b\u2003"c\u00a0d"', ['A', 'B', 'c\u00a0d'], ['A', 'B', 'c\u00a0d'], ['A', 'B', 'c\u00a0d']],
    // An escaping text goes on after the end of a line.
    ["e'a'\n'\\''", ["e'a'", "'\\''"], ["e'a'", "'\\''"], ["e'a'", "'\\''"]],
    ["e'a' -- /*\n'\\''", ["e'a'", "'\\''"], ["e'a'", "'\\''"], ["e'a'", "'\\''"]],
    ["e'a' /*\n*/'\\'", [], [], ["e'a'", "'\\'"]],
    ["e'a' '\\'", [], [], ["e'a'", "'\\'"]],
    ['1_000 1__0 1_a 0x1', ...repeat(['1_000', '1', '__0', '1', '_A', '0', 'X1'])],
  ];
  for (const [sql, ...expected] of cases)
    for (const [index, kind] of (['snowflake', 'redshift', 'duckdb'] as const).entries())
      it(`${JSON.stringify(sql)} in ${kind}`, () => {
        let read: string[] = [];
        try {
          read = values(sql, kind);
        } catch {
          // Nothing is read of what has no end.
        }
        assert.deepEqual(read, expected[index]);
      });

  it('what DuckDB would read otherwise is replaced at the same place', () => {
    const { source } = tokenize('select\u00a01, // why\n`a b` /* x /* y /*/ + 1', lexicalRules.snowflake);
    assert.equal(source, 'select 1, -- why\n"a b" /* x  * y  */ + 1');
  });
});

function repeat(tokens: string[]): [string[], string[], string[]] {
  return [tokens, tokens, tokens];
}

describe('SQL of 200,000 characters is read in linear time', () => {
  for (const part of [
    "e''\n",
    "e'a' ",
    '/* /*',
    '/**/',
    '/*/',
    ' // a\n',
    '(//\n',
    '`',
    '`a',
    '$',
    '$a',
    '$a$',
    '\u00a0',
    '\u00a0 ',
    '\\',
    "'\\",
    '1_',
    '1e',
    '1.',
    '//',
    ' /',
  ])
    for (const kind of ['snowflake', 'redshift', 'duckdb'] as const)
      it(`${JSON.stringify(part)} in ${kind}`, () => {
        const start = process.cpuUsage().user;
        const reader = new TokenReader(part.repeat(200_000 / part.length), lexicalRules[kind]);
        let count = 0;
        try {
          while (reader.next() !== undefined) count += 1;
        } catch {
          // It has no end.
        }
        assert.ok(count <= 200_000 && reader.source.length <= 200_000);
        assert.ok(process.cpuUsage().user - start < 1_000_000);
      });
});
