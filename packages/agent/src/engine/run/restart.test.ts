/** A run that continues another one by its plan: what it skips, with which values it goes on, what it records. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { RestartedRun, RestartPlan, RunVariable, StepRecord } from '@headgate/contract';
import type { Variable } from '@headgate/pipelines';
import { carryVariable } from '../context/restart-values.ts';
import { createFixture, type Fixture } from './engine-fixture.ts';
import {
  grid,
  print,
  renderOrchestration,
  renderTransformation,
  start,
  text,
  update,
} from './pipeline-fixture.ts';

const sql = (sqlScript: string, more: object = {}) => ({
  type: 'sql-script',
  parameters: { sqlScript },
  ...more,
});
const then = (...success: string[]) => ({ transitions: { success } });

function plan(run: Partial<RestartedRun>, projectVariables: RunVariable[] = []): RestartPlan {
  const first = { variables: [], kept: [], open: [], ...run };
  return { restartOf: 'the-first', projectVariables, runs: [first] };
}
const kept = (component: string, end: RestartedRun['kept'][number]['end'] = 'SUCCESS') => ({
  component,
  end,
  next: [],
});

describe('what steps record for a restart', () => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await createFixture();
  });
  afterEach(() => fixture.dispose());

  const recordOf = (name: string): StepRecord | undefined =>
    [...fixture.steps.values()].findLast((step) => step.name === name)?.restart;

  it('is the order of the ends, where they lead, the changed variables and effects', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration(
        {
          Start: start('Set'),
          Set: { ...update('x', '"1"'), ...then('Ask') },
          Ask: {
            type: 'if',
            parameters: { mode: 'Advanced', condition1: '${x == "2"}' },
            transitions: { true: ['Never'], false: ['Read'] },
          },
          Never: sql('SELECT 1'),
          Read: sql('SELECT 1', then('Write')),
          Write: sql('CREATE TABLE t (a INTEGER)'),
        },
        { x: text('0'), unchanged: text('0') },
      ),
    });
    assert.equal((await fixture.run('main')).status, 'SUCCESS');
    assert.deepEqual(recordOf('Start'), { began: 0, ended: 1, next: ['Set'] });
    assert.deepEqual(recordOf('Set'), {
      began: 1,
      ended: 2,
      next: ['Ask'],
      variables: [{ name: 'x', value: '1' }],
    });
    assert.deepEqual(recordOf('Ask'), { began: 2, ended: 3, next: ['Read'], branch: false });
    assert.deepEqual(recordOf('Read'), { began: 3, ended: 4, next: ['Write'] });
    assert.deepEqual(recordOf('Write'), { began: 4, ended: 5, next: [], effect: true });
    const running = fixture.reports.find(({ name, restart }) => name === 'Write' && restart?.effect);
    assert.equal(running?.status, 'RUNNING');
  });

  it('has only SHARED variables of an iteration, and no value with a secret', async () => {
    fixture.secrets.set('token', 'a-very-secret-token');
    await fixture.publish({
      'main.orch.yaml': renderOrchestration(
        {
          Start: start('Each'),
          Each: {
            type: 'fixed-iterator',
            iterationTarget: 'Set',
            parameters: { variablesToIterate: ['x'], iterationValues: [['a'], ['b']] },
            ...then('Copy'),
          },
          Set: {
            type: 'update-scalar',
            parameters: {
              scalarsToUpdate: [
                ['x', '${x}!'],
                ['all', '${all}${x}'],
              ],
            },
          },
          Copy: update('out', 'token'),
        },
        { x: text(''), all: text('', 'SHARED'), out: text(''), token: text('${secret("token")}') },
      ),
    });
    assert.equal((await fixture.run('main')).status, 'SUCCESS');
    const set = [...fixture.steps.values()]
      .filter(({ name }) => name === 'Set')
      .map(({ restart }) => restart);
    assert.deepEqual(
      set.map((record) => record?.variables),
      [[{ name: 'all', value: 'a!' }], [{ name: 'all', value: 'a!b!' }]],
    );
    assert.notEqual(set[0]?.iteration, set[1]?.iteration);
    assert.ok(set.every((record) => record?.parent !== undefined));
    assert.deepEqual(recordOf('Copy')?.variables, [{ name: 'out', lost: 'secret' }]);
    assert.doesNotMatch(JSON.stringify(fixture.reports), /a-very-secret-token/);
  });

  it('has no value that is too large or cannot be stored', () => {
    const none = (value: string) => value;
    const carry = (value: Variable['value'], room = 1_000_000) =>
      carryVariable({ ...variable, value }, none, room).carried;
    const variable = { name: 'v', type: 'TEXT', behaviour: 'COPIED', settable: true, columns: [] } as const;
    assert.deepEqual(carry('x'), { name: 'v', value: 'x' });
    assert.deepEqual(carry(null), { name: 'v', value: null });
    assert.deepEqual(carry('x'.repeat(500_000)), { name: 'v', lost: 'size' });
    assert.deepEqual(carry('xx', 3), { name: 'v', lost: 'size' });
    for (const odd of ['\0', '\ud800', { columns: [], rows: [['a\0']] }])
      assert.deepEqual(carry(odd), { name: 'v', lost: 'text' });
  });
});

describe('a restarted run', () => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await createFixture();
  });
  afterEach(() => fixture.dispose());
  const listSteps = () => [...fixture.steps.values()].map(({ name, status }) => `${name} ${status}`);

  it('passes what is kept, takes the branch of before, and goes on with the values', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration(
        {
          Start: start('Write'),
          Write: sql('SELECT * FROM nowhere', then('Ask')),
          Ask: {
            type: 'if',
            parameters: { mode: 'Advanced', condition1: '${x == "0"}' },
            transitions: { true: ['Never'], false: ['Broken'] },
          },
          Never: sql('SELECT * FROM nowhere'),
          Broken: sql('SELECT * FROM nowhere', { transitions: { failure: ['Say'] } }),
          Say: print('x', 'rows'),
        },
        { x: text('0'), rows: grid({ a: 'TEXT', b: 'NUMBER' }, []) },
      ),
    });
    const restart = plan({
      kept: [kept('Start'), kept('Write'), kept('Ask', 'FALSE'), kept('Broken', 'FAILED')],
      variables: [
        { name: 'x', value: 'before' },
        {
          name: 'rows',
          value: [
            ['a', 1],
            [null, 2],
          ],
        },
      ],
    });
    assert.deepEqual(await fixture.run('main', { restart }), { status: 'SUCCESS' });
    assert.equal(fixture.lines[0], 'x = before');
    assert.match(fixture.lines[1] ?? '', /a.*1.*2/s);
    assert.deepEqual(listSteps(), [
      'Start SKIPPED',
      'Write SKIPPED',
      'Ask SKIPPED',
      'Broken SKIPPED',
      'Say SUCCESS',
    ]);
    const [first] = fixture.steps.values();
    assert.equal(first?.restart?.kept, true);
    assert.equal(first?.message, 'not run again, see the execution the-first: it ended there');
  });

  it('runs what is left of a branch even if another one reached an end', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('A', 'Long 1'),
        A: sql('SELECT 1', then('End')),
        End: { type: 'end-success' },
        'Long 1': sql('SELECT 1', then('Long 2')),
        'Long 2': sql('SELECT 1', then('Long 3')),
        'Long 3': sql('SELECT * FROM nowhere'),
      }),
    });
    const restart = plan({ kept: [kept('Start'), kept('A'), kept('Long 1'), kept('Long 2')] });
    const { status, message } = await fixture.run('main', { restart });
    assert.equal(status, 'FAILED');
    assert.match(message ?? '', /"Long 3" failed/);
  });

  it('skips the iterations that were done by their values, and continues a child in one', async () => {
    const iterator = {
      type: 'table-iterator',
      iterationTarget: 'Call',
      parameters: {
        mode: 'Advanced',
        query: 'SELECT a FROM todo ORDER BY a',
        columnMapping1: [['a', 'x']],
      },
    };
    await fixture.publish({
      'main.orch.yaml': renderOrchestration(
        {
          Start: start('Each'),
          Each: iterator,
          Call: {
            type: 'run-orchestration',
            parameters: { orchestrationJob: 'child', setScalarVariables: [['x', '${x}']] },
          },
        },
        { x: text('') },
      ),
      'child.orch.yaml': renderOrchestration(
        {
          Start: start('First'),
          First: sql("INSERT INTO log VALUES ('first ${x}')", then('Second')),
          Second: sql("INSERT INTO log VALUES ('second ${x} ${y}')"),
        },
        { x: text(''), y: text('') },
      ),
    });
    await fixture.connection.run("CREATE TABLE log (a VARCHAR); CREATE TABLE todo AS SELECT 'b' AS a");
    await fixture.connection.run("INSERT INTO todo VALUES ('c'), ('d')");
    await fixture.run('main');
    const keys = new Map(
      [...fixture.steps.values()].flatMap(({ name, message, restart }) =>
        name === 'Call' ? [[message?.at(-1) ?? '', restart?.iteration ?? '']] : [],
      ),
    );
    await fixture.connection.run("DELETE FROM log; INSERT INTO todo VALUES ('a')");
    const open = [
      {
        component: 'Each',
        iterations: [keys.get('b') ?? ''],
        partial: [{ iteration: keys.get('c') ?? '', run: 1 }],
      },
    ];
    const child = {
      variables: [{ name: 'y', value: 'of before' }],
      kept: [kept('Start'), kept('First')],
      open: [],
    };
    const first = plan({ kept: [kept('Start')], open });
    const restart = { ...first, runs: [...first.runs, child] };
    assert.equal((await fixture.run('main', { restart })).status, 'SUCCESS');
    assert.deepEqual((await fixture.rows('SELECT a FROM log')).flat(), [
      'first a',
      'second a ',
      'second c of before',
      'first d',
      'second d ',
    ]);
    const each = [...fixture.steps.values()].findLast(({ name }) => name === 'Each');
    assert.equal(each?.message, '4 iterations; 1 of them done before the restart');
  });

  it('continues in the first attempt only', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('Call'),
        Call: { type: 'run-orchestration', retries: 1, parameters: { orchestrationJob: 'child' } },
      }),
      'child.orch.yaml': renderOrchestration({
        Start: start('First'),
        First: sql('INSERT INTO log VALUES (1)', then('Second')),
        Second: sql('SELECT * FROM nowhere'),
      }),
    });
    await fixture.connection.run('CREATE TABLE log (a INTEGER)');
    const first = plan({ kept: [kept('Start')], open: [{ component: 'Call', run: 1 }] });
    const child = { variables: [], kept: [kept('Start'), kept('First')], open: [] };
    assert.equal(
      (await fixture.run('main', { restart: { ...first, runs: [...first.runs, child] } })).status,
      'FAILED',
    );
    assert.deepEqual(await fixture.rows('SELECT count(*) FROM log'), [[1]]);
  });

  it('passes the outputs of a transformation that are kept', async () => {
    const output = (source: string, targetTable: string) => ({
      type: 'rewrite-table',
      sources: [source],
      parameters: { targetTable },
    });
    await fixture.publish({
      'main.tran.yaml': renderTransformation({
        Read: { type: 'sql', parameters: { query: 'SELECT 1 AS a' } },
        One: output('Read', 'one'),
        Two: output('Read', 'two'),
      }),
    });
    assert.equal((await fixture.run('main', { restart: plan({ kept: [kept('One')] }) })).status, 'SUCCESS');
    assert.deepEqual(listSteps(), ['One SKIPPED', 'Two SUCCESS']);
    await assert.rejects(fixture.rows('SELECT * FROM one'), /one/);
  });

  it('has the values of the project at the start of the restarted execution', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({ Start: start('Say'), Say: print('p', 'new') }),
    });
    const variables = [
      { name: 'p', type: 'TEXT', behaviour: 'COPIED', value: 'now' },
      { name: 'new', type: 'TEXT', behaviour: 'COPIED', value: 'n' },
    ] as const;
    const record = { name: 'p', type: 'TEXT', source: 'project' } as const;
    const run = (value: RunVariable) => fixture.run('main', { variables, restart: plan({}, [value]) });
    assert.equal((await run({ ...record, value: 'then' })).status, 'SUCCESS');
    assert.deepEqual(fixture.lines, ['p = then', 'new = n']);
    assert.equal((await run({ ...record, value: 'now' })).status, 'SUCCESS');
    const cut = await run({ ...record, value: 'the beginning of…', truncated: true });
    assert.equal(cut.status, 'FAILED');
    assert.match(
      cut.message ?? '',
      /the project's variable "p" may have changed since the execution the-first/,
    );
    const masked = await run({ ...record, value: 'key=***' });
    assert.match(masked.message ?? '', /"p" may have changed/);
  });

  it('fails if a variable of the plan is gone', async () => {
    await fixture.publish({ 'main.orch.yaml': renderOrchestration({ Start: start() }) });
    const { status, message } = await fixture.run('main', {
      restart: plan({ variables: [{ name: 'gone', value: '1' }] }),
    });
    assert.equal(status, 'FAILED');
    assert.match(message ?? '', /no variable "gone"/);
  });
});
