// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { validateProject } from './validate-project-fixture.ts';

type Components = Record<string, object>;
const file = (path: string, components: Components, variables: object = {}) => ({
  path,
  text: JSON.stringify({
    type: path.endsWith('.orch.yaml') ? 'orchestration' : 'transformation',
    pipeline: { components, variables },
  }),
});
const orch = (components: Components, variables?: object) => file('p.orch.yaml', components, variables);
const tran = (components: Components) => file('t.tran.yaml', components);
const start = (...success: string[]) => ({ type: 'start', transitions: { success } });
const say = (files: { path: string; text: string }[], variables?: string[]) =>
  validateProject(files, variables).map(
    ({ component, code, level }) => `${level} ${code} ${component ?? '-'}`,
  );
const grid = {
  metadata: { type: 'GRID', scope: 'SHARED', columns: { c: { columnType: 'TEXT' } } },
  defaultValue: [],
};
const variable = (scope: string, visibility = 'PUBLIC') => ({
  metadata: { type: 'TEXT', scope, visibility },
  defaultValue: '',
});

describe('validateProject', () => {
  it('reports nothing for a sound project', () => {
    const files = [
      orch({
        Start: start('Run'),
        Run: { type: 'run-transformation', parameters: { transformationJob: 't' } },
      }),
      tran({
        In: { type: 'table-input', parameters: { targetTable: 'x' } },
        Out: { type: 'rewrite-table', sources: ['In'], parameters: { targetTable: 'y' } },
      }),
      { path: 'README.md', text: '[not: yaml' },
    ];
    assert.deepEqual(say(files), []);
  });

  it('gives path, message and place of a file that cannot be read', () => {
    assert.deepEqual(validateProject([{ path: 'a.tran.yaml', text: 'type: transformation\n' }]), [
      {
        path: 'a.tran.yaml',
        line: 1,
        code: 'syntax-error',
        message:
          'the pipeline cannot be read: line 1, column 1: "pipeline" must be a map, but it is missing: correct the file',
        level: 'error',
      },
    ]);
  });

  const cases: [string, { path: string; text: string }[], string[]][] = [
    [
      'unknown types',
      [orch({ Start: start('A'), A: { type: 'vendor' } })],
      ['error unknown-component-type A'],
    ],
    [
      'unknown types that do not run as warnings',
      [
        orch({
          Start: start('A'),
          A: { type: 'vendor', skipped: 'Yes' },
          B: { type: 'vendor', transitions: { success: ['C'] } },
          C: { type: 'vendor' },
        }),
      ],
      [
        'warning unknown-component-type A',
        'warning unknown-component-type B',
        'warning unknown-component-type C',
        'warning unreachable-component B',
        'warning unreachable-component C',
      ],
    ],
    [
      'misplaced types',
      [orch({ Start: start('A'), A: { type: 'filter' } })],
      ['error component-type-misplaced A'],
    ],
    ['dangling transitions', [orch({ Start: start('Gone') })], ['error dangling-transition Start']],
    [
      'transitions that only an if has',
      [orch({ S: { type: 'start', transitions: { true: ['S'] } } })],
      ['error transition-not-allowed S'],
    ],
    ['no start', [orch({ A: { type: 'and' } })], ['error missing-start -']],
    ['two starts', [orch({ A: start(), B: start() })], ['error several-starts -']],
    [
      'components that no transition leads to',
      [orch({ S: start(), A: { type: 'or' } })],
      ['warning unreachable-component A'],
    ],
    [
      'missing parameters',
      [orch({ S: start('A'), A: { type: 'sql-script' } })],
      ['error missing-parameter A'],
    ],
    [
      'missing pipelines',
      [orch({ S: start('A'), A: { type: 'run-orchestration', parameters: { orchestrationJob: 'x' } } })],
      ['error missing-pipeline A'],
    ],
    [
      'a pipeline that calls itself',
      [
        orch({
          S: start('A'),
          A: { type: 'run-orchestration', parameters: { orchestrationJob: 'p.orch.yaml' } },
        }),
      ],
      ['error pipeline-calls-itself A'],
    ],
    [
      'a pipeline that calls itself under a condition',
      [
        orch({
          S: start('If'),
          If: { type: 'if', parameters: { mode: 'Advanced', condition1: '1' }, transitions: { true: ['A'] } },
          A: { type: 'run-orchestration', parameters: { orchestrationJob: 'p.orch.yaml' } },
        }),
      ],
      ['warning pipeline-calls-itself A'],
    ],
    [
      'undeclared variables',
      [
        orch(
          {
            S: start('A'),
            A: { type: 'sql-script', parameters: { sqlScript: 'select ${x}, ${known}, ${a.b}, ${project}' } },
          },
          { known: variable('COPIED') },
        ),
      ],
      ['error undeclared-variable A'],
    ],
    [
      'unknown secret references in any expression',
      [
        orch(
          {
            S: start('Script', 'If', 'Update'),
            Script: {
              type: 'sql-script',
              parameters: { sqlScript: "select '${secret(\"gone\")}', secret('of SQL'), ${x.secret('no')}" },
            },
            If: { type: 'if', parameters: { mode: 'Advanced', condition1: "secret('lake') != ''" } },
            Update: {
              type: 'end-success',
              parameters: {},
              postProcessing: { updateScalarVariables: [['known', '${secret(`lake`)}']] },
            },
          },
          { known: { ...variable('COPIED'), defaultValue: '${secret("default")}' } },
        ),
      ],
      ['-', 'Script', 'If', 'Update'].map((name) => `warning unknown-secret-reference ${name}`),
    ],
    [
      'undeclared variables named by components that read or set them',
      [
        orch(
          {
            S: start('If', 'Iterate', 'Print', 'Query', 'Update'),
            If: { type: 'if', parameters: { mode: 'Simple', condition: [['a', 'Is', 'Equal to', '1']] } },
            Advanced: {
              type: 'if',
              parameters: { mode: 'Advanced', condition: [['unused']], condition1: '1' },
            },
            Iterate: {
              type: 'grid-iterator',
              iterationTarget: 'Advanced',
              parameters: { gridVariable: 'b', gridIteratorVariableMapping: [['column', 'known']] },
            },
            Print: {
              type: 'print-variables',
              parameters: { variablesToPrint: [['c'], ['${d}'], ['known']] },
            },
            Query: {
              type: 'query-to-scalar',
              parameters: { mode: 'Advanced', query: 'q', scalarVariableMapping: [['e', 'column']] },
              postProcessing: { updateScalarVariables: [['f', '1']] },
            },
            Update: { type: 'update-scalar', parameters: { scalarsToUpdate: [['g', '1']] } },
          },
          { known: variable('COPIED') },
        ),
      ],
      [
        'error undeclared-variable Print',
        'error undeclared-variable If',
        'error undeclared-variable Iterate',
        'error undeclared-variable Print',
        'error undeclared-variable Query',
        'error undeclared-variable Query',
        'error undeclared-variable Update',
      ],
    ],
    [
      'missing files whose names are known',
      [
        orch({
          S: start('A', 'B', 'C'),
          A: {
            type: 'file-load',
            parameters: { source: 'data/gone.csv', fileType: 'CSV', targetTable: 't' },
          },
          B: { type: 'file-load', parameters: { source: 'data/in.csv', fileType: 'CSV', targetTable: 't' } },
          C: { type: 'file-load', parameters: { source: '${project}', fileType: 'CSV', targetTable: 't' } },
        }),
        { path: 'data/in.csv', text: 'a' },
      ],
      ['warning missing-file A'],
    ],
    [
      'unclosed expressions',
      [orch({ S: start('A'), A: { type: 'sql-script', parameters: { sqlScript: '${x' } } })],
      ['error unclosed-expression A'],
    ],
    [
      'malformed uses of shared pipelines',
      [
        orch({
          S: start('A', 'B', 'C'),
          A: {
            type: 'run-shared-pipeline',
            parameters: { sharedPipelineIdPrefix: '${project}', sharedPipeline: 'p' },
          },
          B: { type: 'run-shared-pipeline', parameters: { sharedPipeline: 'p' } },
          C: {
            type: 'run-shared-pipeline',
            parameters: { sharedPipelineIdPrefix: 'Checks', sharedPipeline: '${project}' },
          },
        }),
      ],
      ['error shared-pipeline-use A', 'error missing-parameter B'],
    ],
    [
      'more versions of shared pipelines than an execution may use',
      [
        orch({
          S: start(...Array.from({ length: 101 }, (_, index) => `A${index}`)),
          ...Object.fromEntries(
            Array.from({ length: 101 }, (_, index) => [
              `A${index}`,
              {
                type: 'run-shared-pipeline',
                parameters: { sharedPipelineIdPrefix: `Group ${index}`, sharedPipeline: 'p' },
              },
            ]),
          ),
        }),
      ],
      ['error shared-pipeline-use -'],
    ],
    [
      'PRIVATE variables that are set from outside',
      [
        orch({
          S: start('A'),
          A: {
            type: 'run-orchestration',
            parameters: { orchestrationJob: 'q', setScalarVariables: [['s', '1']] },
          },
        }),
        file('q.orch.yaml', { S: start() }, { s: variable('COPIED', 'PRIVATE') }),
      ],
      ['error private-variable A'],
    ],
    [
      'iterators without a target, and concurrent ones over SHARED variables',
      [
        orch(
          {
            S: start('A'),
            A: {
              type: 'grid-iterator',
              parameters: {
                gridVariable: 'g',
                gridIteratorVariableMapping: [['c', 's']],
                concurrency: 'Concurrent',
              },
            },
          },
          { s: variable('SHARED'), g: grid },
        ),
      ],
      ['error missing-iteration-target A', 'error shared-iterator-variable A'],
    ],
    [
      'sources that are unknown, too few, in a cycle, or without an output',
      [
        tran({
          A: { type: 'sql', sources: ['Gone'], parameters: { query: 'q' } },
          B: { type: 'rewrite-table', parameters: { targetTable: 't' } },
          C: { type: 'filter', sources: ['D'], parameters: { filterConditions: [['a', 'Is', 'Null']] } },
          D: { type: 'filter', sources: ['C'], parameters: { filterConditions: [['a', 'Is', 'Null']] } },
        }),
      ],
      [
        'warning dangling-source A',
        'error source-count B',
        'warning source-cycle C',
        'warning unused-component A',
        'warning unused-component C',
        'warning unused-component D',
      ],
    ],
    [
      'a transformation that writes nothing',
      [tran({ A: { type: 'sql', parameters: { query: 'q' } } })],
      ['warning missing-output -'],
    ],
    ['nothing for an empty canvas', [tran({}), orch({})], []],
  ];
  for (const [what, files, findings] of cases) {
    it(`reports ${what}`, () => assert.deepEqual(say(files, ['project']), findings));
  }
});
