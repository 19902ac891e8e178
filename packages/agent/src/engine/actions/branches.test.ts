// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { print, renderOrchestration, start, text } from '../run/pipeline-fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
});
afterEach(() => fixture.dispose());

const step = (name: string) => [...fixture.steps.values()].find((each) => each.name === name);

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
