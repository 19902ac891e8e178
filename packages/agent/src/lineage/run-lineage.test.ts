/** The lineage of runs in real processes, with a real warehouse. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { StepLineage } from '@headgate/contract';
import { type ConnectorScene, openConnectorScene } from '../../testing/connector-scene.ts';
import { createLineage } from './lineage.ts';

let scene: ConnectorScene;
before(async () => {
  scene = await openConnectorScene();
});
after(() => scene.close());

type Components = Record<string, { type: string; [name: string]: unknown }>;
const pipeline = (type: string, components: Components) =>
  JSON.stringify({ type, version: '1.0', pipeline: { components, variables: {} } });

/** Runs components one after the other. */
async function run(steps: readonly Components[string][], others: Record<string, string> = {}) {
  const names = steps.map((_, index) => `Step ${index + 1}`);
  const components: Components = {
    Start: { type: 'start', transitions: { unconditional: [names[0]] } },
    ...Object.fromEntries(
      steps.map((step, index) => {
        const next = names[index + 1];
        return [names[index], next === undefined ? step : { ...step, transitions: { success: [next] } }];
      }),
    ),
  };
  const files = { 'main.orch.yaml': pipeline('orchestration', components), ...others };
  const outcome = await scene.run(files, 'main');
  return { ...outcome, lineage: outcome.lineage };
}

const sql = (sqlScript: string) => ({ type: 'sql-script', parameters: { sqlScript } });

function show({ inputs, outputs, gaps = [] }: StepLineage): string[] {
  return [
    ...outputs.flatMap(({ name, columns = [], decidedBy = [], dropped, rowCount }) => [
      `${name}${dropped === true ? ' dropped' : ''}${rowCount === undefined ? '' : ` ${rowCount} rows`}`,
      ...columns.map(
        (column) =>
          `  ${column.name}: ${column.inputs.map((each) => `${inputs[each.dataset]?.name}.${each.field} ${each.transformation}`).join(', ')}`,
      ),
      ...(decidedBy.length === 0
        ? []
        : [`  by ${decidedBy.map((each) => `${inputs[each.dataset]?.name}.${each.field}`).join(', ')}`]),
    ]),
    ...gaps.map((gap) => `gap: ${gap}`),
  ];
}

test('a script and a transformation report what they read and wrote', async () => {
  const totals = pipeline('transformation', {
    Orders: { type: 'table-input', parameters: { targetTable: 'orders', columnNames: [] } },
    Large: {
      type: 'filter',
      sources: ['Orders'],
      parameters: { filterConditions: [['amount', 'Is', 'Greater than', '1']], combineCondition: 'And' },
    },
    Sum: {
      type: 'aggregate',
      sources: ['Large'],
      parameters: { groupings: ['customer'], aggregations: [['amount', 'Sum']] },
    },
    Out: { type: 'rewrite-table', sources: ['Sum'], parameters: { targetTable: 'totals' } },
  });
  const { status, message, lineage } = await run(
    [
      sql(
        "CREATE TABLE orders (customer VARCHAR, amount INTEGER); INSERT INTO orders VALUES ('a', 1), ('b', 2)",
      ),
      { type: 'run-transformation', parameters: { transformationJob: 'totals' } },
    ],
    { 'totals.tran.yaml': totals },
  );
  assert.equal(status, 'SUCCESS', message);
  assert.deepEqual(lineage.map(show), [
    ['warehouse.main.orders 2 rows', '  customer: ', '  amount: '],
    [
      'warehouse.main.totals 1 rows',
      '  customer: warehouse.main.orders.customer IDENTITY',
      '  sum_amount: warehouse.main.orders.amount AGGREGATED',
      '  by warehouse.main.orders.amount, warehouse.main.orders.customer',
    ],
  ]);
  const [first, second] = lineage;
  assert.deepEqual(first?.outputs[0]?.fields, [
    { name: 'customer', type: 'VARCHAR' },
    { name: 'amount', type: 'BIGINT' },
  ]);
  assert.deepEqual(second?.inputs[0]?.fields, first?.outputs[0]?.fields);
  assert.equal(second?.outputs[0]?.createdOrReplaced, true);
});

test('a step that fails reports nothing; temporary tables are followed from step to step', async () => {
  const { lineage } = await run([
    sql('CREATE TABLE source AS SELECT 1 AS a, 2 AS b'),
    sql('CREATE TEMPORARY TABLE aside AS SELECT a + b AS c FROM source'),
    sql('CREATE TABLE target AS SELECT c FROM aside'),
    sql('INSERT INTO target SELECT b FROM source; SELECT missing FROM source'),
  ]);
  assert.deepEqual(lineage.map(show), [
    ['warehouse.main.source 1 rows', '  a: ', '  b: '],
    [],
    ['warehouse.main.target 1 rows', '  c: warehouse.main.source.a CHANGED, warehouse.main.source.b CHANGED'],
  ]);
});

test('SQL that breaks the parser costs the columns of its step only', async () => {
  const terms = Array(1_000).fill('a = 1').join(' OR ');
  const { status, lineage } = await run([
    sql('CREATE OR REPLACE TABLE source AS SELECT 1 AS a, 2 AS b'),
    sql(`CREATE TABLE many AS SELECT a FROM source WHERE ${terms}`),
    sql('CREATE TABLE after_it AS SELECT b FROM source'),
  ]);
  assert.equal(status, 'SUCCESS');
  assert.deepEqual(lineage.slice(1).map(show), [
    [
      'warehouse.main.many 1 rows',
      'gap: a statement is known by its tables only: the statement has more than 400 of AND, OR, UNION, EXCEPT and INTERSECT',
    ],
    ['warehouse.main.after_it 1 rows', '  b: warehouse.main.source.b IDENTITY'],
  ]);
});

test('a run that is killed or cancelled does not wait for its lineage', async () => {
  for (const name of ['kill', 'cancel'] as const) {
    const asked = Promise.withResolvers<void>();
    const analyzer = {
      analyze() {
        asked.resolve();
        return new Promise<never>(() => undefined);
      },
      forget: () => undefined,
      close: async () => undefined,
    };
    const stuck = await openConnectorScene(undefined, createLineage(analyzer));
    const end = new AbortController();
    const files = {
      'main.orch.yaml': pipeline('orchestration', {
        Start: { type: 'start', transitions: { unconditional: ['Step'] } },
        Step: sql('CREATE TABLE a AS SELECT 1 AS b'),
      }),
    };
    const running = stuck.run(files, 'main', { [name]: end.signal });
    await asked.promise;
    end.abort(new Error('enough'));
    const outcome = await running.catch((error: Error) => ({ status: error.message, lineage: [] }));
    assert.ok(['SUCCESS', 'CANCELLED', 'enough'].includes(outcome.status), outcome.status);
    for (const { gaps } of outcome.lineage)
      assert.deepEqual(gaps, ['the statements were not analyzed: the run was cancelled']);
    await stuck.close();
  }
});
