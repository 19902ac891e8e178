import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { readTable } from '../run/flow-fixture.ts';
import { renderOrchestration, start } from '../run/pipeline-fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
});
afterEach(() => fixture.dispose());

async function runIt(type: string, parameters: object) {
  const components = { Start: start('It'), It: { type, parameters } };
  await fixture.publish({ 'main.orch.yaml': renderOrchestration(components) });
  const { status, message } = await fixture.run('main');
  const step = [...fixture.steps.values()].findLast(({ name }) => name === 'It');
  return [status, message ?? step?.message ?? ''].filter((part) => part !== '').join(': ');
}
const runSql = (sqlScript: string) => runIt('sql-script', { sqlScript });
const notEnforced = 'keys are not enforced';

describe('PRIMARY KEY and UNIQUE', () => {
  it('are not enforced: the step counts the rows that repeat a key, and NULLs repeat nothing', async () => {
    assert.equal(
      await runSql(
        'create table orders (id int primary key, code varchar(10) unique, unique (code, line), line int)',
      ),
      'SUCCESS',
    );
    assert.equal(
      await runSql("insert into orders values (1, 'a', 1), (2, null, 1), (3, null, 1)"),
      'SUCCESS',
    );
    assert.equal(
      await runSql("insert into orders values (1, 'a', 1), (1, 'a', 2)"),
      `SUCCESS: 2 rows repeat the PRIMARY KEY (id) of orders: ${notEnforced}
2 rows repeat the UNIQUE (code) of orders: ${notEnforced}
1 row repeats the UNIQUE (code, line) of orders: ${notEnforced}`,
    );
    assert.deepEqual(await fixture.rows('select count(*) from orders'), [[5]]);
    assert.match(
      await runSql('delete from orders where line = 2; update orders set line = 7'),
      /1 row repeats/,
    );
    assert.match(await runSql('insert into orders (code) values (1)'), /^FAILED: .*NOT NULL/s);
  });

  it('are declared by constraints, create-table and ALTER TABLE, and taken away', async () => {
    const twice = async (table: string) => {
      await runSql(`truncate table ${table}`);
      return runSql(`insert into ${table} values (1, 1), (1, 1)`);
    };
    await runSql(
      'create table s.a (x int, y int, constraint k primary key (x, y) not enforced, foreign key (x) references b (x))',
    );
    assert.match(await twice('s.a'), /^SUCCESS: 1 row repeats the PRIMARY KEY \(x, y\) of a:/);
    await runSql('alter table s.a rename column x to z; alter table s.a alter column z set data type bigint');
    assert.match(await twice('s.a'), /1 row repeats the PRIMARY KEY \(z, y\) of a:/);
    await runSql('alter table s.a drop primary key');
    assert.equal(await twice('s.a'), 'SUCCESS');
    const columns = [
      ['x', 'INTEGER', '', '', '', 'No', 'Yes', "the 'x'"],
      ['y', 'INTEGER', '', '', '', 'No', 'No', ''],
    ];
    const made = { newTableName: 'c', createReplace: 'Create if not exists', columns, primaryKeys: ['Y'] };
    assert.equal(await runIt('create-table', made), 'SUCCESS');
    assert.match(await twice('c'), /the UNIQUE \(x\) of c.*\n.*the PRIMARY KEY \(y\) of c/);
    assert.match(
      await runIt('create-table', { ...made, primaryKeys: ['nix'] }),
      /^FAILED: .*"primaryKeys" names "nix"/,
    );
    await runSql('create table d (x int, y int); alter table d add constraint u unique (x)');
    assert.match(await twice('d'), /the UNIQUE \(x\) of d/);
    await runSql('alter table d add primary key (x)');
    assert.match(await twice('d'), /the PRIMARY KEY \(x\) of d.*\n.*the UNIQUE \(x\) of d/);
    await runSql('alter table d drop unique (x)');
    assert.doesNotMatch(await twice('d'), /UNIQUE/);
    assert.match(await runSql('alter table d drop constraint u'), /constraints have no names here/);
    assert.match(await runSql('alter table d add unique (nix)'), /the table has no column "nix"/);
  });

  it('of a table that is there already, or is replaced, are not those of the statement', async () => {
    await runSql('create table t (a int)');
    assert.equal(await runSql('create table if not exists t (b int primary key)'), 'SUCCESS');
    assert.equal(await runSql('insert into t values (1), (1)'), 'SUCCESS');
    await runSql('create or replace table t (a int primary key)');
    assert.match(await runSql('insert into t values (1), (1)'), /1 row repeats/);
    assert.equal(
      await runSql(
        'insert into t values (1), (1); create or replace table t (a int); insert into t values (1), (1)',
      ),
      'SUCCESS',
    );
    await runSql(
      'create temporary table t (a int, primary key (a)); insert into temp.main.t values (1), (1)',
    );
    await runSql('create table p (a int primary key) as select 1 a union all select 1');
    assert.match(await runSql('insert into p values (2)'), /1 row repeats the PRIMARY KEY \(a\) of p/);
  });

  it('are counted after a transformation, and shown by DESCRIBE and in a clone', async () => {
    await runSql(
      "create schema one; create table one.t (a int comment 'x' primary key, b int unique); create table source as select 1 a, 2 b union all select 1, 3",
    );
    const components = {
      In: readTable('source', ['a', 'b']),
      Out: {
        type: 'table-output',
        sources: ['In'],
        parameters: {
          schema: 'one',
          targetTable: 't',
          outputMode: 'Append',
          columnMapping: [
            ['a', 'a'],
            ['b', 'b'],
          ],
        },
      },
    };
    const pipeline = JSON.stringify({ type: 'transformation', version: '1.0', pipeline: { components } });
    await fixture.publish({ 'fill.tran.yaml': pipeline });
    assert.deepEqual(await fixture.run('fill'), { status: 'SUCCESS' });
    const step = [...fixture.steps.values()].findLast(({ name }) => name === 'Out');
    assert.equal(step?.message, `1 row repeats the PRIMARY KEY (a) of t: ${notEnforced}`);
    await runSql('create schema two clone one');
    assert.match(await runSql('insert into two.t values (5, 5)'), /1 row repeats the PRIMARY KEY \(a\) of t/);
  });
});
