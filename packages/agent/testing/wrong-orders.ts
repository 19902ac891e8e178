/** Test fixture: invalid files, types, transitions, iterators and sources, each with the expected message. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import { grid, start, text } from '../src/engine/run/pipeline-fixture.ts';
import { around, done, flow, lines, one, output, script, type WrongPipeline } from './wrong-pipeline.ts';

const saying = (from: string, to: string) => ({
  'main.orch.yaml': lines({ Start: start('Effect'), Effect: script() }).replace(from, to),
});

export const wrongOrders: WrongPipeline[] = [
  {
    what: 'misspelled "components"',
    code: 'syntax-error',
    files: saying('components:', 'component:'),
    says: /main\.orch\.yaml, line 4: the pipeline cannot be read: .*"pipeline" has no member "component": did you mean "components"\?/,
  },
  {
    what: 'misspelled "variables"',
    code: 'syntax-error',
    files: saying('variables:', 'variable:'),
    says: /"pipeline" has no member "variable": did you mean "variables"\?/,
  },
  {
    what: 'a misspelled member at the top',
    code: 'syntax-error',
    files: saying('version:', 'verion:'),
    says: /main\.orch\.yaml, line 2: .*the file has no member "verion": did you mean "version"\?/,
  },
  {
    what: 'another version of the format',
    code: 'syntax-error',
    files: saying('"1.0"', '"2.0"'),
    says: /main\.orch\.yaml, line 2: .*"version" is "2\.0": use "1\.0", the only supported version/,
  },
  {
    what: 'a component that is skipped "Yess"',
    code: 'syntax-error',
    files: around({ ...script('select 1'), skipped: 'Yess' }),
    says: /line 7: .*skipped" is "yess": use true or false/,
  },
  {
    what: 'a transition that leads nowhere',
    code: 'dangling-transition',
    files: around({ ...script('select 1'), transitions: { success: ['Don'] } }),
    says: /main\.orch\.yaml, line 7, component "Bad": the transition "success" leads to "Don".*did you mean "Done"\?/,
  },
  {
    what: 'a cycle of transitions',
    code: 'transition-cycle',
    files: around({ ...script('select 1'), transitions: { success: ['Effect'], failure: [] } }),
    says: /main\.orch\.yaml, line 6, component "Effect": .*endless cycle: Effect → Bad → Effect.*iterator/,
  },
  {
    what: 'a component that leads to itself',
    code: 'transition-cycle',
    files: around({ ...script('select 1'), transitions: { success: ['Bad'], failure: [] } }),
    says: /line 7, component "Bad": .*Bad → Bad/,
  },
  {
    what: 'a pipeline file that the upload ignored',
    code: 'missing-pipeline',
    files: around({ type: 'run-orchestration', parameters: { orchestrationJob: 'child' } }),
    ignored: { 'child.orch.yaml': { reason: 'line 3, column 9: "pipeline" must be a map', line: 3 } },
    says: /line 7, component "Bad": the called pipeline child\.orch\.yaml cannot be read: line 3, column 9.*correct that file/,
  },
  {
    what: 'a called pipeline that cannot be read',
    code: 'missing-pipeline',
    files: {
      ...around({ type: 'run-orchestration', parameters: { orchestrationJob: 'child' } }),
      'child.orch.yaml': 'type: [\n',
    },
    says: /line 7, component "Bad": the called pipeline child\.orch\.yaml cannot be read: line \d+, column \d+/,
  },
  {
    what: 'a started pipeline that cannot be read',
    code: 'syntax-error',
    files: { 'main.orch.yaml': 'type: orchestration\npipeline: [\n' },
    says: /main\.orch\.yaml, line 2: the pipeline cannot be read: .*correct the file/,
  },
  {
    what: 'an unknown type whose failure is handled',
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
    says: /line 7, component "Bad": .*belongs in a pipeline of type transformation.*move the component/,
  },
  {
    what: 'a misspelled member, which hides the components after it',
    code: 'misspelled-member',
    files: around({ ...script('select 1'), transitons: { success: ['Lost'] } }, { Lost: script() }),
    says: /line 7, component "Bad": a component has no "transitons": did you mean "transitions"\?/,
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
    what: 'true on a component that is not an if',
    code: 'transition-not-allowed',
    files: around({ ...script('select 1'), transitions: { true: ['Done'] } }),
    says: /line 7, component "Bad": sql-script has no transition "true", only an if has: use success/,
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
    says: /line 10, component "Target": the iterator "Bad".*add the transition to the iterator instead/,
  },
  {
    what: 'an and that waits for a component that never runs',
    code: 'unstartable-and',
    files: around(
      { type: 'and', parameters: {} },
      { Lost: script('select 1', { transitions: { success: ['Bad'] } }) },
    ),
    says: /line 7, component "Bad": the and never starts, because it waits for "Lost", which never runs/,
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
    says: /line 9, component "Both": the and never starts, because it waits for several branches of "If", but only one of them is taken/,
  },
  {
    what: 'an iterator without a target',
    code: 'missing-iteration-target',
    files: around(
      { type: 'grid-iterator', parameters: { gridVariable: 'g', gridIteratorVariableMapping: [['a', 'x']] } },
      {},
      { g: grid({ a: 'TEXT' }, []), x: text('') },
    ),
    says: /line 7, component "Bad": the iterator has no iterationTarget: name the component/,
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
    says: /line 7, component "Bad": the iterationTarget "Handle".*did you mean "Handled"\?/,
  },
  ...['end-failure', 'end-success', 'start', 'and', 'or'].map((type) => ({
    what: `an iterator whose target is of type ${type}`,
    code: 'iteration-target-not-allowed' as const,
    files: around(
      {
        type: 'grid-iterator',
        iterationTarget: 'Target',
        parameters: { gridVariable: 'g', gridIteratorVariableMapping: [['a', 'x']] },
      },
      { Target: { type, parameters: {} } },
      { g: grid({ a: 'TEXT' }, [['1']]), x: text('') },
    ),
    says:
      type === 'start' ? /keep one/ : new RegExp(`line 7, .*"Target" is of type ${type}, which does nothing`),
  })),
  {
    what: 'an iterationTarget of a component that is not an iterator',
    code: 'iteration-target-not-allowed',
    files: around({ ...script('select 1'), iterationTarget: 'Handled' }),
    says: /line 7, component "Bad": sql-script is not an iterator.*use a transition instead/,
  },
  {
    what: 'concurrent iterations over a SHARED variable',
    code: 'shared-iterator-variable',
    files: around(
      {
        type: 'grid-iterator',
        iterationTarget: 'Handled',
        parameters: {
          gridVariable: 'g',
          gridIteratorVariableMapping: [['a', 'x']],
          concurrency: 'Concurrent',
        },
      },
      {},
      { g: grid({ a: 'TEXT' }, [['1']]), x: text('', 'SHARED') },
    ),
    says: /line 7, component "Bad": concurrent iterations overwrite the SHARED variable "x": make it COPIED/,
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
    says: /line 7, component "Bad": the iterators form a cycle: Bad → Bad/,
  },
  {
    what: 'a missing source',
    code: 'dangling-source',
    files: flow({ One: one, Out: output('Ones') }),
    says: /flow\.tran\.yaml, line 1, component "Out": the source "Ones".*did you mean "One"\?/,
  },
  {
    what: 'too few sources',
    code: 'source-count',
    files: flow({ One: one, Out: output() }),
    says: /flow\.tran\.yaml, line 1, component "Out": the component has 0 sources but takes 1: change the list of its sources/,
  },
  {
    what: 'a cycle of sources',
    code: 'source-cycle',
    files: flow({
      A: { type: 'filter', sources: ['B'], parameters: { filterConditions: [['a', 'Is', 'Null', '']] } },
      B: { type: 'filter', sources: ['A'], parameters: { filterConditions: [['a', 'Is', 'Null', '']] } },
      Out: output('B'),
    }),
    says: /flow\.tran\.yaml, line 1, component "A": the sources form a cycle: A → B → A: disconnect one/,
  },
];
