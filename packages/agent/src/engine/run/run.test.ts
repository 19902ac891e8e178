// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from './engine-fixture.ts';
import {
  number,
  print,
  renderOrchestration,
  renderTransformation,
  start,
  text,
  update,
} from './pipeline-fixture.ts';
import { runBounds } from './run.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
});
afterEach(() => fixture.dispose());

const statuses = () => [...fixture.steps.values()].map((step) => `${step.name}: ${step.status}`);
const step = (name: string) => [...fixture.steps.values()].find((each) => each.name === name);

/** A condition that is always true, so that a component behind it may call its own pipeline. */
const always = (target: string) => ({
  type: 'if',
  parameters: { mode: 'Advanced', condition1: '1 == 1' },
  transitions: { true: [target] },
});

describe('a whole run', () => {
  it('loads a CSV file, transforms it, asserts the rows, rewrites a table and unloads Parquet', async () => {
    await fixture.publish({
      'data/orders.csv': 'id,customer,amount\n1,1,10.5\n2,2,20\n3,1,30\n4,3,5\n',
      'main.orch.yaml': renderOrchestration(
        {
          Start: start('Load'),
          Load: {
            type: 'file-load',
            parameters: { source: 'data/orders.csv', fileType: 'CSV', header: 'Yes', targetTable: 'orders' },
            transitions: { success: ['Transform'] },
          },
          Transform: {
            type: 'run-transformation',
            parameters: {
              transformationJob: 'transform/totals',
              setScalarVariables: [['least', '${least_amount}']],
            },
            transitions: { success: ['Check'] },
          },
          Check: {
            type: 'assert-table',
            parameters: {
              tableName: 'totals',
              exists: 'Yes',
              rowCountComparisonType: 'Equal To',
              rowCountValue: '2',
            },
            transitions: { success: ['Unload'] },
          },
          Unload: {
            type: 'file-unload',
            parameters: { table: 'totals', target: 'out/totals.parquet', fileType: 'PARQUET' },
            transitions: { success: ['Done'] },
          },
          Done: { type: 'end-success', parameters: {} },
        },
        {},
      ),
      'transform/totals.tran.yaml': renderTransformation(
        {
          Orders: {
            type: 'table-input',
            parameters: { targetTable: 'orders', columnNames: ['id', 'customer', 'amount'] },
          },
          Customers: {
            type: 'fixed-flow',
            parameters: {
              columns: [
                ['customer', 'NUMBER', '10', '0'],
                ['name', 'VARCHAR', '', ''],
              ],
              values: [
                ['1', "O'Brien"],
                ['2', 'Ann'],
                ['3', 'Cat'],
              ],
            },
          },
          Large: {
            type: 'filter',
            sources: ['Orders'],
            parameters: {
              filterConditions: [['amount', 'Is', 'Greater than or equal to', '${least}']],
              combineCondition: 'And',
            },
          },
          Named: {
            type: 'join',
            sources: ['Large', 'Customers'],
            parameters: {
              mainTable: 'Large',
              mainTableAlias: 'o',
              joins: [['Customers', 'c', 'Inner']],
              joinExpressions: [['"o"."customer" = "c"."customer"', 'o_Inner_c']],
              columnMappings: [
                ['c.name', 'name'],
                ['o.amount', 'amount'],
              ],
            },
          },
          Taxed: {
            type: 'calculator',
            sources: ['Named'],
            parameters: { includeInputColumns: 'Yes', calculations: [['"amount" * 2', 'doubled']] },
          },
          Totals: {
            type: 'aggregate',
            sources: ['Taxed'],
            parameters: { groupings: ['name'], aggregations: [['doubled', 'Sum']] },
          },
          Write: {
            type: 'rewrite-table',
            sources: ['Totals'],
            parameters: { database: '[Environment Default]', targetTable: 'totals', orderBy: ['name'] },
          },
        },
        { least: number('0') },
      ),
    });
    const outcome = await fixture.run('main', {
      variables: [{ name: 'least_amount', type: 'NUMBER', behaviour: 'SHARED', value: 10 }],
    });
    assert.deepEqual(outcome, { status: 'SUCCESS' });
    assert.deepEqual(await fixture.rows('select * from totals'), [
      ['Ann', 40],
      ["O'Brien", 81],
    ]);
    const parquet = join(fixture.filesFolder, 'out/totals.parquet');
    assert.deepEqual(await fixture.rows(`select count(*) from read_parquet('${parquet}')`), [[2]]);
    assert.deepEqual(readdirSync(join(fixture.filesFolder, 'out')), ['totals.parquet']);
    assert.deepEqual(statuses(), [
      'Start: SUCCESS',
      'Load: SUCCESS',
      'Transform: SUCCESS',
      'Write: SUCCESS',
      'Check: SUCCESS',
      'Unload: SUCCESS',
      'Done: SUCCESS',
    ]);
    assert.equal(step('Load')?.rowCount, 4);
    assert.equal(step('Write')?.rowCount, 2);
    assert.equal(step('Check')?.rowCount, 2);
    assert.equal(step('Unload')?.rowCount, 2);
    assert.equal(step('Transform')?.childPipeline?.id, step('Write')?.pipelineRunId);
    assert.equal(step('Start')?.pipelineRunId, '00000000-0000-4000-8000-00000000e0e0');
  });

  it('reports each step as running and then as ended', async () => {
    await fixture.publish({ 'p.orch.yaml': renderOrchestration({ Start: start() }) });
    await fixture.run('p.orch.yaml');
    assert.deepEqual(
      fixture.reports.map(({ status, finishedAt }) => [status, finishedAt !== undefined]),
      [
        ['RUNNING', false],
        ['SUCCESS', true],
      ],
    );
  });

  it('runs a transformation directly', async () => {
    await fixture.publish({
      't.tran.yaml': renderTransformation({
        One: { type: 'sql', parameters: { query: 'select 1 as a;' } },
        Out: { type: 'rewrite-table', sources: ['One'], parameters: { targetTable: 'one' } },
      }),
    });
    assert.deepEqual(await fixture.run('t'), { status: 'SUCCESS' });
    assert.deepEqual(await fixture.rows('select * from one'), [[1]]);
  });
});

describe('ends and limits', () => {
  it('an unknown component type ends the run before its first step, naming type and file', async () => {
    await fixture.publish({
      'a/p.orch.yaml': renderOrchestration({
        Start: start('Odd'),
        Odd: { type: 'salesforce-query', parameters: {} },
      }),
    });
    const outcome = await fixture.run('a/p');
    assert.equal(outcome.status, 'FAILED');
    assert.match(
      outcome.message ?? '',
      /^not started: a\/p\.orch\.yaml, line 1, component "Odd": .*"salesforce-query"/,
    );
    assert.deepEqual(statuses(), []);
  });

  it('an unknown type in a transformation ends the run, and no output is written', async () => {
    await fixture.publish({
      't.tran.yaml': renderTransformation({
        Odd: { type: 'vendor-thing', parameters: {} },
        Out: { type: 'rewrite-table', sources: ['Odd'], parameters: { targetTable: 'o' } },
        One: { type: 'sql', parameters: { query: 'select 1 as a' } },
        Fine: { type: 'rewrite-table', sources: ['One'], parameters: { targetTable: 'fine' } },
      }),
    });
    assert.match((await fixture.run('t')).message ?? '', /"vendor-thing" in t\.tran\.yaml/);
    assert.deepEqual(statuses(), []);
    assert.deepEqual(
      await fixture.rows("select * from information_schema.tables where table_name = 'fine'"),
      [],
    );
  });

  it('a failure takes the failure transition; a skipped component takes the success transition', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        {
          Start: start('Skipped'),
          Skipped: { type: 'sql-script', skipped: true, parameters: {}, transitions: { success: ['Bad'] } },
          Bad: {
            type: 'sql-script',
            parameters: { sqlScript: 'select * from nowhere' },
            transitions: { failure: ['Print'] },
          },
          Print: print('x'),
        },
        { x: text('handled') },
      ),
    });
    assert.deepEqual(await fixture.run('p'), { status: 'SUCCESS' });
    assert.deepEqual(statuses(), ['Start: SUCCESS', 'Skipped: SKIPPED', 'Bad: FAILED', 'Print: SUCCESS']);
    assert.match(step('Bad')?.message ?? '', /nowhere does not exist/);
  });

  it('an if continues by true or by false', async () => {
    const when = (parameters: object) => ({
      type: 'if',
      parameters,
      transitions: { true: ['Good'], false: ['Bad'] },
    });
    const ends = {
      Good: { type: 'end-success', parameters: {} },
      Bad: { type: 'end-failure', parameters: {} },
    };
    await fixture.publish({
      'simple.orch.yaml': renderOrchestration(
        {
          Start: start('If'),
          If: when({
            mode: 'Simple',
            condition: [['n', 'Is', 'Greater than', '9']],
            combineConditions: 'And',
          }),
          ...ends,
        },
        { n: number('10') },
      ),
      'advanced.orch.yaml': renderOrchestration(
        {
          Start: start('If'),
          If: when({ mode: 'Advanced', condition1: '${a} == "y" && "${a}${a}" === "yy"' }),
          ...ends,
        },
        { a: text('n') },
      ),
    });
    assert.deepEqual(await fixture.run('simple'), { status: 'SUCCESS' });
    assert.deepEqual(await fixture.run('advanced'), {
      status: 'FAILED',
      message: 'advanced.orch.yaml ended at "Bad"',
    });
    assert.deepEqual(await fixture.run('advanced', { scalarVariables: { a: 'y' } }), { status: 'SUCCESS' });
  });

  it('a pipeline that calls itself fails with a message that shows the chain of calls', async () => {
    const self = { type: 'run-orchestration', parameters: { orchestrationJob: 'p' } };
    await fixture.publish({
      'p.orch.yaml': renderOrchestration({ Start: start('If'), If: always('Again'), Again: self }),
    });
    const { status, message } = await fixture.run('p');
    assert.equal(status, 'FAILED');
    assert.equal(
      message,
      'the depth of calls exceeds 50 (p.orch.yaml → p.orch.yaml → p.orch.yaml → p.orch.yaml → … → p.orch.yaml → p.orch.yaml): check for a pipeline that calls itself endlessly',
    );
    assert.equal(fixture.steps.size, 150);
  });

  it('the number of steps of a run is limited', async () => {
    const fork = {
      type: 'run-orchestration',
      parameters: { orchestrationJob: 'p' },
      transitions: { unconditional: ['Second'] },
    };
    const second = { type: 'run-orchestration', parameters: { orchestrationJob: 'p' } };
    await fixture.publish({
      'p.orch.yaml': renderOrchestration({
        Start: start('If'),
        If: always('First'),
        First: fork,
        Second: second,
      }),
    });
    const { message } = await fixture.run('p', { bounds: { ...runBounds, steps: 100 } });
    assert.match(message ?? '', /more than 100 steps/);
    assert.ok(fixture.steps.size <= 100);
  });

  it('an expression that never ends fails its component', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        { Start: start('Loop'), Loop: update('n', '(() => { for (;;); })()') },
        { n: number('') },
      ),
    });
    const { message } = await fixture.run('p', { bounds: { ...runBounds, expressionMilliseconds: 50 } });
    assert.match(message ?? '', /ran longer than 50 ms/);
  });

  it('messages for a missing pipeline, a broken pipeline and a missing file say what to do', async () => {
    await fixture.publish({
      'broken.orch.yaml': 'type: orchestration\npipeline: [\n',
      'file.orch.yaml': renderOrchestration({
        Start: start('Load'),
        Load: { type: 'file-load', parameters: { source: 'no.csv', fileType: 'CSV', targetTable: 't' } },
      }),
    });
    assert.match(
      (await fixture.run('gone')).message ?? '',
      /no pipeline "gone" \(looked for gone\.orch\.yaml and gone\.tran\.yaml\): publish it/,
    );
    assert.match(
      (await fixture.run('broken')).message ?? '',
      /^not started: broken\.orch\.yaml, line \d+: the pipeline cannot be read: line \d+, column \d+: /,
    );
    assert.match(
      (await fixture.run('file')).message ?? '',
      /no file "no\.csv".*publish it with the pipelines/,
    );
  });

  it('a graceful cancel lets the running step finish and starts no other', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration({
        Start: start('First'),
        First: {
          type: 'sql-script',
          parameters: { sqlScript: 'select 1' },
          transitions: { success: ['Second'] },
        },
        Second: { type: 'sql-script', parameters: { sqlScript: 'select 1' } },
      }),
    });
    const push = fixture.reports.push.bind(fixture.reports);
    fixture.reports.push = (...steps) => {
      if (steps[0]?.name === 'First') fixture.cancel();
      return push(...steps);
    };
    assert.equal((await fixture.run('p')).status, 'CANCELLED');
    assert.deepEqual(statuses(), ['Start: SUCCESS', 'First: SUCCESS', 'Second: SKIPPED']);
    const [, , second] = [...fixture.steps.values()];
    assert.equal(second?.message, 'not run: cancelled by "a tester"; the running steps have finished');
  });
});
