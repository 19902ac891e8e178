/** Test fixture: invalid parameters, calls and variables, each with the expected message. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import { grid, number, renderOrchestration, start, text } from '../src/engine/run/pipeline-fixture.ts';
import { around, flow, one, output, script, type WrongPipeline } from './wrong-pipeline.ts';

const without = ({ 'main.orch.yaml': _, ...others }: Record<string, string>) => others;

/** An assert-table whose check would have no effect. */
const renderAssertion = (parameters: object) =>
  around({ type: 'assert-table', parameters: { tableName: 'effect', ...parameters } });
const unread = (expression: string) =>
  around(
    { type: 'update-scalar', parameters: { scalarsToUpdate: [['x', `\${${expression}}`]] } },
    {},
    { x: text('') },
  );

const loading = (parameters: object) =>
  around({
    type: 'api-extract',
    parameters: { profile: 'flex-shop', dataSource: 'Orders', targetTable: 'orders', ...parameters },
  });
const shop = {
  'connector-profile:flex-shop.json': JSON.stringify({
    name: 'Shop',
    endpoints: [{ name: 'Orders', url: 'https://shop.example.com/orders', auth: 'NONE' }],
  }),
};

export const wrongReferences: WrongPipeline[] = [
  {
    what: 'a misspelled parameter of a check',
    code: 'misspelled-parameter',
    files: renderAssertion({ rowCountComparison: 'Equal To' }),
    says: /line 7, component "Bad": "rowCountComparison" is not a parameter of assert-table; did you mean "rowCountComparisonType"\?/,
  },
  {
    what: 'a misspelled parameter that is required',
    code: 'missing-parameter',
    files: around({ type: 'sql-script', parameters: { sqlScrip: 'select 1' } }),
    says: /line 7, component "Bad": the parameter "sqlScript" is missing: "sqlScrip" is not a parameter of sql-script; did you mean "sqlScript"\?/,
  },
  {
    what: 'a misspelled member of its post-processing',
    code: 'misspelled-member',
    files: around(
      { ...script('select 1'), postProcessing: { updateScalarVariable: [['x', '1']] } },
      {},
      { x: text('') },
    ),
    says: /line 7, component "Bad": postProcessing has no "updateScalarVariable": did you mean "updateScalarVariables"\?/,
  },
  {
    what: 'a connector profile that the version does not have',
    code: 'missing-connector-profile',
    files: { ...loading({ profile: 'flex-shp' }), ...shop },
    says: /line 7, component "Bad": the connector profile "flex-shp" is not in the project: did you mean "flex-shop"\?/,
  },
  {
    what: 'an endpoint that its connector profile does not have',
    code: 'missing-connector-endpoint',
    files: { ...loading({ dataSource: 'Order' }), ...shop },
    says: /line 7, component "Bad": the connector profile "flex-shop" has no endpoint "Order": did you mean "Orders"\?/,
  },
  {
    what: 'a number of rows without a comparator',
    code: 'invalid-parameter',
    files: renderAssertion({ rowCountValue: '5' }),
    says: /line 7, component "Bad": "rowCountValue" is 5, but "rowCountComparisonType" is missing/,
  },
  {
    what: 'a number of rows with a comparator that is [Custom]',
    code: 'invalid-parameter',
    files: renderAssertion({ rowCountValue: '5', rowCountComparisonType: '[Custom]' }),
    says: /line 7, component "Bad": "rowCountValue" is 5, but/,
  },
  {
    what: 'a check of a table that must not exist',
    code: 'invalid-parameter',
    files: renderAssertion({ exists: 'No', rowCountValue: '5', rowCountComparisonType: 'Equal To' }),
    says: /line 7, component "Bad": "exists" is No, but "rowCountValue" checks a table that exists/,
  },
  ...['Yess', 'Ye', 'NOT NULL'].map((word) => ({
    what: `a column that is not null "${word}"`,
    code: 'invalid-parameter' as const,
    files: around({
      type: 'create-table',
      parameters: { newTableName: 't', columns: [['a', 'VARCHAR', '', '', '', word]] },
    }),
    says: new RegExp(`line 7, component "Bad": "not null" of the column "a" is "${word}": use Yes or No`),
  })),
  {
    what: 'a column that is unique "UNIQUE"',
    code: 'invalid-parameter',
    files: around({
      type: 'create-table',
      parameters: { newTableName: 't', columns: [['a', 'VARCHAR', '', '', '', '', 'UNIQUE']] },
    }),
    says: /line 7, component "Bad": "unique" of the column "a" is "UNIQUE": use Yes or No/,
  },
  {
    what: 'an expression with a syntax error',
    code: 'invalid-expression',
    files: unread('1 +'),
    says: /line 7, component "Bad": the expression has a syntax error \(.*\): correct it.*: 1 \+/,
  },
  {
    what: 'an expression with a syntax error inside a text',
    code: 'invalid-expression',
    files: around(script("select '${1 +}'")),
    says: /line 7, component "Bad": the expression has a syntax error/,
  },
  {
    what: 'a condition with a syntax error',
    code: 'invalid-expression',
    files: around(
      { type: 'if', parameters: { mode: 'Advanced', condition1: '${x} >' } },
      {},
      { x: text('') },
    ),
    says: /line 7, component "Bad": the expression has a syntax error/,
  },
  {
    what: 'a post-processing with a syntax error',
    code: 'invalid-expression',
    files: around(
      { ...script('select 1'), postProcessing: { updateScalarVariables: [['x', '${(}']] } },
      {},
      { x: text('') },
    ),
    says: /line 7, component "Bad": the expression has a syntax error/,
  },
  {
    what: 'a transformation that is called as an orchestration',
    code: 'missing-pipeline',
    files: {
      ...around({ type: 'run-orchestration', parameters: { orchestrationJob: 'flow.tran.yaml' } }),
      ...without(flow({ One: one, Out: output('One') })),
    },
    says: /line 7, component "Bad": flow\.tran\.yaml is a transformation: use run-transformation/,
  },
  {
    what: 'a parameter that is missing',
    code: 'missing-parameter',
    files: around({ type: 'sql-script', parameters: {} }),
    says: /line 7, component "Bad": the parameter "sqlScript" is missing: fill it in/,
  },
  {
    what: 'a missing parameter that another one requires',
    code: 'missing-parameter',
    files: around(
      { type: 'query-to-scalar', parameters: { mode: 'Advanced', scalarVariableMapping: [['x', 'a']] } },
      {},
      { x: text('') },
    ),
    says: /line 7, component "Bad": the parameter "query" is missing: fill it in/,
  },
  {
    what: 'an unknown value of a parameter',
    code: 'invalid-parameter',
    files: around(
      {
        type: 'create-table',
        parameters: { newTableName: '${project}', createReplace: 'Replac', columns: [['a', 'TEXT']] },
      },
      {},
      { project: text('t') },
    ),
    says: /line 7, component "Bad": "createReplace" is "Replac", which is not a known value: did you mean "Replace"\?/,
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
    says: /line 7, component "Bad": "Equal" is not a comparator: use one of/,
  },
  {
    what: 'an unknown value in a component of a transformation',
    code: 'invalid-parameter',
    files: flow({
      One: one,
      Sums: { type: 'aggregate', sources: ['One'], parameters: { aggregations: [['a', 'Summ']] } },
      Out: output('Sums'),
    }),
    says: /flow\.tran\.yaml, line 1, component "Sums": "Summ" is not an aggregation: use one of/,
  },
  {
    what: 'a default value that its variable cannot hold',
    code: 'invalid-default-value',
    files: {
      ...around({ type: 'run-orchestration', parameters: { orchestrationJob: 'child' } }),
      'child.orch.yaml': renderOrchestration({ Start: start() }, { n: number('many') }),
    },
    says: /child\.orch\.yaml, line 1: the default value is invalid: .*"n".*correct it/,
  },
  {
    what: 'a call of a missing pipeline',
    code: 'missing-pipeline',
    files: {
      ...around({ type: 'run-orchestration', parameters: { orchestrationJob: 'chidl' } }),
      'child.orch.yaml': renderOrchestration({ Start: start() }),
    },
    says: /line 7, component "Bad": the pipeline chidl\.orch\.yaml is not in the project: did you mean "child\.orch\.yaml"\?/,
  },
  {
    what: 'a fault two calls away',
    code: 'dangling-transition',
    files: {
      ...around({ type: 'run-orchestration', parameters: { orchestrationJob: 'child' } }),
      'child.orch.yaml': renderOrchestration({
        Start: start('Inner'),
        Inner: { type: 'run-orchestration', parameters: { orchestrationJob: 'inner' } },
      }),
      'inner.orch.yaml': renderOrchestration({ Start: start('Gone') }),
    },
    says: /inner\.orch\.yaml, line 1, component "Start": the transition "unconditional" leads to "Gone"/,
  },
  {
    what: 'a pipeline that calls itself endlessly',
    code: 'pipeline-calls-itself',
    files: around({ type: 'run-orchestration', parameters: { orchestrationJob: 'main' } }),
    says: /main\.orch\.yaml, line 7, component "Bad": the pipeline calls itself endlessly: main\.orch\.yaml → main\.orch\.yaml: put the call behind an if/,
  },
  {
    what: 'a malformed use of shared pipelines',
    code: 'shared-pipeline-use',
    files: around(
      { type: 'run-shared-pipeline', parameters: { sharedPipelineIdPrefix: '${x}', sharedPipeline: 'p' } },
      {},
      { x: text('') },
    ),
    says: /line 7, component "Bad": "sharedPipelineIdPrefix" cannot be an expression.*write the name itself/,
  },
  {
    what: 'a missing group of shared pipelines',
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
      chosen: { versionName: '1', files: { 'check.orch.yaml': renderOrchestration({ S: start() }) } },
    },
    says: /line 7, component "Bad": version "1" of the shared pipelines "Checks" has no pipeline "chek": did you mean "check"\?/,
  },
  {
    what: 'a pipeline that is not in the group of the shared pipeline that calls it',
    code: 'missing-pipeline',
    files: around({
      type: 'run-shared-pipeline',
      parameters: { sharedPipelineIdPrefix: 'Checks', sharedPipeline: 'check' },
    }),
    shared: {
      prefix: 'Checks',
      chosen: {
        versionName: '1',
        files: {
          'check.orch.yaml': renderOrchestration({
            S: start('Call'),
            Call: { type: 'run-orchestration', parameters: { orchestrationJob: 'gone' } },
          }),
        },
      },
    },
    says: /Checks\/check\.orch\.yaml, line 1, component "Call": the pipeline gone\.orch\.yaml is not in version "1" of the shared pipelines "Checks": add it/,
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
      chosen: { versionName: '1', files: { 'check.orch.yaml': renderOrchestration({ S: start('Gone') }) } },
    },
    says: /Checks\/check\.orch\.yaml, line 1, component "S": the transition "unconditional" leads to "Gone"/,
  },
  {
    what: 'an undeclared variable',
    code: 'undeclared-variable',
    files: around(script('select ${cty}'), {}, { city: text('Oslo') }),
    says: /line 7, component "Bad": the variable "cty" is not declared: did you mean "city"\?/,
  },
  {
    what: 'a value for a variable that the called pipeline does not have',
    code: 'undeclared-variable',
    files: {
      ...around({
        type: 'run-orchestration',
        parameters: { orchestrationJob: 'child', setScalarVariables: [['nme', 'x']] },
      }),
      'child.orch.yaml': renderOrchestration({ Start: start() }, { name: text('') }),
    },
    says: /line 7, component "Bad": the variable "nme" is not declared: did you mean "name"\?/,
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
    says: /line 7, component "Bad": the variable "g" is TEXT, but a grid variable is needed/,
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
    says: /line 7, component "Bad": the grid variable "g" has no column "b": use one of a/,
  },
  {
    what: 'a PRIVATE variable that is set from outside',
    code: 'private-variable',
    files: {
      ...around({
        type: 'run-orchestration',
        parameters: { orchestrationJob: 'child', setScalarVariables: [['mine', 'x']] },
      }),
      'child.orch.yaml': renderOrchestration({ Start: start() }, { mine: text('', 'COPIED', 'PRIVATE') }),
    },
    says: /line 7, component "Bad": the variable "mine" is PRIVATE in child\.orch\.yaml.*make it PUBLIC/,
  },
  {
    what: 'an unclosed expression',
    code: 'unclosed-expression',
    files: around(script('select ${x'), {}, { x: text('') }),
    says: /line 7, component "Bad": "\$\{" has no matching "\}" in: \$\{x: close it/,
  },
  {
    what: 'a pipeline that needs a warehouse, in a project with an unsupported one',
    code: 'warehouse-not-supported',
    files: around(script('select 1')),
    warehouse: 'BIGQUERY',
    says: /line 6, component "Effect": sql-script needs a warehouse of type DUCKDB, POSTGRES, REDSHIFT, SNOWFLAKE, but the project's warehouse is BIGQUERY/,
  },
];
