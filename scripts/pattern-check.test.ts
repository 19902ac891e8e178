import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareLists, findSqlReaders, inspectPatterns } from './pattern-check.ts';
import { readPatterns } from './pattern-source.ts';

const path = 'packages/server/src/a.ts';
const read = (text: string, of = path) => readPatterns(of, text);
const inspect = (text: string, known: readonly string[] = []) =>
  inspectPatterns(read(text).uses, new Set(known));

test('a pattern that takes linear time is safe', async () => {
  assert.deepEqual(await inspect('const form = /^[a-z]+$/i;'), {
    faults: [],
    bounded: [],
    safe: ['/^[a-z]+$/i'],
  });
});

const refused: [what: string, text: string, expected: RegExp][] = [
  [
    'a polynomial one',
    String.raw`text.replace(/\/+$/, '');`,
    /a\.ts:1 \/\\\/\+\$\/ is 2nd degree polynomial/,
  ],
  ['an exponential one', '\nif (/^(?:a|a)*$/.test(text)) stop();', /a\.ts:2 .* is exponential/],
  ['a sticky one that lexers try at each place', 'const word = /a*b/y;', /is 2nd degree polynomial/],
  ['one that the checker does not know', String.raw`const form = /[\w--\d]/v;`, /is unknown/],
  [
    'a new RegExp of constants',
    `const a = '(?:a|a)';\nconst b = new RegExp(\`^\${a}*$\`);`,
    /a\.ts:2 .* exponential/,
  ],
  ['the pattern of a schema', "Type.String({ pattern: '^(?:a|a)*$' });", /is exponential/],
  ['what stands around escaped text', `escapedPattern('i')\`a+\${word}a+b\`;`, /polynomial/],
];
for (const [what, text, expected] of refused)
  test(`${what} is refused`, async () => {
    assert.match((await inspect(text)).faults.join('\n'), expected);
  });

test('a pattern that was found safe is not judged again', async () => {
  const slow = '/^(?:a|a)*$/';
  assert.deepEqual((await inspect(`const form = ${slow};`, [slow])).safe, [slow]);
});

test('a slow pattern may stand where its text is bounded, with the bound beside it', async () => {
  const slow = String.raw`const name = text.replace(/\/+$/, '');`;
  for (const text of [
    `${slow} // bounded: a name, 255 characters`,
    `// bounded: a name, 255 characters\n${slow}`,
  ]) {
    const { faults, bounded, safe } = await inspect(text);
    assert.deepEqual([faults, safe], [[], []]);
    assert.match(
      bounded.join('\n'),
      /^packages\/server\/src\/a\.ts:\d .* is allowed: a name, 255 characters$/,
    );
  }
  assert.equal((await inspect(`// bounded: it is short\n${slow}`)).faults.length, 1, 'a bound has a number');
  assert.equal(
    (await inspect(`// bounded: 9 characters\n\n${slow}`)).faults.length,
    1,
    'a bound stands beside it',
  );
});

test('a new RegExp of what is no constant is refused, except where escaped text and schemas are compiled', () => {
  for (const text of [
    'new RegExp(x)',
    'RegExp(x)',
    "new RegExp('a' + x)",
    "new RegExp('a', flags)",
    "const a = 'a'; function f(a: string) { return new RegExp(a); }",
    'escapedPattern(flags)`a`',
    'escapedPattern`a`',
  ])
    assert.match(read(text).faults.join('\n'), /^packages\/server\/src\/a\.ts:1 /, text);
  assert.deepEqual(read('new RegExp(x)', 'packages/contract/src/escaped-pattern.ts').faults, []);
});

test('constants of a pattern are joined as JavaScript joins them', () => {
  const text = [
    String.raw`const name = '\\w' + String.raw${'`'}\d${'`'};`,
    String.raw`const space = /\s/;`,
    'const all = new RegExp(`^$' + '{name}$' + "{space.source}$`, 'g');",
  ].join('\n');
  assert.deepEqual(
    read(text).uses.map(({ source, flags }) => `/${source}/${flags}`),
    [String.raw`/\s/`, String.raw`/^\w\d\s$/g`],
  );
});

test('the list has the safe patterns of the code, no more and no fewer', () => {
  assert.deepEqual(compareLists(['/a/'], ['/a/']), []);
  assert.match(
    compareLists(['/a/', '/b/'], ['/a/']).join(),
    /lists \/b\/, which no code uses: run `npm run generate`/,
  );
  assert.match(compareLists(['/a/'], ['/a/', '/b/']).join(), /does not list \/b\/.* run `npm run generate`/);
});

test('a pattern that reads SQL stands only beside the one reader of SQL', () => {
  const readersOf = (text: string, of: string) => findSqlReaders(read(text, of).uses);
  const texts = [
    'const a = /^\\s*(?:insert|update)\\b/i;',
    "const b = /'(?:[^']|'')*'/;",
    'const c = /--[^\\n]*/;',
    'const d = /\\/\\*/;',
  ];
  for (const text of texts) {
    assert.match(
      readersOf(text, 'packages/agent/src/a.ts').join('\n'),
      /^packages\/agent\/src\/a\.ts:1 .* seems to read SQL: use the tokens/,
    );
    assert.deepEqual(readersOf(text, 'packages/pipelines/src/sql/rewrite/a.ts'), []);
    assert.deepEqual(readersOf(text, 'packages/server/src/a.ts'), []);
    assert.deepEqual(readersOf(`// not SQL: a message\n${text}`, 'packages/agent/src/a.ts'), []);
  }
  assert.deepEqual(readersOf('const e = /^(?:selected|inserting) /;', 'packages/agent/src/a.ts'), []);
});
