import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePipeline } from './parse.ts';
import type { Orchestration } from './pipeline.ts';

const orchestration = `
type: "orchestration"
version: "1.0"
pipeline:
  components:
    Start:
      type: "start"
      transitions:
        unconditional:
        - "Load the file"
      skipped: false
      parameters:
        componentName: "Start"
    Load the file:
      type: "file-load"
      skipped: Yes
      parameters:
        rate: 1.10
      postProcessing:
        updateScalarVariables:
        - - "rows"
          - "\${sysvar.thisComponent.rowCount}"
  variables:
    rows:
      metadata: { type: "NUMBER", description: "", scope: "SHARED", visibility: "PRIVATE" }
      defaultValue: "0"
    files:
      metadata: { type: "GRID", description: "", columns: { name: { columnType: "TEXT" }, size: { columnType: "NUMBER" } } }
      defaultValue: [["a", "1"]]
design:
  components: {}
`;

describe('the version of a file', () => {
  for (const version of ['version:', 'version: ', 'version: 1', 'version: "1"', 'version: 1.0', ''])
    it(`${version || 'none'} is read as 1.0`, () =>
      assert.equal(read(orchestration.replace('version: "1.0"', version)).version, '1.0'));
});

function read(text: string, path = 'p.orch.yaml'): Orchestration {
  const { pipeline, error } = parsePipeline(path, text);
  assert.equal(error, undefined);
  return pipeline as Orchestration;
}
function errorOf(text: string, path = 'p.orch.yaml') {
  const { error } = parsePipeline(path, text);
  assert.ok(error);
  return error;
}

describe('parsePipeline', () => {
  it('names the pipeline by its path without the extension', () => {
    assert.equal(read(orchestration, 'load daily/Main file.orch.yaml').name, 'load daily/Main file');
  });

  it('reads components, transitions and post-processing', () => {
    const { components } = read(orchestration);
    assert.deepEqual(components.get('Start')?.transitions.unconditional, ['Load the file']);
    const load = components.get('Load the file');
    assert.equal(load?.skipped, true);
    assert.deepEqual(load?.updateScalarVariables, [['rows', `\${sysvar.thisComponent.rowCount}`]]);
  });

  it('keeps a number as it was written', () => {
    assert.equal(read(orchestration).components.get('Load the file')?.parameters.rate, '1.10');
  });

  it('reads variables; COPIED and PUBLIC are the defaults', () => {
    const { variables } = read(orchestration);
    assert.deepEqual(variables.get('rows'), {
      name: 'rows',
      type: 'NUMBER',
      behaviour: 'SHARED',
      visibility: 'PRIVATE',
      columns: [],
      defaultValue: '0',
    });
    const files = variables.get('files');
    assert.deepEqual([files?.behaviour, files?.visibility], ['COPIED', 'PUBLIC']);
    assert.deepEqual(files?.columns, [
      { name: 'name', type: 'TEXT' },
      { name: 'size', type: 'NUMBER' },
    ]);
  });

  it('reads the description from the notes and ignores malformed notes', () => {
    const design = {
      notes: { b: { content: ' first ' }, a: { content: 'second' }, c: 'x', d: { content: '' } },
    };
    const text = JSON.stringify({ type: 'orchestration', pipeline: { components: {} }, design });
    assert.equal(read(text).description, 'first\n\nsecond');
    assert.equal(read(text.replace('"notes"', '"other"')).description, '');
    const long = read(text.replace('second', 'x'.repeat(2_000))).description;
    assert.equal(long.length, 1_000);
    assert.ok(long.endsWith('x…'));
    assert.equal(read(text.replace('second', '\\u0000a\\ud800')).description, 'first\n\na\ufffd');
  });

  it('follows aliases', () => {
    const text = 'type: orchestration\npipeline:\n  components:\n    A: &a { type: start }\n    B: *a\n';
    assert.equal(read(text).components.get('B')?.type, 'start');
  });

  it('gives file, line and column of an error', () => {
    assert.deepEqual(
      errorOf(
        'type: orchestration\npipeline:\n  components:\n    A:\n      parameters: {}\n',
        'x/p.orch.yaml',
      ),
      {
        file: 'x/p.orch.yaml',
        line: 4,
        column: 5,
        message: '"pipeline.components.A.type" must be a text, but it is missing',
      },
    );
    assert.equal(errorOf('type: orchestration\npipeline: [\n').line, 2);
  });

  it('refuses a duplicate key', () => {
    const { line, message } = errorOf(
      'type: orchestration\npipeline:\n  components: {}\ntype: orchestration\n',
    );
    assert.deepEqual(
      [line, message],
      [4, 'the key "type" occurs twice, first in line 1: rename or remove one of them'],
    );
  });

  it('refuses a type that contradicts the file name', () => {
    assert.match(errorOf(orchestration, 'p.tran.yaml').message, /the file name ends in \.tran\.yaml/);
  });

  it('reads a key called __proto__ like any other key', () => {
    const { components } = read(
      'type: orchestration\npipeline: { components: { __proto__: { type: start } } }',
    );
    assert.deepEqual([...components.keys()], ['__proto__']);
  });
});

describe('hostile files are refused quickly', () => {
  const laughs = Array.from(
    { length: 20 },
    (_, level) => `a${level + 1}: &a${level + 1} [${`*a${level},`.repeat(9)}]`,
  );
  const bombs: Record<string, [string, RegExp]> = {
    'a billion laughs': [`a0: &a0 ha\n${laughs.join('\n')}\n`, /more than 100 aliases/],
    'an alias of itself': ['a: &a [*a]\n', /nested deeper than 50|more than 100 aliases/],
    'lists in lists': ['['.repeat(500_000), /nested deeper than 50/],
    'lists in lists on one line': [`${'- '.repeat(400_000)}a`, /nested deeper than 50/],
    'maps in maps': [
      Array.from({ length: 500 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
      /nested deeper than 50/,
    ],
    anchors: [`${'&a '.repeat(100_000)}x`, /more than 100 aliases/],
    'a large file': [`# ${'x'.repeat(1_048_576)}`, /larger than 1048576 bytes/],
    'many components': [
      `type: orchestration\npipeline:\n  components:\n${Array.from({ length: 2_001 }, (_, n) => `    c${n}: {type: and}`).join('\n')}`,
      /2001 components; the limit is 2000/,
    ],
    'many variables': [
      `type: orchestration\npipeline:\n  components: {}\n  variables:\n${Array.from({ length: 1_001 }, (_, n) => `    v${n}: {metadata: {type: TEXT}}`).join('\n')}`,
      /1001 variables; the limit is 1000/,
    ],
    'a variable with a long name': [
      `type: orchestration\npipeline:\n  components: {}\n  variables:\n    ${'v'.repeat(1_000)}: {metadata: {type: TEXT}}`,
      /a variable's name must have 1 to 255 characters/,
    ],
  };
  for (const [what, [text, message]] of Object.entries(bombs)) {
    it(what, () => {
      const began = process.threadCpuUsage();
      assert.match(errorOf(text).message, message);
      assert.ok(process.threadCpuUsage(began).user < 20_000_000);
    });
  }
});
