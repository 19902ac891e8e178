/**
 * A transformation over 1,000,000 rows, from its file to the table, against the same SQL written by hand in
 * the same DuckDB, in turn.
 */
import { createFixture } from '../packages/agent/src/engine/run/engine-fixture.ts';
import { median, spread, verdictAtMost } from './finding.ts';
import { measureTime } from './measured-time.ts';
import type { Work } from './work.ts';

const mostTimes = 1.3;
const rowCount = 1_000_000;

const components = {
  Orders: {
    type: 'table-input',
    parameters: { targetTable: 'orders', columnNames: ['id', 'customer', 'amount', 'ordered'] },
  },
  Customers: { type: 'table-input', parameters: { targetTable: 'customers', columnNames: ['id', 'city'] } },
  Large: {
    type: 'filter',
    sources: ['Orders'],
    parameters: { filterConditions: [['amount', 'Is', 'Greater than', '1.5']], combineCondition: 'And' },
  },
  Taxed: {
    type: 'calculator',
    sources: ['Large'],
    parameters: {
      includeInputColumns: 'Yes',
      calculations: [
        ['"amount" * 1.19', 'gross'],
        ['date_trunc(\'month\', "ordered")', 'month'],
      ],
    },
  },
  Known: {
    type: 'join',
    sources: ['Taxed', 'Customers'],
    parameters: {
      mainTable: 'Taxed',
      mainTableAlias: 'o',
      joins: [['Customers', 'c', 'Left']],
      joinExpressions: [['"o"."customer" = "c"."id"', 'o_Left_c']],
      columnMappings: [
        ['o.id', 'id'],
        ['o.month', 'month'],
        ['o.gross', 'gross'],
        ['c.city', 'city'],
      ],
    },
  },
  Placed: {
    type: 'rank',
    sources: ['Known'],
    parameters: {
      includeInputColumns: 'Yes',
      partitionData: ['city'],
      orderingWithinPartitions: [['gross', 'Descending']],
      functions: [['Row Number', 'place']],
    },
  },
  Out: { type: 'rewrite-table', sources: ['Placed'], parameters: { targetTable: 'placed' } },
};

const byHand = `CREATE OR REPLACE TABLE placed AS
SELECT o.id, date_trunc('month', o.ordered) AS month, o.amount * 1.19 AS gross, c.city,
  row_number() OVER (PARTITION BY c.city ORDER BY o.amount * 1.19 DESC NULLS FIRST) AS place
FROM orders o LEFT JOIN customers c ON o.customer = c.id
WHERE o.amount > 1.5`;

export const transformation: Work = async ({ rounds }) => {
  const { connection, dispose, publish, run } = await createFixture();
  await connection.run(
    `CREATE TABLE orders AS SELECT range AS id, range % 10000 AS customer, (range % 997) / 3.0 AS amount, timestamp '2026-01-01' + to_minutes(range % 500000) AS ordered FROM range(${rowCount})`,
  );
  await connection.run(
    "CREATE TABLE customers AS SELECT range AS id, 'city ' || range % 100 AS city FROM range(10000)",
  );
  const text = JSON.stringify({ type: 'transformation', version: '1.0', pipeline: { components } });
  await publish({ 'bench.tran.yaml': text });
  const runPlanned = async () => {
    const { status, message } = await run('bench');
    if (status !== 'SUCCESS') throw new Error(message);
  };
  const ratios: number[] = [];
  const times: number[] = [];
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    const planned = await measureTime(runPlanned);
    const hand = await measureTime(() => connection.run(byHand));
    if (round === 0) continue;
    ratios.push(planned / hand);
    times.push(planned);
  }
  dispose();
  return [
    {
      work: 'a transformation over 1,000,000 rows, to the same SQL by hand',
      measured: `${spread(ratios)} times, ${median(times).toFixed(0)} ms`,
      limit: `≤ ${mostTimes} times`,
      verdict: verdictAtMost(median(ratios), mostTimes),
      rounds: ratios,
    },
  ];
};
