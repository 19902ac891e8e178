/** Tests of pipelines: what they see, what they find, and that the environment stays as it is. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { after, describe, it } from 'node:test';
import type { TestResult, WorkOf } from '@headgate/contract';
import { Secret } from '@headgate/contract';
import { component, loading, orchestration, sql, underTest } from '../../testing/tested-pipelines.ts';
import { createTestWarehouses } from '../../testing/warehouse.ts';
import type { ArtifactCache } from '../artifacts/artifact-cache.ts';
import { openConfinement } from '../confinement/confinement.ts';
import { createFolders, removeTree } from '../host/folders.ts';
import { createLog } from '../log.ts';
import { prepareRunCode } from '../pool/run-code.ts';
import { createRunPool } from '../pool/run-pool.ts';
import { createScratchFixture } from '../warehouses/scratch/duckdb-scratch-fixture.ts';
import { createPipelineExecutionHandler, type PipelineExecutionDependencies } from './pipeline-execution.ts';
import { createTestExecutionHandler } from './test-execution.ts';

const fixture = await createScratchFixture();
const { real, root, files, place } = fixture;
after(async () => {
  await fixture.driver.close();
  await removeTree(root);
});
const log = createLog({ level: 'error', write: (line) => console.log(line) });
const folders = createFolders(root);
mkdirSync(folders.temporary, { recursive: true });

let published = 0;

/** Publishes files as an artifact. */
function publish(pipelines: Record<string, string>) {
  published += 1;
  const folder = join(folders.projectArtifacts(place.projectId), `digest-${published}`, 'files');
  for (const [path, text] of Object.entries(pipelines)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const paths = Object.keys(pipelines);
  const index = { paths, digests: paths.map((path) => `${published} ${path}`) };
  const acquire = async () => ({ folder, index, release: () => undefined });
  return { acquire } as unknown as ArtifactCache;
}

const confinement = await openConfinement(log);
const runPool = createRunPool({
  code: await prepareRunCode(folders.code),
  confinement,
  workFolder: folders.temporary,
  memoryMegabytes: 128,
  processMegabytes: 1_024,
  log,
});
after(async () => {
  await runPool.close();
  await confinement.close();
});

async function createDependencies(pipelines: Record<string, string>): Promise<PipelineExecutionDependencies> {
  return {
    config: { runTimeLimitSeconds: 60 },
    runPool,
    folders,
    artifacts: publish(pipelines),
    warehouses: createTestWarehouses(fixture.driver),
    scripts: { run: async () => assert.fail('no script in these tests') },
    secretReferences: {
      read: async () => new Secret('canary-of-a-secret'),
      readCloud: async () => new Secret('canary-of-a-cloud'),
    },
    lineage: {
      open: () => ({
        noteStatement: () => undefined,
        analyze: async () => ({ inputs: [], outputs: [] }),
        close: () => undefined,
      }),
      close: async () => undefined,
    },
    connectors: {
      open: () => assert.fail('no endpoint in these tests'),
    } as unknown as PipelineExecutionDependencies['connectors'],
    log,
  };
}

const members = {
  ...place,
  versionName: 'v1',
  /** Of the files that were published last. */
  get artifactDigest() {
    return String(published).padStart(64, '0');
  },
  variables: [],
  timeLimitSeconds: 60,
  warehouse: { kind: 'duckdb' as const },
};
const claim = {
  workId: '22222222-2222-4222-8222-222222222222',
  epoch: 1,
  leaseExpiresAt: '2030-01-01T00:00:00Z',
};

function createContext(cancel = new AbortController(), kill = new AbortController()) {
  const results: TestResult[] = [];
  const context = {
    reportStarted: async () => undefined,
    step: () => undefined,
    line: () => undefined,
    variables: () => undefined,
    tested: (result: TestResult) => void results.push(result),
    conceal: () => undefined,
    cancel: cancel.signal,
    kill: kill.signal,
  };
  return { context, results, cancel, kill };
}

async function runTests(
  pipelines: Record<string, string>,
  tests: readonly string[],
  environmentName = place.environmentName,
) {
  const before = await fixture.takeFingerprint();
  const handler = createTestExecutionHandler(await createDependencies(pipelines));
  const { context, results } = createContext();
  const payload = {
    testExecutionId: claim.workId,
    ...members,
    environmentName,
    tests: tests.map((testName) => ({ testName })),
  };
  const work: WorkOf<'test-execution'> = { ...claim, kind: 'test-execution', payload };
  const outcome = await handler(work, context);
  assert.equal(await fixture.takeFingerprint(), before, 'the environment is as before');
  return { outcome, results };
}

describe('tests of pipelines', () => {
  it('see what the pipeline wrote, wherever it wrote it, and leave no trace', async () => {
    const test = orchestration(
      [
        underTest('load', 'Rows'),
        component(
          'Rows',
          'assert-table',
          'tableName: totals\nrowCountComparisonType: Equal To\nrowCountValue: "4"\nexpectedColumns: [customer, amount]\nexpectedRows: [[Di, "40.00"], [Cy, "31.00"], [Ada, "10.00"], [Bo, "20.00"]]',
          'History',
        ),
        component(
          'History',
          'assert-table',
          'schema: sales\ntableName: history\nrowCountComparisonType: Range\nrowCountLowerValue: 4\nrowCountUpperValue: 5',
          'Lines',
        ),
        component(
          'Lines',
          'assert-table',
          'tableName: lines\nrowCountComparisonType: Equal To\nrowCountValue: "0"',
          'Count',
        ),
        component(
          'Count',
          'query-to-scalar',
          'mode: Advanced\nquery: select count(*) as n from orders\nscalarVariableMapping: [[n, n]]',
          'Scalar',
        ),
        component('Scalar', 'assert-scalar', 'assertions: [[n, "4"], [n, Is, Greater than, "3"]]'),
      ].join(''),
    ).replace(
      'pipeline:\n',
      "pipeline:\n  variables:\n    n:\n      metadata: {type: NUMBER, description: '', scope: SHARED, visibility: PUBLIC}\n      defaultValue: '0'\n",
    );
    const { outcome, results } = await runTests({ ...loading, 'tests/load.orch.yaml': test }, [
      'tests/load.orch.yaml',
      'tests/load.orch.yaml',
    ]);
    assert.deepEqual(
      results.map(({ index, status, message }) => [index, status, message]),
      [
        [0, 'PASSED', undefined],
        [1, 'PASSED', undefined],
      ],
    );
    assert.deepEqual(outcome, { status: 'SUCCESS' });
    assert.deepEqual(readdirSync(join(files, '.tests')), []);
  });

  it('pass in the example', async () => {
    const folder = join(import.meta.dirname, '../../../../examples/orders');
    const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
    const example = Object.fromEntries(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
    const { outcome, results } = await runTests(example, ['Tests/Orders are added up.orch.yaml'], 'empty');
    assert.deepEqual([outcome, results[0]?.message], [{ status: 'SUCCESS' }, undefined]);
  });

  it('tell what failed, with expected and actual values, and go on with the next test', async () => {
    const rows = 'expectedColumns: [customer]\nexpectedRows: [[Ada], [Cy]]';
    const pipelines = {
      'nothing.orch.yaml': orchestration('    First:\n      type: end-success\n'),
      'rows.orch.yaml': orchestration(
        underTest('nothing', 'Rows') + component('Rows', 'assert-table', `tableName: orders\n${rows}`),
      ),
      'count.orch.yaml': orchestration(
        underTest('nothing', 'Count') +
          component(
            'Count',
            'assert-table',
            'tableName: orders\nrowCountComparisonType: Equal To\nrowCountValue: 7',
          ),
      ),
      'gone.orch.yaml': orchestration(
        underTest('nothing', 'Gone') + component('Gone', 'assert-table', 'tableName: orders\nexists: No'),
      ),
      'handled.orch.yaml': orchestration(
        underTest('nothing', 'Gone') +
          component('Gone', 'assert-table', 'tableName: orders\nexists: No') +
          '      transitions:\n        failure: [End]\n    End:\n      type: end-success\n',
      ),
      'broken.orch.yaml': orchestration(
        underTest('wrong', 'Gone') + component('Gone', 'assert-table', 'tableName: orders'),
      ),
      'wrong.orch.yaml': orchestration(sql('First', 'select * from none')),
      'without.orch.yaml': orchestration(underTest('nothing')),
    };
    const tests = ['rows', 'count', 'gone', 'handled', 'broken', 'without'].map(
      (name) => `${name}.orch.yaml`,
    );
    const { outcome, results } = await runTests(pipelines, tests);
    const [byRows, count, gone, handled, broken, without] = results;
    assert.deepEqual(
      [byRows?.status, byRows?.expected, byRows?.actual],
      ['FAILED', '["customer"]\n["Cy"]', '["customer"]\n["Bo"]'],
    );
    assert.deepEqual(
      [count?.status, count?.expected, count?.actual],
      ['FAILED', 'Equal To 7 rows', '2 rows'],
    );
    assert.match(count?.message ?? '', /count\.orch\.yaml: "Count": the table "orders" has 2 rows/);
    assert.deepEqual([gone?.status, gone?.actual], ['FAILED', 'the table exists']);
    assert.equal(handled?.status, 'FAILED', 'also if the test handles the failure');
    assert.equal(broken?.status, 'ERRORED');
    assert.match(broken?.message ?? '', /wrong\.orch\.yaml, line 9: "First" failed: .*none/);
    assert.equal(without?.status, 'PASSED');
    assert.match(without?.message ?? '', /no assert ran/);
    assert.equal(outcome.status, 'FAILED');
    assert.match(outcome.message ?? '', /^5 of 6 tests did not pass: rows\.orch\.yaml, /);
  });

  it('are refused before they start if they would change more than their own data', async () => {
    const pipelines = {
      'test.orch.yaml': orchestration(
        sql('First', 'create table before_it as select 1', 'Then') +
          underTest('copy').replace('First', 'Then'),
      ),
      'copy.orch.yaml': orchestration(
        sql('First', "select 1; copy orders to 'orders.csv'", 'Child') +
          component('Child', 'run-orchestration', 'orchestrationJob: attach'),
      ),
      'attach.orch.yaml': orchestration(sql('First', "attach 'other.duckdb' as other")),
    };
    const { results } = await runTests(pipelines, ['test.orch.yaml']);
    const [{ status, message = '' } = {}] = results;
    assert.equal(status, 'ERRORED');
    assert.match(message, /^the test is not started, because it would change more than its own data:/);
    assert.match(message, /copy\.orch\.yaml, line 9, component "First": a test writes files only by/);
    assert.match(message, /attach\.orch\.yaml, line 9, component "First": ATTACH is not allowed in a test/);
  });

  it('do not reach the environment by a statement that is known only in the run', async () => {
    const statements = {
      write: ["insert into @{'warehouse'}.public.orders values (8, 'Eve', 1)", 'PASSED', /no assert ran/],
      elsewhere: ["insert into @{'other'}.sales.mine select 1 as a", 'ERRORED', /does not exist/],
      catalog: ["drop table @{'dev'}.main.lines", 'ERRORED', /does not exist/],
      file: ["copy orders to 'orders.@{'csv'}'", 'ERRORED', /"First" failed: a test writes files only by/],
    } as const;
    for (const [name, [statement, status, message]] of Object.entries(statements)) {
      const pipelines = {
        'test.orch.yaml': orchestration(underTest(name)),
        [`${name}.orch.yaml`]: orchestration(sql('First', statement.replace('@', '$'))),
      };
      const { results } = await runTests(pipelines, ['test.orch.yaml']);
      assert.equal(results[0]?.status, status, name);
      assert.match(results[0]?.message ?? '', message, name);
    }
  });

  it('are cancelled between two steps, and the others do not start', async () => {
    const pipelines = {
      'test.orch.yaml': orchestration(underTest('slow')),
      'slow.orch.yaml': orchestration(sql('First', 'select 1', 'Then') + sql('Then', 'select 2')),
    };
    const handler = createTestExecutionHandler(await createDependencies(pipelines));
    const { context, results, cancel } = createContext();
    cancel.abort();
    const payload = { testExecutionId: claim.workId, ...members, tests: [{ testName: 'test.orch.yaml' }] };
    const outcome = await handler({ ...claim, kind: 'test-execution', payload }, context);
    assert.deepEqual([outcome.status, results], ['CANCELLED', []]);
  });

  it('are killed at once, and their scratch database is gone', async () => {
    const pipelines = {
      'test.orch.yaml': orchestration(underTest('endless')),
      'endless.orch.yaml': orchestration(
        sql('First', 'select count(*) from range(10000000000) a, range(1000) b'),
      ),
    };
    const handler = createTestExecutionHandler(await createDependencies(pipelines));
    const { context, kill } = createContext();
    const payload = { testExecutionId: claim.workId, ...members, tests: [{ testName: 'test.orch.yaml' }] };
    const running = handler({ ...claim, kind: 'test-execution', payload }, context);
    const listDatabases = async () =>
      (await real.query('select database_name from duckdb_databases() where not internal', 10)).rows;
    while ((await listDatabases()).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    kill.abort(new Error('killed'));
    await assert.rejects(running, /killed/);
    assert.deepEqual(await listDatabases(), [['dev']]);
    assert.deepEqual(readdirSync(join(files, '.tests')), []);
  });

  it('also use a scratch database when they are started as a pipeline', async () => {
    const before = await fixture.takeFingerprint();
    const pipelines = {
      'test.orch.yaml': orchestration(
        sql('First', 'create table fixtures as select 1', 'Run') + underTest('clear').replace('First', 'Run'),
      ),
      'clear.orch.yaml': orchestration(sql('First', 'delete from lines; drop table fixtures')),
      'all.orch.yaml': orchestration(component('First', 'run-orchestration', 'orchestrationJob: test')),
    };
    const handler = createPipelineExecutionHandler(await createDependencies(pipelines));
    const start = (pipelineName: string) => {
      const payload = {
        pipelineExecutionId: claim.workId,
        ...members,
        pipelineName,
        pipelineType: 'ORCHESTRATION' as const,
        scalarVariables: {},
        gridVariables: {},
      };
      return handler({ ...claim, kind: 'pipeline-execution', payload }, createContext().context);
    };
    assert.deepEqual(await start('test'), { status: 'SUCCESS' });
    assert.equal(await fixture.takeFingerprint(), before);
    const nested = await start('all');
    assert.equal(nested.status, 'FAILED');
    assert.match(nested.message ?? '', /a test runs by itself.*start test\.orch\.yaml/);
    await real.execute('drop table fixtures');
  });
});
