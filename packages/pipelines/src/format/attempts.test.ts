/** `retries`, `retryDelay` and `timeout` of components: how they are read and what the check says of them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { validateProject } from '../check/validate-project-fixture.ts';
import { parsePipeline } from './parse.ts';

const script = { type: 'sql-script', parameters: { sqlScript: 'SELECT 1' } };

function render(component: object): string {
  const components = { Start: { type: 'start', transitions: { unconditional: ['It'] } }, It: component };
  return JSON.stringify({ type: 'orchestration', pipeline: { components } });
}

function find(component: object): string[] {
  return validateProject([{ path: 'main.orch.yaml', text: render(component) }]).map(
    ({ level, code, message }) => `${level} ${code}: ${message}`,
  );
}

function readIt(component: object) {
  return parsePipeline('main.orch.yaml', render(component)).pipeline?.components.get('It')?.attempts;
}

describe('retries, retryDelay and timeout', () => {
  it('are numbers, written as numbers or texts', () => {
    assert.deepEqual(readIt({ ...script, retries: 3, retryDelay: '1.5', timeout: ' 60 ' }), {
      retries: 3,
      delaySeconds: 1.5,
      timeoutSeconds: 60,
    });
    assert.deepEqual(readIt({ ...script, timeout: 5 }), { retries: 0, delaySeconds: 0, timeoutSeconds: 5 });
    assert.equal(readIt(script), undefined);
    assert.equal(readIt({ ...script, retries: null }), undefined);
    assert.deepEqual(find({ ...script, retries: 3, retryDelay: '1.5', timeout: ' 60 ' }), []);
  });

  const wrong: [member: string, value: unknown, message: RegExp][] = [
    ['retries', -1, /"retries" must be a whole number from 0 to 100, not "-1"$/],
    ['retries', 101, /from 0 to 100, not "101"$/],
    ['retries', 1.5, /not "1.5"$/],
    ['retries', 'many', /not "many"$/],
    ['retries', '', /not ""$/],
    ['retries', true, /not true$/],
    ['retries', [3], /not a list$/],
    ['retries', { a: 1 }, /not a map$/],
    ['retries', `\${n}`, /not "\$\{n\}": expressions are not read here$/],
    ['retryDelay', 3601, /"retryDelay" must be a number of seconds from 0 to 3600, not "3601"$/],
    ['retryDelay', '1e3', /not "1e3"$/],
    ['retryDelay', 'Short delay', /not "Short delay"$/],
    ['timeout', 0, /"timeout" must be a whole number of seconds from 1 to 604800, not "0"$/],
    ['timeout', '99999999999999999999', /not "99999999999999999999"$/],
    ['timeout', 'Infinity', /not "Infinity"$/],
  ];
  for (const [member, value, message] of wrong)
    it(`refuses ${member}: ${JSON.stringify(value)}`, () => {
      const [found = '', ...more] = find({ ...script, [member]: value });
      assert.match(found, /^error invalid-parameter: /);
      assert.match(found, message);
      assert.deepEqual(more, []);
    });

  it('report a member that is nearly one of them', () => {
    const [found = ''] = find({ ...script, retrys: 3 });
    assert.match(found, /^error misspelled-member: .*"retrys": did you mean "retries"\?$/);
  });

  it('warn where they do nothing', () => {
    const delay = find({ ...script, retryDelay: 5 });
    assert.deepEqual(delay, [
      'warning no-effect: "retryDelay" does nothing without "retries": add "retries" or remove it',
    ]);
    const [end = ''] = find({ type: 'end-success', retries: 1 });
    assert.match(end, /^warning no-effect: end-success only passes on/);
  });

  it('belong to the outputs of a transformation', () => {
    const components = {
      Source: {
        type: 'fixed-flow',
        parameters: { columns: [['a', 'TEXT']], values: [['1']] },
        retries: 2,
      },
      Out: {
        type: 'rewrite-table',
        sources: ['Source'],
        parameters: { targetTable: 't' },
        retries: 2,
        timeout: 9,
      },
    };
    const text = JSON.stringify({ type: 'transformation', pipeline: { components } });
    const found = validateProject([{ path: 'a.tran.yaml', text }]);
    assert.deepEqual(
      found.map(({ component, level, code }) => [component, level, code]),
      [['Source', 'error', 'no-effect']],
    );
  });

  it('any value is read or refused by name', () => {
    fc.assert(
      fc.property(fc.constantFrom('retries', 'retryDelay', 'timeout'), fc.jsonValue(), (member, value) => {
        const text = render({ ...script, [member]: value });
        const { pipeline, error } = parsePipeline('main.orch.yaml', text);
        if (error !== undefined) return;
        const it = pipeline.components.get('It');
        if (value === null) assert.equal(it?.attempts ?? it?.wrongAttempts, undefined);
        else if (it?.attempts === undefined) assert.equal(it?.wrongAttempts?.[0]?.member, member);
        else assert.ok(Number.isFinite(Number(value)));
      }),
    );
  });
});
