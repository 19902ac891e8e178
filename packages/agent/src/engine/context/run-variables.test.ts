// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { grid, number, print, renderOrchestration, start, text, update } from '../run/pipeline-fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
});
afterEach(() => fixture.dispose());

const step = (name: string) => [...fixture.steps.values()].find((each) => each.name === name);

describe('variables', () => {
  it('are taken from the request first, then the pipeline, then the project', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        { Start: start('Print'), Print: print('a', 'b', 'c') },
        { a: text('pipeline'), b: text('pipeline') },
      ),
    });
    const project = (name: string) =>
      ({ name, type: 'TEXT', behaviour: 'SHARED', value: 'project' }) as const;
    await fixture.run('p', {
      variables: [project('a'), project('b'), project('c')],
      scalarVariables: { a: 'request' },
    });
    assert.deepEqual(fixture.lines, ['a = request', 'b = pipeline', 'c = project']);
    assert.equal(step('Print')?.message, 'a = request\nb = pipeline\nc = project');
  });

  it('keep a number a number: 2 + 3 is 5', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        {
          Start: start('Add'),
          Add: { ...update('n', 'n + 3'), transitions: { success: ['Print'] } },
          Print: print('n'),
        },
        { n: number('2') },
      ),
    });
    await fixture.run('p');
    assert.deepEqual(fixture.lines, ['n = 5']);
  });

  it('are set from the first row of a query', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        {
          Start: start('Query'),
          Query: {
            type: 'query-to-scalar',
            parameters: {
              mode: 'Advanced',
              query: "select 42 as n, 'x' as t -- end",
              scalarVariableMapping: [
                ['n', 'N'],
                ['t', 't'],
              ],
            },
            transitions: { success: ['Print'] },
          },
          Print: print('n', 't'),
        },
        { n: number(''), t: text('') },
      ),
    });
    assert.deepEqual(await fixture.run('p'), { status: 'SUCCESS' });
    assert.deepEqual(fixture.lines, ['n = 42', 't = x']);
  });

  it('tell a run of a schedule its logical time, also in called pipelines and in SQL', async () => {
    const schedule = {
      id: '00000000-0000-4000-8000-00000000cccc',
      name: 'Nightly',
      tick: '2026-03-01T02:00:00.000Z',
    };
    await fixture.publish({
      'p.orch.yaml': renderOrchestration({
        Start: start('Call'),
        Call: { type: 'run-orchestration', parameters: { orchestrationJob: 'child.orch.yaml' } },
      }),
      'child.orch.yaml': renderOrchestration(
        {
          Start: start('Set'),
          Set: {
            type: 'update-scalar',
            parameters: {
              scalarsToUpdate: [
                ['t', '${sysvar.schedule.name} at ${sysvar.schedule.tick}'],
                ['d', "${'schedule' in sysvar ? sysvar.schedule.tick.slice(0, 10) : 'today'}"],
              ],
            },
            transitions: { success: ['Print'] },
          },
          Print: print('t', 'd'),
        },
        { t: text(''), d: text('') },
      ),
    });
    assert.deepEqual(await fixture.run('p', { schedule }), { status: 'SUCCESS' });
    assert.deepEqual(fixture.lines, ['t = Nightly at 2026-03-01T02:00:00.000Z', 'd = 2026-03-01']);
    fixture.lines.length = 0;
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        {
          Start: start('Set'),
          Set: {
            type: 'update-scalar',
            parameters: { scalarsToUpdate: [['d', "${'schedule' in sysvar ? 'tick' : 'today'}"]] },
            transitions: { success: ['Print'] },
          },
          Print: print('d'),
        },
        { d: text('') },
      ),
    });
    assert.deepEqual(await fixture.run('p'), { status: 'SUCCESS' });
    assert.deepEqual(fixture.lines, ['d = today']);
  });

  it('are passed to a called pipeline, including grids; post-processing sees how the component ended', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        {
          Start: start('Call'),
          Call: {
            type: 'run-orchestration',
            parameters: {
              orchestrationJob: 'child.orch.yaml',
              setScalarVariables: [['s', 'from ${sysvar.thisPipeline.fullName}']],
              setGridVariables: [
                {
                  variable: 'g',
                  status: 'grid',
                  gridValues: { fromGrid: { variable: 'mine', columns: ['b'] } },
                },
              ],
            },
            postProcessing: {
              updateScalarVariables: [
                ['ended', '${sysvar.thisComponent.name}: ${sysvar.thisComponent.status}'],
              ],
            },
            transitions: { success: ['Print'] },
          },
          Print: print('ended'),
        },
        {
          ended: text(''),
          mine: grid({ a: 'TEXT', b: 'NUMBER' }, [
            ['x', '1'],
            ['y', '2'],
          ]),
        },
      ),
      'child.orch.yaml': renderOrchestration(
        { Start: start('Inner'), Inner: print('s', 'g') },
        { s: text(''), g: grid({ v: 'NUMBER' }, []) },
      ),
    });
    assert.deepEqual(await fixture.run('p'), { status: 'SUCCESS' });
    assert.deepEqual(fixture.lines, ['s = from p', 'g = [v] [1] [2]', 'ended = Call: SUCCESS']);
  });

  it('get texts in which expressions are replaced; without ${…} a value is a text', async () => {
    const scalarsToUpdate = [
      ['t', 'n + 1'],
      ['n', '${n + 1}'],
      ['both', '${n} of ${t}'],
    ];
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        {
          Start: start('Set'),
          Set: {
            type: 'update-scalar',
            parameters: { scalarsToUpdate },
            transitions: { success: ['Print'] },
          },
          Print: print('t', 'n', 'both'),
        },
        { t: text(''), n: number('2'), both: text('') },
      ),
    });
    assert.deepEqual(await fixture.run('p'), { status: 'SUCCESS' });
    assert.deepEqual(fixture.lines, ['t = n + 1', 'n = 3', 'both = 3 of n + 1']);
  });

  it('with ${…} in their default are resolved when they are read', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        {
          Start: start('Before'),
          Before: { ...print('table', 'n', 'g'), transitions: { success: ['Set'] } },
          Set: { ...update('region', '"us"'), transitions: { success: ['Longer'] } },
          Longer: { ...update('long', 'table.length'), transitions: { success: ['Fix'] } },
          Fix: { ...update('n', '7'), transitions: { success: ['After'] } },
          After: { ...print('table', 'n', 'g', 'long'), transitions: { success: ['Is it?'] } },
          'Is it?': {
            type: 'if',
            parameters: { mode: 'Simple', condition: [['table', 'Is', 'Equal to', 'sales_us']] },
            transitions: { false: ['Fail'] },
          },
          Fail: { type: 'end-failure', parameters: {} },
        },
        {
          region: text('eu'),
          table: text('sales_${region}'),
          n: number('${table.length}'),
          long: number('0'),
          g: grid({ a: 'TEXT', b: 'NUMBER' }, [['${region}', '${1 + 1}']]),
          unread: text('${nowhere.else}'),
        },
      ),
    });
    assert.deepEqual(await fixture.run('p'), { status: 'SUCCESS' });
    assert.deepEqual(fixture.lines, [
      ...['table = sales_eu', 'n = 8', 'g = [a, b] ["eu",2]'],
      ...['table = sales_us', 'n = 7', 'g = [a, b] ["us",2]', 'long = 8'],
    ]);
  });

  it('of the project are resolved when they are read if they support double resolution', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        { Start: start('Print'), Print: print('plain', 'table', 'length', 'g', 'given') },
        { region: text('eu') },
      ),
    });
    const frame = { type: 'TEXT', behaviour: 'SHARED', value: 'sales_${region}' } as const;
    const resolved = { ...frame, supportsDoubleResolution: true };
    const columns = [{ name: 'a', type: 'TEXT' as const }];
    const outcome = await fixture.run('p', {
      variables: [
        { ...frame, name: 'plain' },
        { ...resolved, name: 'table' },
        { ...resolved, name: 'given' },
        { ...resolved, name: 'length', value: '${table.length}' },
        { ...resolved, name: 'g', type: 'GRID', value: { columns, rows: [['${table}'], [2]] } },
      ],
      scalarVariables: { given: '${region}' },
    });
    assert.deepEqual(outcome, { status: 'SUCCESS' });
    assert.deepEqual(fixture.lines, [
      ...['plain = sales_${region}', 'table = sales_eu', 'length = 8'],
      ...['g = [a] ["sales_eu"] ["2"]', 'given = ${region}'],
    ]);
  });

  it('are not read where a member has their name', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        { Start: start('Print'), Print: print('length', 'list') },
        { table: text('sales'), length: number('${table.length}'), list: text('${[...table].length}') },
      ),
    });
    assert.deepEqual(await fixture.run('p'), { status: 'SUCCESS' });
    assert.deepEqual(fixture.lines, ['length = 5', 'list = 5']);
  });

  it('whose defaults refer to each other fail where they are read, with words', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        { Start: start('Print'), Print: print('a') },
        { a: text('${b}'), b: text('x${a}') },
      ),
    });
    const { status, message = '' } = await fixture.run('p');
    assert.equal(status, 'FAILED');
    assert.match(message, /defaults of variables refer to each other: a → b → a: give one of them/);
  });

  it('of a called pipeline, rows and a message are read by the post-processing', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration(
        {
          Start: start('Call'),
          Call: {
            type: 'run-orchestration',
            parameters: { orchestrationJob: 'child' },
            postProcessing: {
              updateScalarVariables: [['seen', '${sysvar.childPipeline.vars.found + 1}']],
              updateGridVariables: [
                {
                  variable: 'all',
                  status: 'values',
                  gridValues: [['${seen}', '${sysvar.childPipeline.vars.g.v.length}']],
                },
              ],
              updateOutputMessage: 'found ${seen} in ${sysvar.environment.defaults.schema}',
            },
            transitions: { success: ['Print'] },
          },
          Print: print('seen', 'all'),
        },
        { seen: number('0'), all: grid({ a: 'TEXT', b: 'NUMBER' }, []) },
      ),
      'child.orch.yaml': renderOrchestration(
        { Start: start('Find'), Find: update('found', '41') },
        { found: number('0'), g: grid({ v: 'NUMBER' }, [['1'], ['2']]) },
      ),
    });
    assert.deepEqual(await fixture.run('p'), { status: 'SUCCESS' });
    assert.deepEqual(fixture.lines, ['seen = 42', 'all = [a, b] ["42",2]']);
    const call = [...fixture.steps.values()].find(({ name }) => name === 'Call');
    assert.equal(call?.message, 'found 42 in main');
  });

  it('no pipeline: an empty canvas succeeds and does nothing', async () => {
    for (const pipeline of [{}, { components: {} }, { components: null }]) {
      const file = JSON.stringify({ type: 'orchestration', version: '1.0', pipeline, design: {} });
      await fixture.publish({
        'p.orch.yaml': file,
        'q.tran.yaml': file.replace('"orchestration"', '"transformation"'),
      });
      assert.deepEqual(await fixture.run('p'), { status: 'SUCCESS' });
      assert.deepEqual(await fixture.run('q.tran.yaml'), { status: 'SUCCESS' });
    }
  });

  it('that are unknown or PRIVATE cannot be set from outside', async () => {
    await fixture.publish({
      'p.orch.yaml': renderOrchestration({ Start: start() }, { secret: text('', 'COPIED', 'PRIVATE') }),
    });
    assert.match(
      (await fixture.run('p', { scalarVariables: { nope: 1 } })).message ?? '',
      /no variable "nope": declare it/,
    );
    assert.match(
      (await fixture.run('p', { scalarVariables: { secret: 1 } })).message ?? '',
      /"secret" is PRIVATE/,
    );
  });
});

describe('parallel branches', () => {
  const set = (value: string, ...next: string[]) => ({
    type: 'update-scalar',
    parameters: {
      scalarsToUpdate: [
        ['own', `${'$'}{own}${value}`],
        ['all', value],
      ],
    },
    transitions: { success: next },
  });
  const say = (...next: string[]) => ({ ...print('own'), transitions: { success: next } });
  const variables = { own: text('0'), all: text('', 'SHARED') };
  const runBranches = async (components: Record<string, object>) => {
    await fixture.publish({ 'p.orch.yaml': renderOrchestration(components, variables) });
    assert.deepEqual(await fixture.run('p'), { status: 'SUCCESS' });
    return fixture.lines.toSorted();
  };

  it('have their own COPIED variables, which begin with the values of before', async () => {
    const lines = await runBranches({
      Start: start('Before'),
      Before: set('1', 'A', 'B'),
      A: set('a', 'A2'),
      A2: say('A3'),
      A3: set('x', 'A4'),
      A4: say(),
      B: set('b', 'B2', 'B3'),
      B2: set('c', 'B4'),
      B3: set('d', 'B5'),
      B4: say(),
      B5: say(),
    });
    assert.deepEqual(lines, ['own = 01a', 'own = 01ax', 'own = 01bc', 'own = 01bd']);
  });

  it('end where they meet: COPIED variables are what they were before, SHARED ones are kept', async () => {
    const lines = await runBranches({
      Start: start('A', 'B'),
      A: set('a', 'Inner 1', 'Inner 2'),
      'Inner 1': set('b', 'Inner'),
      'Inner 2': set('b', 'Inner'),
      Inner: { type: 'and', transitions: { unconditional: ['After inner'] } },
      'After inner': say('Both'),
      B: say('Both'),
      Both: { type: 'and', transitions: { unconditional: ['Last'] } },
      Last: { ...print('own', 'all') },
    });
    assert.deepEqual(lines, ['all = b', 'own = 0', 'own = 0', 'own = 0a']);
  });

  it('are not those of an if, of which one is taken, nor a single transition', async () => {
    const lines = await runBranches({
      Start: start('Ask'),
      Ask: {
        type: 'if',
        parameters: { mode: 'Advanced', condition1: '1 == 1' },
        transitions: { true: ['A'], false: ['B'] },
      },
      A: set('a', 'Either'),
      B: set('b', 'Either'),
      Either: { type: 'or', transitions: { unconditional: ['Last'] } },
      Last: say(),
    });
    assert.deepEqual(lines, ['own = 0a']);
  });

  it('record for a restart that copies are not kept', async () => {
    await runBranches({ Start: start('A', 'B'), A: set('a'), B: set('b') });
    assert.deepEqual(step('B')?.restart?.variables?.at(0), { name: 'own', lost: 'branch' });
  });
});

describe('iterators', () => {
  const iterator = (concurrency: string, breakOnFailure: string) => ({
    type: 'grid-iterator',
    iterationTarget: 'Body',
    parameters: { gridVariable: 'g', gridIteratorVariableMapping: [['v', 'x']], concurrency, breakOnFailure },
    transitions: { success: ['Print'], failure: ['Print'] },
  });
  const pipeline = (body: object, concurrency: string, breakOnFailure = 'No') =>
    renderOrchestration(
      {
        Start: start('Each'),
        Each: iterator(concurrency, breakOnFailure),
        Body: body,
        Print: print('sum', 'own'),
      },
      {
        g: grid({ v: 'NUMBER' }, [['1'], ['2'], ['3']]),
        x: number(''),
        sum: number('0', 'SHARED'),
        own: number('0', 'COPIED'),
      },
    );
  const adding = {
    type: 'update-scalar',
    parameters: {
      scalarsToUpdate: [
        ['sum', '${sum + x}'],
        ['own', '${own + x}'],
      ],
    },
  };

  for (const concurrency of ['Sequential', 'Concurrent']) {
    it(`${concurrency}: branches share SHARED variables and have their own COPIED ones`, async () => {
      await fixture.publish({ 'p.orch.yaml': pipeline(adding, concurrency) });
      assert.deepEqual(await fixture.run('p'), { status: 'SUCCESS' });
      assert.deepEqual(fixture.lines, ['sum = 6', 'own = 0']);
    });
  }

  it('stop at the first failure with breakOnFailure, else continue and fail at the end', async () => {
    const body = {
      type: 'sql-script',
      parameters: { sqlScript: 'create table t${x} as select 1; select 1/${x == 1 ? "oops" : 1}' },
    };
    await fixture.publish({
      'break.orch.yaml': pipeline(body, 'Sequential', 'Yes'),
      'on.orch.yaml': pipeline(body, 'Sequential'),
    });
    await fixture.run('break');
    assert.match(step('Each')?.message ?? '', /^1 of 3 iterations failed, 2 not started; number 1: /);
    fixture.steps.clear();
    await fixture.connection.run('drop table t1');
    await fixture.run('on');
    assert.match(step('Each')?.message ?? '', /^1 of 3 iterations failed; number 1: /);
  });
});
