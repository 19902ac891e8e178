/** For the engine's tests: parameters that decide nothing or do nothing, each with what its run says. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import { number, renderOrchestration, start, text } from '../src/engine/run/pipeline-fixture.ts';
import { around, flow, one, output, type WrongPipeline } from './wrong-pipeline.ts';

const x = { x: text('') };
const condition = (condition1: string) =>
  around({ type: 'if', parameters: { mode: 'Advanced', condition1 } }, {}, { n: number('1') });
const calling = (more: object) => ({
  ...around({ type: 'run-orchestration', parameters: { orchestrationJob: 'child', ...more } }),
  'child.orch.yaml': renderOrchestration({ Start: start() }, x),
});
const empty = (type: string, list: string, more: object = {}) =>
  around({ type, parameters: { ...more, [list]: [] } });

export const wrongParameters: WrongPipeline[] = [
  ...['setScalarVariable', 'setScalarVariabels'].map((written) => ({
    what: `a call with the misspelled parameter "${written}"`,
    code: 'misspelled-parameter' as const,
    files: calling({ [written]: [['x', '1']] }),
    says: new RegExp(`line 7, component "Bad": "${written}" is not .*; did you mean "setScalarVariables"\\?`),
  })),
  {
    what: 'a misspelled parameter beside the right one, which is an empty list',
    code: 'misspelled-parameter',
    files: calling({ setScalarVariables: [], setScalarVariable: [['x', '1']] }),
    says: /line 7, component "Bad": "setScalarVariable" is not .*; did you mean "setScalarVariables"\?/,
  },
  {
    what: 'a misspelled parameter of a check beside the right one, which is empty',
    code: 'misspelled-parameter',
    files: around({
      type: 'assert-table',
      parameters: { tableName: 'effect', rowCountValue: '', rowCountValues: '7' },
    }),
    says: /line 7, component "Bad": "rowCountValues" is not .*; did you mean "rowCountValue"\?/,
  },
  {
    what: 'a misspelled parameter of a query beside the right one, which is empty',
    code: 'misspelled-parameter',
    files: around(
      {
        type: 'query-to-scalar',
        parameters: { mode: 'Basic', table: 'effect', quer: 'select 7', scalarVariableMapping: [['x', '1']] },
      },
      {},
      x,
    ),
    says: /line 7, component "Bad": "quer" is not .*; did you mean "query"\?/,
  },
  {
    what: 'a misspelled parameter of a transformation beside the right one, which is an empty list',
    code: 'missing-parameter',
    files: flow({
      One: one,
      Bad: {
        type: 'filter',
        sources: ['One'],
        parameters: { filterConditions: [], filterCondition: [['a', 'Is', 'Equal to', '7']] },
      },
      Out: output('Bad'),
    }),
    says: /flow\.tran\.yaml, line 1, component "Bad": the parameter "filterConditions" is missing: "filterCondition" is not .*; did you mean "filterConditions"\?/,
  },
  ...['n = 99', '(n = 99)', '${n} = 99', 'n == 1 && (n += 1)', 'n++', '"n" == 1 || n-- > 0'].map(
    (assigns) => ({
      what: `a condition that assigns: ${assigns}`,
      code: 'invalid-expression' as const,
      files: condition(assigns),
      says: /line 7, component "Bad": the condition assigns to "n".*compare with ==/,
    }),
  ),
  {
    what: 'an update of no variable',
    code: 'no-effect',
    files: empty('update-scalar', 'scalarsToUpdate'),
    says: /line 7, component "Bad": "scalarsToUpdate" is empty, so the component does nothing: add a row/,
  },
  {
    what: 'a print of no variable',
    code: 'no-effect',
    files: empty('print-variables', 'variablesToPrint'),
    says: /line 7, component "Bad": "variablesToPrint" is empty, so the component does nothing/,
  },
  {
    what: 'a query whose values go nowhere',
    code: 'no-effect',
    files: empty('query-to-scalar', 'scalarVariableMapping', { mode: 'Advanced', query: 'select 1' }),
    says: /line 7, component "Bad": "scalarVariableMapping" is empty, so the component does nothing/,
  },
];
