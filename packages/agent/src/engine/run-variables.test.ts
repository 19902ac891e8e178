// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from './engine-fixture.ts';
import { grid, number, print, renderOrchestration, start, text, update } from './pipeline-fixture.ts';

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
          Add: { ...update('n', '${n + 3}'), transitions: { success: ['Print'] } },
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
