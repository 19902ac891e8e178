// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { renderOrchestration, start, text } from '../run/pipeline-fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
});
afterEach(() => fixture.dispose());

const loadLine = 15;

async function fail(
  component: { type: string; parameters: object },
  files: Record<string, string> = {},
): Promise<{ message: string; step: string; sql: string }> {
  const main = renderOrchestration({ Start: start('Load'), Load: component }, { x: text('') });
  const lines = JSON.stringify(JSON.parse(main), undefined, 1);
  assert.equal(lines.split('\n').findIndex((line) => line.includes('"Load": {')) + 1, loadLine);
  await fixture.publish({ 'main.orch.yaml': lines, ...files });
  const { status, message = '' } = await fixture.run('main');
  assert.equal(status, 'FAILED', message);
  assert.doesNotMatch(message, /^not started/);
  const step = [...fixture.steps.values()].findLast(({ name }) => name === 'Load');
  return { message, step: step?.message ?? '', sql: step?.sql ?? '' };
}

const script = (sqlScript: string) => ({ type: 'sql-script', parameters: { sqlScript } });

describe('SQL that fails in the warehouse', () => {
  it('is named with its file, its component and its line, as it is written and as it was sent', async () => {
    const { message, step } = await fail(
      script(
        'create table t as select 1 as a;\n\n-- the second\nselect nvl(a, 2), b // why\nfrom t;\nselect 3',
      ),
    );
    assert.match(message, /^main\.orch\.yaml, line 15: "Load" failed: Binder Error: /);
    assert.equal(message.slice(message.indexOf('Binder Error')), step);
    const [words, written, sent, excerpt] = step.split('\n\n');
    assert.match(words ?? '', /^Binder Error: .*"b".*/);
    assert.equal(written, 'written, from line 4 of the SQL:\nselect nvl(a, 2), b // why\nfrom t');
    assert.match(sent ?? '', /^sent:\n-- the second\nselect coalesce\(/i);
    assert.match(excerpt ?? '', /^LINE \d+: [^\n]*\n +\^$/);
  });

  it('is shown once if it was sent as it is written', async () => {
    const { step } = await fail(script("select 1;\nselect 'x'::integer"));
    assert.match(step, /^Conversion Error: .*\n\nwritten, from line 2 of the SQL:\nselect 'x'::integer/);
  });

  it('is named when it is a query', async () => {
    const { step } = await fail({
      type: 'query-to-scalar',
      parameters: {
        mode: 'Advanced',
        query: 'select\n  nvl(a, 1) as a\nfrom gone',
        scalarVariableMapping: [['x', 'a']],
      },
    });
    assert.match(step, /^Catalog Error: Table with name gone does not exist!/);
    assert.match(
      step,
      /\n\nwritten, from line 1 of the SQL:\nselect\n {2}nvl\(a, 1\) as a\nfrom gone\n\nsent:\n/,
    );
  });

  it('is named with the file of its script', async () => {
    const parameters = { scriptLocation: 'File', fileName: 'load.sql' };
    const { message } = await fail(
      { type: 'sql-executor', parameters },
      { 'load.sql': 'select 1;\nselect nvl(1, 2) from gone' },
    );
    assert.match(message, /^main\.orch\.yaml, line 15: "Load" failed: load\.sql: Catalog Error: /);
    assert.match(message, /written, from line 2 of the SQL:\nselect nvl\(1, 2\) from gone\n/);
  });

  it('shows no secret, and not at all if a secret is a part of its code', async () => {
    fixture.secrets.set('lake', 'deep-blue-water');
    fixture.secrets.set('code', 'gone.deep');
    const masked = await fail(script('select \'${secret("lake")}\' as a, nvl(1, 2) from gone'));
    assert.match(
      masked.message,
      /written, from line 1 of the SQL:\nselect '\*\*\*' as a, nvl\(1, 2\) from gone/,
    );
    const code = await fail(script('select * from ${secret("code")}'));
    assert.doesNotMatch(`${code.message}${code.step}`, /written,|sent:|gone\.deep/);
  });

  it('is cut if it is long', async () => {
    const { step } = await fail(script(`select ${'1 + '.repeat(2_000)} nope`));
    assert.ok(step.length < 4_000, String(step.length));
  });

  it('that a component made is in the step only', async () => {
    const { step } = await fail({ type: 'truncate-table', parameters: { targetTable: ['gone'] } });
    assert.doesNotMatch(step, /written/);
  });
});
