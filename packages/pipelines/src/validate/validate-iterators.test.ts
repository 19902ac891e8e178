/** What the check before a run finds in iterators, grids and calls. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { validateProject } from '../check/validate-project-fixture.ts';

const scalar = (scope = 'COPIED') => ({ metadata: { type: 'TEXT', scope }, defaultValue: '' });
const grid = (...columns: string[]) => ({
  metadata: {
    type: 'GRID',
    columns: Object.fromEntries(columns.map((column) => [column, { columnType: 'TEXT' }])),
  },
  defaultValue: [],
});

/** The findings of one component after start, with a target for iterators. */
function find(component: object, variables: object = {}): string[] {
  const components = {
    Start: { type: 'start', transitions: { unconditional: ['It'] } },
    It: component,
    Do: { type: 'sql-script', parameters: { sqlScript: 'SELECT 1' } },
  };
  const target = 'iterationTarget' in component ? components : { Start: components.Start, It: component };
  const content = { type: 'orchestration', pipeline: { components: target, variables } };
  return validateProject([
    { path: 'main.orch.yaml', text: JSON.stringify(content) },
    { path: 'called.tran.yaml', text: JSON.stringify({ type: 'transformation', pipeline: {} }) },
  ]).map(({ code, message }) => `${code}: ${message}`);
}

const fixed = { variablesToIterate: ['x'], iterationValues: [['1']] };
const loop = { variableToIterate: 'x', startingValue: '1', incrementValue: '1', endValue: '2' };
const table = { mode: 'Advanced', query: 'SELECT 1 AS a', columnMapping1: [['a', 'x']] };
const file = { inputDataUrl1: 'in', variables: [['x', 'Filename']] };

const iterators: [type: string, parameters: object][] = [
  ['fixed-iterator', fixed],
  ['loop-iterator', loop],
  ['table-iterator', table],
  ['file-iterator', file],
];

for (const [type, parameters] of iterators) {
  describe(type, () => {
    it('is found right', () => {
      assert.deepEqual(find({ type, iterationTarget: 'Do', parameters }, { x: scalar() }), []);
    });
    it('needs a target', () => {
      const [first = ''] = find({ type, parameters }, { x: scalar() });
      assert.match(first, /^missing-iteration-target: /);
    });
    it('names a variable that is undeclared or a grid', () => {
      assert.match(find({ type, iterationTarget: 'Do', parameters }).join(), /^undeclared-variable: .*"x"/);
      const wrong = find({ type, iterationTarget: 'Do', parameters }, { x: grid('a') });
      assert.match(wrong.join(), /^variable-type: the variable "x" is GRID/);
    });
    it('refuses a SHARED variable that concurrent iterations set', () => {
      const concurrent = {
        type,
        iterationTarget: 'Do',
        parameters: { ...parameters, concurrency: 'Concurrent' },
      };
      assert.match(find(concurrent, { x: scalar('SHARED') }).join(), /^shared-iterator-variable: /);
    });
  });
}

describe('retry', () => {
  it('needs a target and whole numbers', () => {
    assert.deepEqual(
      find({ type: 'retry', iterationTarget: 'Do', parameters: { numberOfRetries: '2' } }),
      [],
    );
    const found = find({ type: 'retry', iterationTarget: 'Do', parameters: { numberOfRetries: 'two' } });
    assert.match(found.join(), /"numberOfRetries" must be a whole number, not "two"/);
  });
});

describe('components of grids', () => {
  it('name columns that the grid lacks', () => {
    const variables = { g: grid('a', 'b') };
    const query = { mode: 'Advanced', query: 'SELECT 1 AS x', gridVariable: 'g' };
    assert.match(
      find(
        { type: 'query-to-grid', parameters: { ...query, gridVariableMapping: [['x', 'c']] } },
        variables,
      ).join(),
      /^variable-type: the grid variable "g" has no column "c": use one of a, b$/,
    );
    const remove = {
      targetGridVariable: 'g',
      operation: 'In',
      keyColumns: ['a', 'x'],
      valuesGrid: [['1', '2']],
    };
    assert.match(find({ type: 'remove-from-grid', parameters: remove }, variables).join(), /no column "x"/);
  });

  it('do nothing with an empty list', () => {
    const variables = { g: grid('a') };
    const append = { targetGridVariable: 'g', operation: 'Append', valuesGrid: [] };
    assert.match(
      find({ type: 'append-to-grid', parameters: append }, variables).join(),
      /^no-effect: "valuesGrid" is empty/,
    );
    assert.match(
      find({ type: 'delete-tables', parameters: { targetTable: [] } }).join(),
      /^invalid-parameter: "targetTable" is empty: name a table$/,
    );
  });
});

describe('sql-executor', () => {
  it('asks for its file, and does not read expressions that it leaves as they are', () => {
    const parameters = { scriptLocation: 'File', fileName: 'nix.sql' };
    assert.match(find({ type: 'sql-executor', parameters }).join(), /^missing-file: .*nix.sql/);
    const literal = { sqlScript: 'SELECT ${nix', enableVariableResolution: 'No' };
    assert.deepEqual(find({ type: 'sql-executor', parameters: literal }), []);
    const resolved = find({
      type: 'sql-executor',
      parameters: { ...literal, enableVariableResolution: 'Yes' },
    });
    assert.match(resolved.join(), /^unclosed-expression: /);
  });
});

describe('run-transformation', () => {
  it('may be named by a link', () => {
    const call = (pipelineName: string) =>
      find({ type: 'run-transformation', parameters: { transformationPipelineLink: { pipelineName } } });
    assert.deepEqual(call('called'), []);
    assert.match(call('nix').join(), /^missing-pipeline: .*nix/);
    assert.match(
      find({ type: 'run-transformation', parameters: {} }).join(),
      /^missing-parameter: .*"transformationJob"/,
    );
  });
});

describe('an unknown type', () => {
  it('is refused with the nearest type, or with what it is', () => {
    assert.match(find({ type: 'table-iterater', parameters: {} }).join(), /did you mean "table-iterator"\?/);
    assert.match(
      find({ type: 'unknown-orchestration', parameters: { '20': 'Excel' } }).join(),
      /^unknown-component-type: .*\(once "Excel"\) is an unmigrated component/,
    );
  });
});
