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
const patient = { milliseconds: 60_000, waiting: 3, idleMilliseconds: 60_000 };
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
