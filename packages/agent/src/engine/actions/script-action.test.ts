/** Components that run scripts: variables, SQL on the warehouse, files, secrets and messages. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { createScriptsFixture, place } from '../../scripts/script-fixture.ts';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { grid, number, renderOrchestration, start, text, update } from '../run/pipeline-fixture.ts';

const scripts = createScriptsFixture();
after(() => scripts.close());

describe('a script of a pipeline', () => {
  let fixture: Fixture;
  beforeEach(async () => {
    const never = new AbortController().signal;
    fixture = await createFixture((job, events) => scripts.scripts.run(job, place, events, never));
  });
  afterEach(() => fixture.dispose());

  async function run(
    type: string,
    parameters: Record<string, unknown>,
    variables: Record<string, unknown> = {},
    then: Record<string, unknown> = {},
  ) {
    const script = { type, parameters, transitions: { success: Object.keys(then).slice(0, 1) } };
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({ Start: start('Script'), Script: script, ...then }, variables),
    });
    const outcome = await fixture.run('main');
    const step = [...fixture.steps.values()].findLast(({ name }) => name === 'Script');
    return { outcome, message: step?.message, status: step?.status };
  }

  it('changes variables that later components see', async () => {
    const { outcome, message } = await run(
      'python-script',
      {
        script:
          'print(f"hello {name}")\ncontext.updateVariable("name", name.upper())\ncontext.updateGridVariable("rows", [["a"], ["b"]])',
        interpreter: 'Python 3',
        timeout: '30',
        user: 'Privileged',
      },
      { name: text('ann'), rows: grid({ id: 'TEXT' }, []) },
      { Show: { type: 'print-variables', parameters: { variablesToPrint: [['name'], ['rows']] } } },
    );
    assert.equal(outcome.status, 'SUCCESS', outcome.message);
    assert.equal(message, 'hello ann\nno effect here: user');
    assert.deepEqual(fixture.lines, ['hello ann', 'name = ANN', 'rows = [id] ["a"] ["b"]']);
  });

  it('runs SQL on the warehouse, bounded and without open transactions', async () => {
    const { outcome, message } = await run('python-pushdown', {
      pythonScript: `
session.sql("create table t (id integer, day date)").collect()
changed = session.sql("insert into t values (1, '2026-01-02'), (2, null); -- end").collect()
print(changed[0][0], session.table("t").count())
rows = session.sql("with x as (select * from t) select * from x order by id").collect()
print(rows[0].ID, rows[0]["DAY"], rows[1].DAY)
for text in ["begin", "select * from range(200000)", "", "nonsense"]:
    try:
        session.sql(text).collect()
    except Exception as error:
        print(str(error).splitlines()[0])
`,
      packages: null,
      scriptTimeout: '360',
      externalAccessIntegrations: null,
    });
    assert.equal(outcome.status, 'SUCCESS', outcome.message);
    const lines = (message ?? '').split('\n');
    assert.deepEqual(lines.slice(0, 2), ['2 2', '1 2026-01-02 None']);
    assert.match(lines[2] ?? '', /leaves a transaction open/);
    assert.match(lines[3] ?? '', /more than 100000 rows/);
    assert.match(lines[4] ?? '', /contains no statement/);
    assert.match(lines[5] ?? '', /Parser Error/);
    assert.deepEqual(await fixture.rows('select count(*) from t'), [[2]]);
  });

  it('ends its statement with it when its time is over', async () => {
    const { outcome, message } = await run('python-pushdown', {
      pythonScript:
        'session.sql("create table late as select sum(a.range * b.range) as n from range(100000) a, range(200000) b").collect()',
      scriptTimeout: '2',
    });
    assert.equal(outcome.status, 'FAILED');
    assert.match(message ?? '', /ran longer than 2 s and was killed/);
    assert.deepEqual(await fixture.rows(`select * from duckdb_tables() where table_name = 'late'`), []);
  });

  it('fails the component with the error, its line and what it printed', async () => {
    const { outcome, message } = await run('python-script', {
      script: 'print("before")\nraise ValueError("no")',
    });
    assert.equal(outcome.status, 'FAILED');
    assert.match(message ?? '', /^ValueError: no \(line 2 of the script\)\nbefore\nTraceback/);
    const bash = await run('bash-script', { script: 'echo one; echo two >&2; exit 2' });
    assert.match(bash.outcome.message ?? '', /Script.*the script ended with code 2/s);
    assert.match(bash.message ?? '', /^the script ended with code 2\n(one\ntwo|two\none)$/);
    const logged = fixture.logged.filter(({ line }) => line === 'one' || line === 'two');
    assert.deepEqual(logged.map(({ line, stream }) => `${stream} ${line}`).toSorted(), [
      'stderr two',
      'stdout one',
    ]);
  });

  it('masks secrets that it prints', async () => {
    fixture.secrets.set('token', 's3cret-value-1');
    const { message } = await run(
      'bash-script',
      { script: 'echo "it is $token"; echo ${token} | base64; exit 1' },
      { token: text('${secret("token")}') },
    );
    assert.doesNotMatch(JSON.stringify([fixture.reports, fixture.lines]), /s3cret|czNjcmV0/);
    assert.match(message ?? '', /it is \*\*\*/);
  });

  it('shows no part of a secret where a text is cut', async () => {
    const secret = `s3cret${'-and-more'.repeat(20)}`;
    fixture.secrets.set('token', secret);
    const scenes = {
      'a message': 'raise ValueError("x" * 7980 + token)',
      'a long message': 'raise ValueError("x" * 19980 + token)',
      'an exit': 'raise SystemExit("x" * 7980 + token)',
      'a result': 'return "x" * 9980 + token',
      'a long result': 'return "x" * 19980 + token',
      'a line': 'print("x" * 65516 + token)',
      'a long line': 'print("x" * 262124 + token)',
      'a masked line': 'print(token * 300 + "x" * 10000 + token)',
      'the channel':
        'import os; os.write(3, b"x" * 60 + token.encode() + b"\\n"); import time; time.sleep(60)',
    };
    for (const [name, script] of Object.entries(scenes)) {
      await run('python-script', { script }, { token: text('${secret("token")}') });
      assert.doesNotMatch(JSON.stringify([fixture.reports, fixture.lines]), /s3cre/, name);
    }
  });

  it('resolves expressions in its text, and runs a file as it is', async () => {
    const variables = { name: text('ann') };
    const bash = await run(
      'bash-script',
      { script: 'for x in 1; do echo ${name} ${x} "${HOME}"; done' },
      variables,
    );
    assert.equal(bash.message, 'ann 1 /tmp', bash.outcome.message);
    await fixture.publish({ 'jobs/it.py': 'print("${name}", name)' });
    const file = await run('python-pushdown', { scriptLocation: 'File', fileName: 'jobs/it.py' }, variables);
    assert.equal(file.message, '${name} ann');
    const missing = await run('python-pushdown', { scriptLocation: 'File', fileName: 'jobs/no.py' });
    assert.equal(missing.outcome.status, 'FAILED');
    assert.match(missing.outcome.message ?? '', /jobs\/no\.py/);
  });

  it('names what agents do not have', async () => {
    const jython = await run('python-script', { script: 'print 1', interpreter: 'Jython' });
    assert.equal(jython.outcome.status, 'FAILED');
    assert.match(
      jython.outcome.message ?? '',
      /"interpreter" is "Jython", which agents do not have: use Python 3/,
    );
    const timeout = await run('bash-script', { script: 'true', timeout: '0' });
    assert.match(timeout.outcome.message ?? '', /"timeout" is 0: write a number of seconds/);
    const empty = await run('bash-script', { script: '' });
    assert.match(empty.outcome.message ?? '', /the parameter "script" is missing/);
  });

  it('refuses values that do not fit, and grids that are too long', async () => {
    const { message } = await run(
      'python-script',
      {
        script: `
for work in [lambda: context.updateVariable("n", "x"), lambda: context.updateGridVariable("rows", [[i] for i in range(100000)])]:
    try:
        work()
    except Exception as error:
        print(error)
context.updateGridVariable("rows", [[i] for i in range(10000)])
`,
      },
      { n: number('1'), rows: grid({ id: 'TEXT' }, []) },
    );
    assert.match(
      message ?? '',
      /"n" is NUMBER, but "x" is not a finite number\n.*"rows" would have 100000 rows; the limit is 10000/,
    );
  });

  it('handles its failure by a transition, and the post-processing sees it', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration(
        {
          Start: start('Script'),
          Script: {
            type: 'bash-script',
            parameters: { script: 'exit 9' },
            transitions: { failure: ['Go on'] },
          },
          'Go on': update('name', 'name'),
        },
        { name: text('') },
      ),
    });
    assert.deepEqual(await fixture.run('main'), { status: 'SUCCESS' });
  });
});
