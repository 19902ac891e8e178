/** The examples that teach: each runs from its files, and its tables are as its README row says. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from './engine-fixture.ts';

const examples = join(import.meta.dirname, '../../../../../examples');
let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
});
afterEach(() => fixture.dispose());

async function publishExample(name: string): Promise<void> {
  const folder = join(examples, name);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile() && entry.name !== 'project.json');
  const files = paths.map((entry) => join(entry.parentPath, entry.name));
  await fixture.publish(
    Object.fromEntries(files.map((file) => [relative(folder, file), readFileSync(file, 'utf8')])),
  );
}

async function run(pipelineName: string, scalarVariables: Record<string, string> = {}): Promise<void> {
  const outcome = await fixture.run(pipelineName, { scalarVariables });
  assert.deepEqual(outcome, { status: 'SUCCESS' }, outcome.message);
}

describe('the example', () => {
  it('hello-world makes a table and prints', async () => {
    await publishExample('hello-world');
    await run('hello');
    assert.deepEqual(await fixture.rows('select * from greeting'), [['Hello, world']]);
    assert.deepEqual(fixture.lines, ['greeting = Hello, world']);
  });

  it('incremental-load merges only what is newer than the high-water mark', async () => {
    await publishExample('incremental-load');
    const orders = 'select id, customer, amount from orders order by id';
    await run('Orders/Load new orders');
    assert.deepEqual(await fixture.rows(orders), [
      [1, 'Ada', 30.5],
      [2, 'Ben', 8],
      [3, 'Cem', 12.25],
    ]);
    await run('Orders/Load new orders', { file: 'orders-tuesday.csv' });
    assert.deepEqual(await fixture.rows(orders), [
      [1, 'Ada', 30.5],
      [2, 'Ben', 9],
      [3, 'Cem', 12.25],
      [4, 'Dee', 99.9],
    ]);
    assert.deepEqual(fixture.lines, [
      ...['mark = 1970-01-01T00:00:00', 'newer = 3'],
      ...['mark = 2026-03-02T16:45:00', 'newer = 2'],
    ]);
  });

  it('files loads every file but the wrong one, which it reports', async () => {
    await publishExample('files');
    await run('Files/Load all files');
    assert.deepEqual(
      await fixture.rows('select CAST(day AS VARCHAR), shop, amount from sales order by all'),
      [
        ['2026-03-02', 'Bergen', 80],
        ['2026-03-02', 'Oslo', 120.5],
        ['2026-03-04', 'Oslo', 99],
      ],
    );
    const [[file, message] = []] = await fixture.rows('select file, message from load_errors');
    assert.equal(file, 'sales-tuesday.csv');
    assert.match(String(message), /a lot/);
    assert.deepEqual(fixture.lines, ['errors = 1']);
  });

  it('changes keeps every version of a customer', async () => {
    await publishExample('changes');
    await run('Customers/Load customers');
    await run('Customers/Load customers', { file: 'customers-april.csv', day: '2026-04-01' });
    const versions =
      'select id, name, city, CAST(valid_from AS VARCHAR), CAST(valid_to AS VARCHAR) from customers order by id, valid_from';
    const march = '2026-03-01';
    const april = '2026-04-01';
    assert.deepEqual(await fixture.rows(versions), [
      [1, 'Ada', 'London', march, null],
      [2, 'Ben', 'Paris', march, april],
      [2, 'Ben', 'Berlin', april, null],
      [3, 'Cem', 'Ankara', march, april],
      [4, 'Dee', 'Delhi', april, null],
    ]);
    const before = await fixture.rows(versions);
    await run('Customers/Load customers', { file: 'customers-april.csv', day: '2026-05-01' });
    assert.deepEqual(await fixture.rows(versions), before, 'the same file again changes nothing');
  });
});
