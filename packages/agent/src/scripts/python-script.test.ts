/** What Python scripts find and say: variables, grids, SQL, errors. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createScriptsFixture } from './script-fixture.ts';
import type { ScriptJob, ScriptRequest } from './script-job.ts';

const fixture = createScriptsFixture();
after(() => fixture.close());

const variables: Partial<ScriptJob> = {
  language: 'python',
  component: 'python-pushdown',
  scalars: [
    { name: 'region', type: 'TEXT', value: 'north "1"\n\'é😀' },
    { name: 'count', type: 'NUMBER', value: 5 },
    { name: 'ratio', type: 'NUMBER', value: 0.5 },
    { name: 'nothing', type: 'NUMBER', value: null },
    { name: 'class', type: 'TEXT', value: 'a keyword' },
  ],
  grids: [
    {
      name: 'orders',
      rows: [
        ['a', 1],
        ['b', null],
      ],
    },
  ],
};

/** Two rows for each query. */
const twoRows = (request: ScriptRequest) =>
  request.type === 'sql'
    ? {
        columns: ['ID', 'Name'],
        rows: [
          [1, 'one'],
          [2, null],
        ],
      }
    : undefined;

function run(text: string, job: Parameters<typeof fixture.run>[1] = {}) {
  return fixture.run(text, { ...variables, answer: twoRows, ...job });
}

describe('a Python script', () => {
  it('finds scalar variables as globals of their types', async () => {
    const { stdout, stderr } = await run(
      'print([region, count + 1, ratio, nothing, context.getVariable("class")])\nprint(__name__, type(session).__name__)',
    );
    assert.equal(stdout, `['north "1"\\n\\'é😀', 6, 0.5, None, 'a keyword']\n__main__ Session`);
    assert.equal(stderr, '');
    const hidden = await run('print(context.getVariable("session"), type(session).__name__)', {
      scalars: [{ name: 'session', type: 'TEXT', value: 'hidden' }],
    });
    assert.equal(hidden.stdout, 'hidden Session');
    assert.equal(hidden.stderr, 'the variable "session" is readable by context.getVariable("session") only');
  });

  it('finds grids as lists of rows, which it may change without changing the variable', async () => {
    const { stdout } = await run(
      'orders = [[*row, 1] for row in orders]\nprint(orders, context.getGridVariable("orders"))',
    );
    assert.equal(stdout, "[['a', 1, 1], ['b', None, 1]] [['a', 1], ['b', None]]");
  });

  it('may return before its end, as the body of a function', async () => {
    const { succeeded, message, stdout } = await run(`
def positive(n):
    return n > 0
for n in [1, 2]:
    try:
        if positive(n):
            print("returns")
            return n
    except Exception:
        print("not an error")
    finally:
        print("at last")
print("not reached")
`);
    assert.deepEqual([succeeded, message, stdout], [true, '1', 'returns\nat last']);
    assert.deepEqual((await run('print(1)\nreturn')).message, undefined);
    assert.match(
      (await run('class A:\n  return 1')).message ?? '',
      /^SyntaxError: 'return' outside function/,
    );
  });

  it('runs a text of statements by the connection of the session', async () => {
    const { stdout, requests } = await run(`
from io import StringIO
for cursor in session.connection.execute_stream(StringIO("select 1; -- no; end\\nselect ';', $$;$$ /* ; */;\\n;-- end")):
    print(cursor.query, list(cursor))
`);
    assert.equal(
      stdout,
      "select 1 [(1, 'one'), (2, None)]\n-- no; end\nselect ';', $$;$$ /* ; */ [(1, 'one'), (2, None)]",
    );
    assert.equal(requests.length, 2);
  });

  it('updates scalars by the type of the variable', async () => {
    const { succeeded, requests, stdout } = await run(`
import datetime, decimal
context.updateVariable("region", 7)
context.updateVariable("region", None)
context.updateVariable("region", datetime.date(2026, 1, 2))
context.updateVariable("region", ["a"])
context.updateVariable("count", 10**20)
context.updateVariable("count", decimal.Decimal("1.50"))
context.updateVariable("count", True)
context.updateVariable("count", "12")
print(count, context.getVariable("count"), context.getVariable("region"))
`);
    assert.equal(succeeded, true);
    assert.deepEqual(
      requests.map((request) => 'value' in request && request.value),
      ['7', null, '2026-01-02', "['a']", '100000000000000000000', '1.50', '1', '12'],
    );
    assert.equal(stdout, "5 12 ['a']");
  });

  it('reads and updates grids', async () => {
    const { requests, stdout } = await run(`
rows = context.getGridVariable("orders")
rows += [["c", 2.5], ("d", True), ["e", 2**60], ["f", float("nan")]]
context.updateGridVariable("orders", rows)
context.updateGridVariable("orders", ["x", 1])
print(context.getGridVariable("orders"))
`);
    assert.deepEqual(requests, [
      {
        type: 'update-grid',
        name: 'orders',
        rows: [
          ['a', 1],
          ['b', null],
          ['c', 2.5],
          ['d', 'True'],
          ['e', '1152921504606846976'],
          ['f', 'nan'],
        ],
      },
      { type: 'update-grid', name: 'orders', rows: [['x'], [1]] },
    ]);
    assert.equal(stdout, "[['x'], [1]]");
    for (const rows of ['"ab"', '5', '{"a": 1}'])
      assert.match(
        (await run(`context.updateGridVariable("orders", ${rows})`)).message ?? '',
        /takes a list of rows/,
      );
    assert.match(
      (await run('context.updateGridVariable("orders", [{"a": 1}])')).message ?? '',
      /^TypeError: a row of the grid variable "orders" must be a list of cells/,
    );
  });

  it('gets the agent’s refusal as an error, which it can handle', async () => {
    const refuse = () => {
      throw new Error('the variable "count" is NUMBER, but "x" is not a finite number');
    };
    const handled = await run(
      'try:\n  context.updateVariable("count", "x")\nexcept Exception as e:\n  print(e)',
      {
        answer: refuse,
      },
    );
    assert.deepEqual(
      [handled.succeeded, handled.stdout],
      [true, 'the variable "count" is NUMBER, but "x" is not a finite number'],
    );
    const failed = await run('\ncontext.updateVariable("count", "x")', { answer: refuse });
    assert.equal(
      failed.message,
      'AgentError: the variable "count" is NUMBER, but "x" is not a finite number (line 2 of the script)',
    );
    const unknown = await run('context.updateVariable("cuont", 1)');
    assert.match(unknown.message ?? '', /there is no scalar variable "cuont": declare it/);
  });

  it('reads rows of SQL as Snowpark gives them', async () => {
    const { stdout, requests } = await run(`
frame = session.sql("select * from t where a = ? and b = '?'", params=["it's"])
rows = frame.collect()
first = rows[0]
print(first, first[0], first["ID"], first["name"], first.NAME, first.as_dict(), first.asDict()["ID"], len(first))
for number, name in rows:
    print(number, name)
print(session.table("db.s.t").first()[1], session.table("t").columns)
session.sql("x").show()
try:
    first["nope"]
except KeyError as error:
    print(error.args[0])
try:
    session.sql("x").group_by("a")
except AttributeError as error:
    print(error)
cursor = context.cursor()
cursor.execute("select 1")
print(cursor.fetchone(), cursor.fetchall(), cursor.description[0][0])
`);
    assert.deepEqual(stdout.split('\n'), [
      "Row(ID=1, Name='one') 1 1 one one {'ID': 1, 'Name': 'one'} 1 2",
      '1 one',
      '2 None',
      "one ['ID', 'Name']",
      '-------------',
      '| ID | Name |',
      '-------------',
      '| 1  | one  |',
      '| 2  | NULL |',
      '-------------',
      'the row has no column "nope": it has ID, Name',
      'DataFrame.group_by is not available on this agent: write it as SQL, as in session.sql(text).collect()',
      "(1, 'one') [(2, None)] ID",
    ]);
    assert.deepEqual(requests[0], { type: 'sql', sql: "select * from t where a = 'it''s' and b = '?'" });
    assert.deepEqual(requests[1], { type: 'sql', sql: 'SELECT * FROM db.s.t' });
  });

  it('is called by main(session) as worksheets are, once', async () => {
    const main =
      'from snowflake.snowpark import Session\ndef main(session: Session):\n  print("called")\n  return 42\n';
    const called = await run(main);
    assert.deepEqual([called.message, called.stdout], ['42', 'called']);
    const calling = await run(`${main}\nprint(main(session))`);
    assert.deepEqual([calling.message, calling.stdout], [undefined, 'called\n42']);
    const guarded = await run(`${main}\nif __name__ == "__main__":\n  main(session)`);
    assert.deepEqual([guarded.message, guarded.stdout], [undefined, 'called']);
  });

  it('fails by the name of a missing module or package', async () => {
    const module = await run('import a_missing_module.part');
    assert.match(
      module.message ?? '',
      /^the Python module "a_missing_module" is not installed for (\/\S+) on this agent: install it on the agent’s machine by "\1 -m pip install a_missing_module", or set HEADGATE_AGENT_SCRIPT_PYTHON to a Python that has it, or remove the import \(line 1/,
    );
    const packages = await run('print(1)', {
      packages: ['a-missing-package==1.2', 'snowflake-snowpark-python', 'json'],
    });
    assert.match(
      packages.message ?? '',
      /^the packages "a-missing-package" are not installed for .* -m pip install a-missing-package"/,
    );
    assert.equal(packages.stdout, '');
    const pandas = await run('session.sql("x").to_pandas()');
    if (!pandas.succeeded) assert.match(pandas.message ?? '', /the Python module "pandas" is not installed/);
    const functions = await run('from snowflake.snowpark.functions import col');
    assert.match(
      functions.message ?? '',
      /the Python module "snowflake.snowpark.functions" is not installed/,
    );
  });

  it('fails with the error and its line, also in a function and at a syntax error', async () => {
    const failed = await run('def divide(n):\n  return 1 / n\n\nprint("before")\ndivide(0)');
    assert.equal(failed.message, 'ZeroDivisionError: division by zero (line 2 of the script)');
    assert.equal(failed.stdout, 'before');
    assert.match(failed.stderr, /^Traceback[\s\S]*File "<script>", line 5[\s\S]*return 1 \/ n/);
    assert.doesNotMatch(failed.stderr, /runtime/);
    const syntax = await run('x = 1\nprint "old"');
    assert.match(syntax.message ?? '', /^SyntaxError: Missing parentheses .* \(line 2 of the script\)$/);
    const key = await run('{}["a"]');
    assert.equal(key.message, 'KeyError: a (line 1 of the script)');
  });

  it('ends as its exit status says', async () => {
    assert.equal((await run('exit(0)')).succeeded, true);
    assert.equal((await run('import sys; sys.exit()')).succeeded, true);
    assert.equal((await run('raise SystemExit(3)')).message, 'the script ended with code 3');
    assert.equal((await run('import sys; sys.exit("no rows")')).message, 'no rows (line 1 of the script)');
    assert.equal(
      (await run('import os; os.kill(os.getpid(), 9)')).message,
      'the script ended with code 137, which means signal 9',
    );
  });

  it('can use threads, processes and files of its own disk', async () => {
    const { stdout, succeeded, stderr } = await run(`
import concurrent.futures, multiprocessing, subprocess, tempfile, pathlib
def square(n):
    return n * n
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(list(pool.map(lambda n: len(session.sql("x").collect()), range(4))))
with multiprocessing.Pool(2) as pool:
    print(pool.map(square, [1, 2]))
with tempfile.NamedTemporaryFile("w") as file:
    file.write("text")
    file.flush()
    print(pathlib.Path(file.name).read_text(), subprocess.run(["echo", "ran"], capture_output=True).stdout)
`);
    assert.equal(stderr, '');
    assert.equal(succeeded, true);
    assert.equal(stdout, "[2, 2, 2, 2]\n[1, 4]\ntext b'ran\\n'");
  });

  it('is off by name where there is no interpreter', async (t) => {
    const without = createScriptsFixture({}, { python: '/nonexistent/python3' });
    t.after(() => without.close());
    await assert.rejects(
      without.run('1', { language: 'python', component: 'python-script' }),
      /^Error: python-script is off on this agent: \/nonexistent\/python3 cannot be run .*: install Python 3\.9/,
    );
    assert.equal((await without.run('echo bash works')).stdout, 'bash works');
  });

  it('runs under an interpreter outside of the system’s folders, with its modules', async (t) => {
    const folder = `/opt/headgate-scripts-test-${process.pid}`;
    const [made] = [spawnSync('/usr/bin/python3', ['-m', 'venv', '--without-pip', folder])];
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    if (made.status !== 0) return t.diagnostic('this user cannot write to /opt, or Python has no venv');
    const [site = ''] = globSync(`${folder}/lib/python3*/site-packages`);
    writeFileSync(join(site, 'own_module.py'), 'value = 42\n');
    const own = createScriptsFixture({}, { python: `${folder}/bin/python3` });
    t.after(() => own.close());
    const { stdout, message } = await own.run('import own_module, sys\nprint(own_module.value, sys.prefix)', {
      language: 'python',
    });
    assert.equal(stdout, `42 ${folder}`, message);
    symlinkSync('/usr/bin/python3', join(own.folder, 'python3'));
    const hidden = createScriptsFixture({}, { python: `${own.folder}/python3` });
    t.after(() => hidden.close());
    await assert.rejects(
      hidden.run('1', { language: 'python', component: 'python-script' }),
      /python-script is off on this agent: .*does not run in the sandbox .*not below \/tmp/,
    );
  });
});
