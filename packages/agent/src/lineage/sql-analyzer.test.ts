/** SQL that breaks the parser or takes too long costs one step its lineage, and the next one has its own. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AnalysisRequest } from './lineage-messages.ts';
import { createSqlAnalyzer } from './sql-analyzer.ts';

const fields = (names: string) => names.split(' ').map((name) => ({ name }));
const createRequest = (...statements: string[]): AnalysisRequest => ({
  warehouse: { kind: 'duckdb' },
  run: 1,
  ran: { statements, files: {}, gaps: [] },
  filesFolder: '/files',
  tables: { 'warehouse.main.t': fields('a b'), 'warehouse.main.out': fields('x') },
});
const plain = createRequest('INSERT INTO out SELECT a FROM t');
const patient = { milliseconds: 60_000, runMilliseconds: 60_000, waiting: 3, idleMilliseconds: 60_000 };
const analyzer = createSqlAnalyzer(patient);
after(() => analyzer.close());

test('a step is analyzed', async () => {
  const { lineage, needed, isPlain } = await analyzer.analyze(plain);
  assert.deepEqual(lineage.outputs[0]?.columns, [
    { name: 'x', inputs: [{ dataset: 0, field: 'a', transformation: 'IDENTITY' }] },
  ]);
  assert.deepEqual([needed, isPlain], [{}, true]);
});

test('tables whose columns are not known are asked for, with their names in SQL', async () => {
  const { needed } = await analyzer.analyze(createRequest('CREATE TABLE new AS SELECT * FROM "raw.x".Other'));
  assert.deepEqual(needed, { 'warehouse.main.new': ['new'], 'raw.x.other': ['raw.x', 'Other'] });
});

test('SQL that breaks the parser is answered with the reason, and the next step is analyzed', async () => {
  const chain = `INSERT INTO out SELECT ${Array(20_000).fill('a').join(' + ')} FROM t`;
  const [broken, next] = await Promise.allSettled([
    analyzer.analyze(createRequest(chain)),
    analyzer.analyze(plain),
  ]);
  assert.equal(broken.status, 'rejected');
  assert.equal(next.status === 'fulfilled' && next.value.lineage.outputs.length, 1);
});

test('a step that takes too long is given up', async () => {
  const hasty = createSqlAnalyzer({ ...patient, milliseconds: 0 });
  const union = Array(300).fill('SELECT a FROM t').join(' UNION ALL ');
  await assert.rejects(
    hasty.analyze(createRequest(`INSERT INTO out ${union}`)),
    /the analysis took more than 0 ms/,
  );
  await hasty.close();
});

test('more steps than may wait are refused', async () => {
  const full = createSqlAnalyzer({ ...patient, waiting: 1 });
  const first = full.analyze(plain);
  await assert.rejects(full.analyze(plain), /1 other steps wait for their analysis/);
  await first;
  await full.close();
});

test('runs take turns, and the one with the most steps gives way', async () => {
  const full = createSqlAnalyzer({ ...patient, waiting: 4 });
  const order: string[] = [];
  const note = async (run: number, step: number) => {
    await full.analyze({ ...plain, run }).then(
      () => order.push(`${run}.${step}`),
      (error) => order.push(`${run}.${step} ${error.message}`),
    );
  };
  await Promise.all([note(1, 1), note(1, 2), note(1, 3), note(1, 4), note(2, 1), note(3, 1)]);
  const refused = '4 other steps wait for their analysis';
  assert.deepEqual(order.toSorted(), ['1.1', '1.2', `1.3 ${refused}`, `1.4 ${refused}`, '2.1', '3.1']);
  const done = order.filter((each) => !each.includes(' '));
  assert.ok(
    done.indexOf('2.1') < done.indexOf('1.2') && done.indexOf('3.1') < done.indexOf('1.2'),
    String(done),
  );
  await full.close();
});

test('the analyses of one run end at a time of their own', async () => {
  const short = createSqlAnalyzer({ ...patient, runMilliseconds: 0 });
  await short.analyze(plain);
  await assert.rejects(short.analyze(plain), /the analyses of the run took more than 0 s/);
  assert.equal((await short.analyze({ ...plain, run: 2 })).isPlain, true);
  short.forget(1);
  assert.equal((await short.analyze(plain)).isPlain, true);
  await short.close();
});

test('a signal ends the waiting, and the next step is analyzed', async () => {
  const cancel = new AbortController();
  const { signal } = cancel;
  const running = analyzer.analyze(plain, signal);
  const queued = analyzer.analyze(plain, signal);
  const next = analyzer.analyze({ ...plain, run: 9 });
  cancel.abort(new Error('cancelled'));
  await assert.rejects(running, /cancelled/);
  await assert.rejects(queued, /cancelled/);
  await assert.rejects(analyzer.analyze(plain, signal), /cancelled/);
  assert.equal((await next).isPlain, true);
});

test('the thread ends when it has nothing to do, and starts again', async () => {
  const idle = createSqlAnalyzer({ ...patient, idleMilliseconds: 0 });
  for (let round = 0; round < 3; round += 1) assert.equal((await idle.analyze(plain)).isPlain, true);
  await idle.close();
});

test('temporary tables are those of their run', async () => {
  const query = 'SELECT c FROM temp.main.aside';
  await analyzer.analyze({
    ...createRequest('CREATE TEMPORARY TABLE temp.main.aside AS SELECT b AS c FROM t'),
    run: 5,
  });
  const { lineage } = await analyzer.analyze({ ...createRequest(`INSERT INTO out ${query}`), run: 5 });
  assert.deepEqual(lineage.outputs[0]?.columns?.[0]?.inputs[0]?.field, 'b');
  const other = await analyzer.analyze({ ...createRequest(`INSERT INTO out ${query}`), run: 6 });
  assert.deepEqual(other.lineage.gaps, ['the temporary table "aside" was not made by an analyzed statement']);
});

test('a lineage that is too long keeps its tables', async () => {
  const columns = Array.from({ length: 1_180 }, (_, index) => `${'a'.repeat(200)}${index}`);
  const list = columns.map((name) => `a + b AS ${name}`).join(', ');
  const { lineage } = await analyzer.analyze({
    ...createRequest(`CREATE TABLE wide AS SELECT ${list} FROM t`),
    tables: { 'warehouse.main.t': fields('a b'), 'warehouse.main.wide': null },
  });
  assert.equal(lineage.outputs[0]?.columns, undefined);
  assert.deepEqual(lineage.gaps, ['the step has too many columns, so that only its tables are listed']);
});
