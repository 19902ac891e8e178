/**
 * For the engine's tests: pipelines that are wrong, each with what its run says. `Bad` is the component that is wrong; `Handled` would take up
 * its failure, so that the run would end in SUCCESS if it started.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import type { FindingCode } from '@headgate/pipelines';
import { grid, number, orchestration, start, text, transformation } from './pipeline-fixture.ts';

export interface WrongPipeline {
  what: string;
  code: FindingCode;
  files: Record<string, string>;
  /** Pipeline files that the upload left out, with the reasons. */
  ignored?: Record<string, string>;
  warehouse?: string;
  /** What was chosen for uses of shared pipelines: files, or a fault. */
  shared?: { prefix: string; chosen: { versionName: string; files: Record<string, string> } | string };
  /** With the file and the line. */
  says: RegExp;
}

type Component = Record<string, unknown>;
const handled = { type: 'print-variables', parameters: { variablesToPrint: [] } };
const done = { type: 'end-success', parameters: {} };
const script = (sqlScript = 'create table effect as select 1', more: Component = {}) => ({
  type: 'sql-script',
  parameters: { sqlScript },
  ...more,
});

/** Start has an effect; then comes `Bad`, whose failure is taken up. */
function around(
  bad: Component,
  others: Record<string, Component> = {},
  variables: object = {},
): Record<string, string> {
  const transitions = { success: ['Done'], failure: ['Handled'], ...(bad.transitions as object | undefined) };
  return {
    'main.orch.yaml': lines(
      {
        Start: start('Effect'),
        Effect: script(undefined, { transitions: { success: ['Bad'] } }),
        Bad: { ...bad, transitions },
        Handled: handled,
        Done: done,
        ...others,
      },
      variables,
    ),
  };
}

/** One component a line, so that the place of a fault can be told: the first is in line 5. */
function lines(components: Record<string, Component>, variables: object = {}): string {
  const body = Object.entries(components).map(
    ([name, each]) => `    ${JSON.stringify(name)}: ${JSON.stringify(each)}`,
  );
  return [
    'type: orchestration',
    'version: "1.0"',
    'pipeline:',
    '  components:',
    ...body,
    `  variables: ${JSON.stringify(variables)}`,
  ].join('\n');
}

function flow(components: Record<string, Component>): Record<string, string> {
  const call = { type: 'run-transformation', parameters: { transformationJob: 'flow' } };
  const body = transformation(components);
  return { ...around(call), 'flow.tran.yaml': body };
}
const one = { type: 'sql', parameters: { query: 'select 1 as a' } };
const output = (...sources: string[]) => ({
  type: 'rewrite-table',
  sources,
  parameters: { targetTable: 'out' },
});

export const wrongPipelines: WrongPipeline[] = [
  {
    what: 'a transition that leads nowhere',
    code: 'dangling-transition',
    files: around({ ...script('select 1'), transitions: { success: ['Don'] } }),
    says: /main\.orch\.yaml, line 7, component "Bad": the transition "success" leads to "Don".*did you mean "Done"\?/,
  },
  {
    what: 'transitions that go round',
    code: 'transition-cycle',
    files: around({ ...script('select 1'), transitions: { success: ['Effect'], failure: [] } }),
    says: /main\.orch\.yaml, line 6, component "Effect": .*circle without an end: Effect → Bad → Effect.*iterator/,
  },
  {
    what: 'a component that leads to itself',
    code: 'transition-cycle',
    files: around({ ...script('select 1'), transitions: { success: ['Bad'], failure: [] } }),
    says: /line 7, component "Bad": .*Bad → Bad/,
  },
  {
    what: 'a pipeline file that the upload left out',
    code: 'missing-pipeline',
    files: around({ type: 'run-orchestration', parameters: { orchestrationJob: 'child' } }),
    ignored: { 'child.orch.yaml': 'line 3, column 9: "pipeline" must be a map' },
    says: /line 7, component "Bad": the pipeline child\.orch\.yaml cannot be read: line 3, column 9.*correct that file/,
  },
  {
    what: 'a called pipeline that cannot be read',
    code: 'missing-pipeline',
    files: {
      ...around({ type: 'run-orchestration', parameters: { orchestrationJob: 'child' } }),
      'child.orch.yaml': 'type: [\n',
    },
    says: /line 7, component "Bad": the pipeline child\.orch\.yaml cannot be read: line \d+, column \d+/,
  },
  {
    what: 'a started pipeline that cannot be read',
    code: 'syntax-error',
    files: { 'main.orch.yaml': 'type: orchestration\npipeline: [\n' },
    says: /main\.orch\.yaml, line 3: the pipeline cannot be read: .*correct the file/,
  },
  {
    what: 'an unknown type whose failure is taken up',
    code: 'unknown-component-type',
    files: around({ type: 'sql-scrip', parameters: {} }),
    says: /main\.orch\.yaml, line 7, component "Bad": .*"sql-scrip".*did you mean "sql-script"\?/,
  },
  {
    what: 'an unknown type in a transformation',
    code: 'unknown-component-type',
    files: flow({ Odd: { type: 'vendor-thing', parameters: {} }, One: one, Out: output('One') }),
    says: /flow\.tran\.yaml, line 1, component "Odd": .*replace the component or skip it/,
  },
  {
    what: 'a type of the other kind of pipeline',
    code: 'component-type-misplaced',
    files: around({ type: 'filter', parameters: {} }),
    says: /line 7, component "Bad": .*belongs in a pipeline of type transformation.*move it/,
  },
  {
    what: 'no start',
    code: 'missing-start',
    files: { 'main.orch.yaml': lines({ A: script() }) },
    says: /main\.orch\.yaml, line 4: .*add one/,
  },
  {
    what: 'two starts',
    code: 'several-starts',
    files: { 'main.orch.yaml': lines({ A: start('C'), B: start('C'), C: script() }) },
    says: /main\.orch\.yaml, line 4: .*"A", "B".*keep one/,
  },
  {
    what: 'true on a component that is no if',
    code: 'transition-not-allowed',
    files: around({ ...script('select 1'), transitions: { true: ['Done'] } }),
    says: /line 7, component "Bad": only an if has a transition "true".*use success/,
  },
  {
    what: 'a component after the end',
    code: 'transition-not-allowed',
    files: around(script('select 1'), { Done: { ...done, transitions: { success: ['Handled'] } } }),
    says: /line 9, component "Done": nothing runs after end-success/,
  },
  {
    what: 'a component after the target of an iterator',
    code: 'transition-not-allowed',
    files: around(
      {
        type: 'grid-iterator',
        iterationTarget: 'Target',
        parameters: { gridVariable: 'g', gridIteratorVariableMapping: [['a', 'x']] },
      },
      { Target: script('select 1', { transitions: { success: ['Handled'] } }) },
      { g: grid({ a: 'TEXT' }, []), x: text('') },
    ),
    says: /line 10, component "Target": the iterator "Bad".*connect the iterator instead/,
  },
  {
    what: 'an and that waits for what never runs',
    code: 'unstartable-and',
    files: around(
      { type: 'and', parameters: {} },
      { Lost: script('select 1', { transitions: { success: ['Bad'] } }) },
    ),
    says: /line 7, component "Bad": it never starts, since it waits for "Lost", which never runs/,
  },
  {
    what: 'an and that waits for both branches of an if',
    code: 'unstartable-and',
    files: {
      'main.orch.yaml': lines({
        Start: start('If'),
        If: {
          type: 'if',
          parameters: { mode: 'Advanced', condition1: '1 == 1' },
          transitions: { true: ['Left'], false: ['Right'] },
        },
        Left: script(undefined, { transitions: { success: ['Both'] } }),
        Right: script('select 1', { transitions: { success: ['Both'] } }),
        Both: { type: 'and', parameters: {}, transitions: { success: ['Done'] } },
        Done: done,
      }),
    },
    says: /line 9, component "Both": it never starts, since it waits for branches of "If" of which only one is taken/,
  },
  {
    what: 'an iterator without a target',
    code: 'missing-iteration-target',
    files: around(
      { type: 'grid-iterator', parameters: { gridVariable: 'g', gridIteratorVariableMapping: [['a', 'x']] } },
      {},
      { g: grid({ a: 'TEXT' }, []), x: text('') },
    ),
    says: /line 7, component "Bad": it has no iterationTarget: connect/,
  },
  {
    what: 'an iterator whose target does not exist',
    code: 'missing-iteration-target',
    files: around(
      {
        type: 'grid-iterator',
        iterationTarget: 'Handle',
        parameters: { gridVariable: 'g', gridIteratorVariableMapping: [['a', 'x']] },
      },
      {},
      { g: grid({ a: 'TEXT' }, []), x: text('') },
    ),
    says: /line 7, component "Bad": its iterationTarget "Handle".*did you mean "Handled"\?/,
  },
  {
    what: 'an iteration target of what is no iterator',
    code: 'iteration-target-not-allowed',
    files: around({ ...script('select 1'), iterationTarget: 'Handled' }),
    says: /line 7, component "Bad": sql-script is no iterator.*connect it by a transition/,
  },
  {
    what: 'iterators that run each other',
    code: 'iteration-cycle',
    files: around(
      {
        type: 'grid-iterator',
        iterationTarget: 'Bad',
        parameters: { gridVariable: 'g', gridIteratorVariableMapping: [['a', 'x']] },
      },
      {},
      { g: grid({ a: 'TEXT' }, []), x: text('') },
    ),
    says: /line 7, component "Bad": iterators run each other in a circle: Bad → Bad/,
  },
  {
    what: 'a source that is not there',
    code: 'dangling-source',
    files: flow({ One: one, Out: output('Ones') }),
    says: /flow\.tran\.yaml, line 1, component "Out": its source "Ones".*did you mean "One"\?/,
  },
  {
    what: 'too few sources',
    code: 'source-count',
    files: flow({ One: one, Out: output() }),
    says: /flow\.tran\.yaml, line 1, component "Out": it has 0 sources and takes 1: connect some/,
  },
  {
    what: 'sources that go round',
    code: 'source-cycle',
    files: flow({
      A: { type: 'filter', sources: ['B'], parameters: { filterConditions: [['a', 'Is', 'Null', '']] } },
      B: { type: 'filter', sources: ['A'], parameters: { filterConditions: [['a', 'Is', 'Null', '']] } },
      Out: output('B'),
    }),
    says: /flow\.tran\.yaml, line 1, component "A": the sources go round in a circle: A → B → A: disconnect one/,
  },
  {
    what: 'a transformation that writes nothing',
    code: 'missing-output',
    files: flow({ One: one }),
    says: /flow\.tran\.yaml, line 1: the transformation writes nothing: add/,
  },
  {
    what: 'a parameter that is missing',
    code: 'missing-parameter',
    files: around({ type: 'sql-script', parameters: {} }),
    says: /line 7, component "Bad": the parameter "sqlScript" is missing: fill it in/,
  },
  {
    what: 'a parameter that another one makes necessary',
    code: 'missing-parameter',
    files: around(
      { type: 'query-to-scalar', parameters: { mode: 'Advanced', scalarVariableMapping: [['x', 'a']] } },
      {},
      { x: text('') },
    ),
    says: /line 7, component "Bad": the parameter "query" is missing: fill it in/,
  },
  {
    what: 'a word that a parameter does not know',
    code: 'invalid-parameter',
    files: around(
      {
        type: 'create-table',
        parameters: { newTableName: '${project}', createReplace: 'Replac', columns: [['a', 'TEXT']] },
      },
      {},
      { project: text('t') },
    ),
    says: /line 7, component "Bad": "createReplace" is "Replac"; it can be Create, Replace.*did you mean "Replace"\?/,
  },
  {
    what: 'a type of column that does not exist',
    code: 'invalid-parameter',
    files: around({ type: 'create-table', parameters: { newTableName: 't', columns: [['a', 'TEXTT']] } }),
    says: /line 7, component "Bad": .*TEXTT/,
  },
  {
    what: 'a comparator that does not exist',
    code: 'invalid-parameter',
    files: around(
      { type: 'if', parameters: { mode: 'Simple', condition: [['x', 'Is', 'Equal', 'a']] } },
      {},
      { x: text('') },
    ),
    says: /line 7, component "Bad": "Equal" is no comparator; there are/,
  },
  {
    what: 'a component of a transformation with a word that it does not know',
    code: 'invalid-parameter',
    files: flow({
      One: one,
      Sums: { type: 'aggregate', sources: ['One'], parameters: { aggregations: [['a', 'Summ']] } },
      Out: output('Sums'),
    }),
    says: /flow\.tran\.yaml, line 1, component "Sums": "Summ" is no aggregation; there are/,
  },
  {
    what: 'a default value that its variable cannot hold',
    code: 'invalid-default-value',
    files: {
      ...around({ type: 'run-orchestration', parameters: { orchestrationJob: 'child' } }),
      'child.orch.yaml': orchestration({ Start: start() }, { n: number('many') }),
    },
    says: /child\.orch\.yaml, line 1: the default value does not fit: .*"n".*correct it/,
  },
  {
    what: 'a called pipeline that is not there',
    code: 'missing-pipeline',
    files: {
      ...around({ type: 'run-orchestration', parameters: { orchestrationJob: 'chidl' } }),
      'child.orch.yaml': orchestration({ Start: start() }),
    },
    says: /line 7, component "Bad": the pipeline chidl\.orch\.yaml is not in the project: did you mean "child\.orch\.yaml"\?/,
  },
  {
    what: 'a fault in a pipeline that is called by one that is called',
    code: 'dangling-transition',
    files: {
      ...around({ type: 'run-orchestration', parameters: { orchestrationJob: 'child' } }),
      'child.orch.yaml': orchestration({
        Start: start('Inner'),
        Inner: { type: 'run-orchestration', parameters: { orchestrationJob: 'inner' } },
      }),
      'inner.orch.yaml': orchestration({ Start: start('Gone') }),
    },
    says: /inner\.orch\.yaml, line 1, component "Start": the transition "unconditional" leads to "Gone"/,
  },
  {
    what: 'a pipeline that calls itself without an end',
    code: 'pipeline-calls-itself',
    files: around({ type: 'run-orchestration', parameters: { orchestrationJob: 'main' } }),
    says: /main\.orch\.yaml, line 7, component "Bad": the pipeline calls itself without an end: main\.orch\.yaml → main\.orch\.yaml: let an if/,
  },
  {
    what: 'a use of shared pipelines that no start can make sense of',
    code: 'shared-pipeline-use',
    files: around(
      { type: 'run-shared-pipeline', parameters: { sharedPipelineIdPrefix: '${x}', sharedPipeline: 'p' } },
      {},
      { x: text('') },
    ),
    says: /line 7, component "Bad": "sharedPipelineIdPrefix" cannot be an expression.*write the name out/,
  },
  {
    what: 'a group of shared pipelines that is not there',
    code: 'missing-shared-pipeline',
    files: around({
      type: 'run-shared-pipeline',
      parameters: { sharedPipelineIdPrefix: 'Checks', sharedPipeline: 'p' },
    }),
    shared: { prefix: 'Checks', chosen: 'the account has no shared pipelines "Checks": publish them' },
    says: /line 7, component "Bad": the account has no shared pipelines "Checks": publish them/,
  },
  {
    what: 'a shared pipeline that its group does not have',
    code: 'missing-shared-pipeline',
    files: around({
      type: 'run-shared-pipeline',
      parameters: { sharedPipelineIdPrefix: 'Checks', sharedPipeline: 'chek' },
    }),
    shared: {
      prefix: 'Checks',
      chosen: { versionName: '1', files: { 'check.orch.yaml': orchestration({ S: start() }) } },
    },
    says: /line 7, component "Bad": version "1" of the shared pipelines "Checks" holds no pipeline "chek": did you mean "check"\?/,
  },
  {
    what: 'a fault in a shared pipeline',
    code: 'dangling-transition',
    files: around({
      type: 'run-shared-pipeline',
      parameters: { sharedPipelineIdPrefix: 'Checks', sharedPipeline: 'check' },
    }),
    shared: {
      prefix: 'Checks',
      chosen: { versionName: '1', files: { 'check.orch.yaml': orchestration({ S: start('Gone') }) } },
    },
    says: /Checks\/check\.orch\.yaml, line 1, component "S": the transition "unconditional" leads to "Gone"/,
  },
  {
    what: 'a variable that nothing declares',
    code: 'undeclared-variable',
    files: around(script('select ${cty}'), {}, { city: text('Oslo') }),
    says: /line 7, component "Bad": the pipeline declares no variable "cty": did you mean "city"\?/,
  },
  {
    what: 'a value for a variable that the called pipeline does not have',
    code: 'undeclared-variable',
    files: {
      ...around({
        type: 'run-orchestration',
        parameters: { orchestrationJob: 'child', setScalarVariables: [['nme', 'x']] },
      }),
      'child.orch.yaml': orchestration({ Start: start() }, { name: text('') }),
    },
    says: /line 7, component "Bad": the pipeline declares no variable "nme": did you mean "name"\?/,
  },
  {
    what: 'a scalar where a grid is needed',
    code: 'variable-type',
    files: around(
      {
        type: 'grid-iterator',
        iterationTarget: 'Target',
        parameters: { gridVariable: 'g', gridIteratorVariableMapping: [['a', 'x']] },
      },
      { Target: script('select 1') },
      { g: text(''), x: text('') },
    ),
    says: /line 7, component "Bad": the variable "g" is TEXT: name a grid variable/,
  },
  {
    what: 'a column that a grid does not have',
    code: 'variable-type',
    files: around(
      {
        type: 'grid-iterator',
        iterationTarget: 'Target',
        parameters: { gridVariable: 'g', gridIteratorVariableMapping: [['b', 'x']] },
      },
      { Target: script('select 1') },
      { g: grid({ a: 'TEXT' }, []), x: text('') },
    ),
    says: /line 7, component "Bad": the grid variable "g" has no column "b": name one of a/,
  },
  {
    what: 'a PRIVATE variable that is set from outside',
    code: 'private-variable',
    files: {
      ...around({
        type: 'run-orchestration',
        parameters: { orchestrationJob: 'child', setScalarVariables: [['mine', 'x']] },
      }),
      'child.orch.yaml': orchestration({ Start: start() }, { mine: text('', 'COPIED', 'PRIVATE') }),
    },
    says: /line 7, component "Bad": "mine" is PRIVATE in child\.orch\.yaml.*make it PUBLIC/,
  },
  {
    what: 'an expression without an end',
    code: 'unclosed-expression',
    files: around(script('select ${x'), {}, { x: text('') }),
    says: /line 7, component "Bad": "\$\{" without its "\}" in: \$\{x: close it/,
  },
  {
    what: 'a pipeline that needs a warehouse in a project of one that cannot be used',
    code: 'warehouse-not-supported',
    files: around(script('select 1')),
    warehouse: 'SNOWFLAKE',
    says: /line 6, component "Effect": sql-script needs the project's warehouse, which is SNOWFLAKE; this version runs pipelines in DUCKDB only/,
  },
];
