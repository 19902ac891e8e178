/**
 * The lineage of columns: of a transformation with 50 components that was not analyzed before, and what it adds to
 * runs that insert and transform, in real processes of an agent, in turn with runs without it.
 */
import { createLineage, type Lineage } from '../packages/agent/src/lineage/lineage.ts';
import { openConnectorScene } from '../packages/agent/testing/connector-scene.ts';
import { duckdb, planTransformation, readPipelineFile } from '../packages/pipelines/src/index.ts';
import { analyzeStep, createRunTables, loadSqlParser } from '../packages/pipelines/src/lineage/index.ts';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import type { Work } from './work.ts';

const componentCount = 50;
const pairsPerRound = 20;
const warmUps = 60;

export const lineage: Work = async ({ rounds }) => [await measureAnalysis(rounds), await measureRuns(rounds)];

/** Tables are read, filtered, calculated, joined, ranked and aggregated. */
function createComponents(): Record<string, object> {
  const columns = ['id', 'customer', 'amount', 'tax', 'day', 'code', 'city', 'note'];
  const components: Record<string, object> = {
    Orders: { type: 'table-input', parameters: { targetTable: 'orders', columnNames: columns } },
    Customers: {
      type: 'table-input',
      parameters: { targetTable: 'customers', columnNames: ['name', 'score'] },
    },
  };
  let last = 'Orders';
  const kinds = [
    (number: number) => ({
      type: 'calculator',
      parameters: {
        calculations: [
          [`"amount" * ${number} + coalesce("tax", 0)`, `gross ${number}`],
          [`CASE WHEN "day" > '2026-01-01' THEN upper("code") END`, `code ${number}`],
        ],
      },
    }),
    (number: number) => ({
      type: 'filter',
      parameters: {
        filterConditions: [['amount', 'Is', 'Greater than', String(number)]],
        combineCondition: 'And',
      },
    }),
    (number: number) => ({
      type: 'rank',
      parameters: {
        partitionData: ['customer'],
        orderingWithinPartitions: [['amount', 'Descending']],
        functions: [['Row Number', `place ${number}`]],
      },
    }),
    (number: number) => ({
      type: 'join',
      joined: 'Customers',
      parameters: {
        mainTable: last,
        mainTableAlias: 'o',
        joins: [['Customers', 'c', 'Left']],
        joinExpressions: [['"o"."customer" = "c"."name"', 'o_Left_c']],
        columnMappings: [...columns.map((name) => [`o.${name}`, name]), ['c.score', `score ${number}`]],
      },
    }),
  ];
  for (let number = 1; Object.keys(components).length < componentCount - 1; number += 1) {
    const kind = kinds[number % kinds.length];
    const { joined, ...component }: { joined?: string; type?: string } = kind?.(number) ?? {};
    const name = `Component ${number}`;
    components[name] = { ...component, sources: joined === undefined ? [last] : [last, joined] };
    last = name;
  }
  components.Out = { type: 'rewrite-table', sources: [last], parameters: { targetTable: 'result' } };
  return components;
}

async function measureAnalysis(rounds: number): Promise<Finding> {
  const text = JSON.stringify({
    type: 'transformation',
    version: '1.0',
    pipeline: { components: createComponents() },
  });
  const read = readPipelineFile('bench.tran.yaml', text);
  if (!('pipeline' in read) || read.pipeline.type !== 'transformation') throw new Error(JSON.stringify(read));
  const { outputs, failures } = await planTransformation(
    read.pipeline,
    duckdb,
    async (component) => component.parameters as never,
    { query: async () => ({ columns: [], rows: [] }) },
  );
  if (failures.length > 0) throw new Error(JSON.stringify(failures.map(({ error }) => String(error))));
  const statements = outputs.flatMap((output) => output.statements);
  const parse = await loadSqlParser();
  const analyze = () =>
    analyzeStep(statements, {
      parse,
      run: createRunTables(),
      findFields: () => null,
      nameFile: (name) => ({ kind: 'file', name }),
    });
  const { outputs: written, gaps } = analyze();
  if (gaps.length > 0 || written[0]?.columns === undefined)
    throw new Error(`Without columns: ${gaps.join('; ')}`);
  for (let index = 0; index < 200; index += 1) analyze();
  const times = Array.from({ length: rounds }, () => {
    const start = performance.now();
    for (let index = 0; index < 20; index += 1) analyze();
    return (performance.now() - start) / 20;
  });
  return {
    work: `lineage of the columns of a transformation with ${componentCount} components`,
    measured: `${spread(times)} ms`,
    limit: '≤ 20 ms',
    verdict: verdictAtMost(median(times), 20),
    rounds: times,
  };
}

const noLineage: Lineage = {
  open: () => ({
    noteStatement: () => undefined,
    analyze: async () => ({ inputs: [], outputs: [] }),
    close: () => undefined,
  }),
  close: async () => undefined,
};

const next = (name: string) => ({ transitions: { success: [name] } });
const files = {
  'prepare.orch.yaml': orchestration({
    Start: { type: 'start', transitions: { unconditional: ['Table'] } },
    Table: {
      type: 'sql-script',
      parameters: { sqlScript: 'CREATE TABLE sold (id INTEGER, shop VARCHAR, amount DOUBLE)' },
    },
  }),
  'main.orch.yaml': orchestration({
    Start: { type: 'start', transitions: { unconditional: ['Insert'] } },
    Insert: {
      type: 'sql-script',
      parameters: { sqlScript: "INSERT INTO sold VALUES (1, 'a', 2.5)" },
      ...next('Sum'),
    },
    Sum: { type: 'run-transformation', parameters: { transformationJob: 'totals' } },
  }),
  'totals.tran.yaml': JSON.stringify({
    type: 'transformation',
    version: '1.0',
    pipeline: {
      components: {
        Sold: {
          type: 'table-input',
          parameters: { targetTable: 'sold', columnNames: ['id', 'shop', 'amount'] },
        },
        Large: {
          type: 'filter',
          sources: ['Sold'],
          parameters: {
            filterConditions: [['amount', 'Is', 'Greater than', '1000']],
            combineCondition: 'And',
          },
        },
        Out: {
          type: 'table-output',
          sources: ['Large'],
          parameters: { targetTable: 'sold', columnMapping: [] },
        },
      },
    },
  }),
};

function orchestration(components: object): string {
  return JSON.stringify({ type: 'orchestration', version: '1.0', pipeline: { components, variables: {} } });
}

/** Runs with and without lineage, in turn: of a round the medians count. */
async function measureRuns(rounds: number): Promise<Finding> {
  const scenes = await Promise.all(
    [noLineage, createLineage()].map((each) => openConnectorScene(new Map(), each)),
  );
  try {
    const measure = async (scene: (typeof scenes)[number]) => {
      const start = performance.now();
      const { status, message } = await scene.run(files, 'main');
      if (status !== 'SUCCESS') throw new Error(message);
      return performance.now() - start;
    };
    for (const scene of scenes) {
      await scene.run(files, 'prepare');
      for (let index = 0; index < warmUps; index += 1) await measure(scene);
    }
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const times: number[][] = scenes.map(() => []);
      for (let pair = 0; pair < pairsPerRound; pair += 1)
        for (const [index, scene] of scenes.entries()) times[index]?.push(await measure(scene));
      const [without = 0, withLineage = 0] = times.map(median);
      ratios.push(withLineage / without);
    }
    return {
      work: 'a run with an insert and a transformation, against one without lineage',
      measured: `${spread(ratios)} ×`,
      limit: '≤ 1.10 ×',
      verdict: verdictAtMost(median(ratios), 1.1),
      rounds: ratios,
    };
  } finally {
    for (const scene of scenes) await scene.close();
  }
}
