import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePipeline } from './parse.ts';

const lines = `type: orchestration
version: "1.0"
pipeline:
  components:
    Start:
      type: start
      transitions:
        unconditional:
          - Load
      parameters:
        componentName: "Start"
    Load:
      type: sql-script
      parameters:
        componentName: "Load"
        sqlScript: |
          select 1
design: {}
`.split('\n');

const replace = (line: number, ...written: string[]) => lines.toSpliced(line - 1, 1, ...written).join('\n');

describe('a fault of YAML says what to change, and in which line', () => {
  const cases: [what: string, text: string, line: number, message: RegExp][] = [
    ['a tab', replace(5, '\tStart:'), 5, /^a tab stands in the indentation: replace it by spaces$/],
    ['a tab after spaces', replace(6, '      \ttype: start'), 6, /^a tab stands in the indentation/],
    ['a tab in a text', replace(17, '\t\tselect 1'), 17, /^a tab stands in the indentation/],
    ['no colon', replace(6, '      type start'), 6, /^"type start" has no colon: write "type: start"$/],
    ['no colon after a name', replace(5, '    Start'), 5, /^"Start" has no colon: write "Start:"$/],
    ['no colon in the first line', replace(1, 'type orchestration'), 1, /write "type: orchestration"$/],
    ['no space after a colon', replace(6, '      type:start'), 6, /^a space is missing .* "type: start"$/],
    [
      'no space after the only colon',
      replace(11, '        a:"b"'),
      10,
      /not the text "a:"b"": write a space/,
    ],
    ['too little indentation', replace(6, '    type: start'), 6, /^"type" has a value, so line 7 cannot be/],
    [
      'too much indentation',
      replace(6, '       type: start'),
      7,
      /by 6 spaces, which fits no line above: use 7 as "type" in line 6, or 4 as "Start" in line 5$/,
    ],
    [
      'odd indentation',
      replace(10, '     parameters:'),
      10,
      /by 5 spaces, .*: use 6 as "type" in line 6, or 4 as/,
    ],
    [
      'a text that is not indented',
      replace(17, '  select 1'),
      17,
      /^"select 1" has no colon: .* by more than 8 spaces if it belongs to the text of "sqlScript" in line 16$/,
    ],
    [
      'a second line of a text',
      replace(17, '          a', '        b c'),
      18,
      /"b c" has no colon: .* in line 16$/,
    ],
    [
      'a text in the line of its key',
      replace(16, '        sqlScript: | select 1'),
      16,
      /in the line after \| or >/,
    ],
    [
      'a key twice',
      replace(13, '      type: a', '      type: b'),
      14,
      /^the key "type" occurs twice, first in line 13: /,
    ],
    ['a component twice', replace(12, '    Start:'), 12, /"Start" occurs twice, first in line 5: rename/],
    [
      'an open double quote',
      replace(11, '        componentName: "Start'),
      11,
      /^the value begins with " and does not/,
    ],
    ['an open single quote', replace(11, "        componentName: 'Start"), 11, /: write ' at its end$/],
    [
      'a quote in quotes',
      replace(11, "        componentName: 'It's'"),
      11,
      /write '' for a quote inside of '…'$/,
    ],
    [
      'a double quote in quotes',
      replace(11, '        a: "b "c" d"'),
      11,
      /write \\" for a quote inside of "…"$/,
    ],
    [
      'a backslash',
      replace(11, '        a: "C:\\Users"'),
      11,
      /^\\U means nothing in double quotes: write \\\\ for/,
    ],
    ['a colon in a value', replace(11, '        a: Load: all'), 11, /as in "a: 'Load: all'"$/],
    [
      'an open brace',
      replace(11, '        a: {b: c'),
      11,
      /^\{ is not closed: write \} at the end of the value$/,
    ],
    ['an open bracket', replace(8, '        unconditional: [Load'), 8, /^\[ is not closed: write \]/],
    ['a bracket that closes nothing', replace(11, '        a: }'), 11, /^\} closes nothing: remove it/],
    ['no comma', replace(11, '        a: {b: "c" "d": e}'), 11, /^a comma or a colon is missing here/],
    [
      'an @ at the beginning',
      replace(11, '        a: @x y'),
      11,
      /^a value must not begin with @: .* '@x y'$/,
    ],
    ['a * at the beginning', replace(11, '        a: *'), 11, /^a value must not begin with \*/],
    [
      'a name after *',
      replace(11, '        a: *x'),
      11,
      /^the alias \*x has no anchor: put a text that begins with \*/,
    ],
    [
      'a ! at the beginning',
      replace(11, '        a: !x y'),
      11,
      /^a value must not begin with !: .* '!x y'$/,
    ],
    ['a comment without a space', replace(11, '        a: "b"#c'), 11, /^a comment needs a space/],
    ['an item beside keys', replace(10, '      - parameters:'), 10, /^an item of a list stands beside keys/],
    [
      'a key beside items',
      replace(9, '          - Load', '          b: c'),
      10,
      /^a key stands beside the items/,
    ],
    [
      'a merge conflict',
      replace(13, '<<<<<<< HEAD', '      type: sql-script'),
      13,
      /^a merge conflict is left here/,
    ],
    ['two documents', `${lines.join('\n')}---\na: b\n`, 19, /^a second document begins here/],
    ['Windows line ends', replace(6, '      type start').replaceAll('\n', '\r\n'), 6, /write "type: start"$/],
  ];
  for (const [what, text, line, message] of cases)
    it(what, () => {
      const { error } = parsePipeline('p.orch.yaml', text);
      assert.match(error?.message ?? '', message);
      assert.equal(error?.line, line);
    });

  it('in linear time', () => {
    const start = process.cpuUsage().user;
    for (const part of ['  a\n', 'a:\n ', '- - ', '{', '"', "a: '\n", ' |\n', '\t', 'a: b: ', '"a"\n'])
      parsePipeline('p.orch.yaml', part.repeat(50_000 / part.length));
    // A second; quadratic time would be minutes.
    assert.ok(process.cpuUsage().user - start < 10_000_000);
  });
});
