/** What a run records beside the status of its steps: log lines, variables, SQL and progress. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { logLineLimit, stepSqlLimit } from '@headgate/contract';
import { createStepSql } from '../context/step-sql.ts';
import type { LogSource } from '../ports/ports.ts';
import { createBoundedLog } from './bounded-log.ts';
import { createFixture, type Fixture } from './engine-fixture.ts';
import { grid, number, renderOrchestration, start, text } from './pipeline-fixture.ts';

const sql = (sqlScript: string) => ({ type: 'sql-script', parameters: { sqlScript } });

describe('a run', () => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await createFixture();
  });
  afterEach(() => fixture.dispose());
  const find = (name: string) => [...fixture.steps.values()].find((step) => step.name === name);

  it('shows the statements of a step as they were run, with secrets masked', async () => {
    fixture.secrets.set('key', 'hunter2-hunter2');
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        { Start: start('Script'), Script: sql(`create table t as select 1 as n;\nselect '\${key}'`) },
        { key: text(`\${secret("key")}`) },
      ),
    });
    assert.equal((await fixture.run('p')).status, 'SUCCESS');
    assert.equal(find('Script')?.sql, "create table t AS select 1 as n;\nselect '***';");
    assert.equal(find('Start')?.sql, undefined);
  });

  it('shows the progress of an iterator and the SQL of a step while they run, and no progress afterwards', async () => {
    const iterator = {
      type: 'grid-iterator',
      iterationTarget: 'Slow',
      parameters: { gridVariable: 'rows', gridIteratorVariableMapping: [['n', 'n']] },
    };
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        {
          Start: start('Each'),
          Each: iterator,
          Slow: sql(`SELECT count(*) FROM range(10000000000) a, range(\${n}) b`),
        },
        { n: number('0'), rows: grid({ n: 'NUMBER' }, [[0], [1000], [0]]) },
      ),
    });
    const run = fixture.run('p');
    const running = (name: string) =>
      fixture.reports.findLast((step) => step.name === name && step.status === 'RUNNING');
    while (running('Each')?.progress?.done !== 1 || running('Slow')?.sql === undefined) await setImmediate();
    assert.deepEqual(running('Each')?.progress, { done: 1, total: 3, unit: 'iterations', percent: 33 });
    fixture.connection.interrupt();
    assert.equal((await run).status, 'FAILED');
    assert.equal(find('Each')?.status, 'FAILED');
    assert.equal(find('Each')?.progress, undefined);
  });

  it('records each variable of a pipeline with its source, and never a secret', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        { Start: start('End'), End: { type: 'end-success' } },
        {
          plain: text('a'),
          given: number('1'),
          key: text(`\${secret("key")}`),
          resolved: text(`\${given}!`),
        },
      ),
    });
    fixture.secrets.set('key', 'hunter2');
    const frame = { type: 'TEXT', behaviour: 'SHARED' } as const;
    await fixture.run('p', {
      scalarVariables: { given: 7 },
      variables: [
        { ...frame, name: 'ofProject', value: 'x' },
        { ...frame, name: 'overridden', value: 'y', isOverride: true },
      ],
    });
    assert.deepEqual(fixture.variables, [
      {
        pipelineRunId: '00000000-0000-4000-8000-00000000e0e0',
        variables: [
          { name: 'given', type: 'NUMBER', source: 'request', value: 7 },
          { name: 'key', type: 'TEXT', source: 'default', secretReference: 'key' },
          { name: 'ofProject', type: 'TEXT', source: 'project', value: 'x' },
          { name: 'overridden', type: 'TEXT', source: 'override', value: 'y' },
          { name: 'plain', type: 'TEXT', source: 'default', value: 'a' },
          { name: 'resolved', type: 'TEXT', source: 'default', value: `\${given}!` },
        ],
      },
    ]);
  });

  it('cuts long texts and grids of variables, and says so', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration({ Start: start('End'), End: { type: 'end-success' } }, {}),
    });
    const rows = Array.from({ length: 5_000 }, (_, n) => [n, `row ${n}`]);
    const columns = [
      { name: 'n', type: 'NUMBER' as const },
      { name: 'text', type: 'TEXT' as const },
    ];
    await fixture.run('p', {
      variables: [
        { name: 'grid', type: 'GRID', behaviour: 'SHARED', value: { columns, rows } },
        { name: 'text', type: 'TEXT', behaviour: 'SHARED', value: 'x'.repeat(60_000) },
      ],
    });
    const [cut, long] = fixture.variables[0]?.variables ?? [];
    assert.deepEqual([cut?.truncated, cut?.rowCount, long?.truncated], [true, 5_000, true]);
    assert.deepEqual(cut?.value, { columns, rows: rows.slice(0, 100) });
    assert.equal(String(long?.value).length, 10_000);
  });
});

describe('the log of a run', () => {
  const source: LogSource = { step: 's', stream: 'stdout' };
  function collect() {
    const lines: ({ line: string } & LogSource)[] = [];
    const log = createBoundedLog(
      (line, from) => lines.push({ line, ...from }),
      (text) => text.replaceAll('secret', '***'),
    );
    return { lines, log };
  }

  it('has one line for each line of a text, masked', () => {
    const { lines, log } = collect();
    log('one\r\ntwo secret\n', source);
    log('', source);
    assert.deepEqual(
      lines.map(({ line }) => line),
      ['one', 'two ***', ''],
    );
  });

  it('cuts a long line, and says so', () => {
    const { lines, log } = collect();
    log('x'.repeat(25_000), source);
    assert.equal(lines[0]?.line.length, logLineLimit);
    assert.match(lines[0]?.line ?? '', /the line has 25000 characters/);
  });

  it('ends with one line that says that output was dropped', () => {
    const { lines, log } = collect();
    for (let printed = 0; printed < 100_010; printed += 1) log('a', source);
    assert.equal(lines.length, 100_001);
    assert.match(lines.at(-1)?.line ?? '', /^further output of this run is dropped/);
    assert.equal(lines.at(-1)?.stream, 'component');
    const large = collect();
    for (let printed = 0; printed < 2_000; printed += 1) large.log('é'.repeat(5_000), source);
    assert.equal(large.lines.length, 1_049);
  });
});

describe('the SQL of a step', () => {
  it('is cut at its limit', () => {
    const add = createStepSql((text) => text, { left: 1_000_000 });
    assert.equal(add('select 1; '), 'select 1;');
    assert.equal(add('select 2'), 'select 1;\nselect 2;');
    assert.equal(add(`select '${'x'.repeat(20_000)}'`)?.length, stepSqlLimit);
    assert.equal(add('select 3'), undefined);
  });

  it('is left out once the run has shown enough', () => {
    const room = { left: 10 };
    assert.equal(createStepSql((text) => text, room)('select 1'), 'select 1;');
    assert.match(createStepSql((text) => text, room)('select 1') ?? '', /^-- not shown/);
  });
});
