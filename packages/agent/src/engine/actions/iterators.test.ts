// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { grid, number, renderOrchestration, start, text } from '../run/pipeline-fixture.ts';
import { runBounds } from '../run/run.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
  await fixture.connection.run('CREATE TABLE done (what TEXT)');
});
afterEach(() => fixture.dispose());

const insert = (sql: string) => ({
  type: 'sql-script',
  parameters: { sqlScript: `INSERT INTO done ${sql}` },
});
const step = (name: string) => [...fixture.steps.values()].find((each) => each.name === name);
const messagesOf = (name: string) =>
  [...fixture.steps.values()].flatMap((each) => (each.name === name ? [each.message] : []));
const readDone = async () => (await fixture.rows('SELECT what FROM done')).flat();

/** Runs an iterator whose target inserts what `values` selects. */
async function iterate(
  type: string,
  parameters: object,
  { variables = {}, target = insert("VALUES ('${x}')"), request = {} }: Options = {},
) {
  const iterator = { type, iterationTarget: 'Do', parameters: { componentName: 'Each', ...parameters } };
  await fixture.publish({
    'main.orch.yaml': renderOrchestration(
      { Start: start('Each'), Each: iterator, Do: target },
      { x: text(''), n: number(''), ...variables },
    ),
  });
  return fixture.run('main', request);
}
interface Options {
  variables?: object;
  target?: object;
  request?: object;
}

describe('table-iterator', () => {
  beforeEach(() =>
    fixture.connection.run(
      "CREATE TABLE names (NAME TEXT, RANK INT); INSERT INTO names VALUES ('a', 1), ('b', 2), (NULL, 3)",
    ),
  );

  it('Basic: runs over the rows of a table in the given order', async () => {
    const outcome = await iterate('table-iterator', {
      mode: 'Basic',
      database: '[Environment Default]',
      schema: '[Environment Default]',
      targetTable: 'names',
      concurrency: 'Sequential',
      columnMapping: [['NAME', 'x']],
      orderBy: [['RANK']],
      sort: 'Descending',
      breakOnFailure: 'No',
    });
    assert.deepEqual(outcome, { status: 'SUCCESS' });
    assert.deepEqual(await readDone(), ['', 'b', 'a']);
    assert.equal(step('Each')?.message, '3 iterations');
  });

  it('Advanced: runs over the rows of a query, whose columns match in any case', async () => {
    const outcome = await iterate(
      'table-iterator',
      {
        mode: 'Advanced',
        concurrency: 'Concurrent',
        query: 'SELECT name, rank AS R FROM names WHERE name IS NOT NULL ORDER BY 2;',
        columnMapping1: [
          ['NAME', 'x'],
          ['r', 'n'],
        ],
        breakOnFailure: 'Yes',
      },
      { target: insert("VALUES ('${x}${n + 1}')") },
    );
    assert.deepEqual(outcome, { status: 'SUCCESS' });
    assert.deepEqual((await readDone()).sort(), ['a2', 'b3']);
    assert.deepEqual(messagesOf('Do').sort(), [
      'iteration 1 of 2: x = a, n = 1',
      'iteration 2 of 2: x = b, n = 2',
    ]);
  });

  it('names a column that the query lacks, and fails over more rows than the limit', async () => {
    const mapping = { mode: 'Advanced', columnMapping1: [['nam', 'x']] };
    const wrong = await iterate('table-iterator', { ...mapping, query: 'SELECT * FROM names' });
    assert.match(wrong.message ?? '', /the query returned no column "nam": use one of NAME, RANK/);
    const many = await iterate('table-iterator', {
      mode: 'Advanced',
      query: 'SELECT i FROM range(100000) r(i)',
      columnMapping1: [['i', 'x']],
    });
    assert.match(many.message ?? '', /more than 10000 rows, which is the limit of an iterator: filter them/);
    assert.deepEqual(await readDone(), []);
  });
});

describe('fixed-iterator', () => {
  it('runs over rows of values, written or from a grid', async () => {
    const values = [
      ['a', '1'],
      ['b', '2'],
    ];
    const parameters = { concurrency: 'Sequential', variablesToIterate: ['x', 'n'], stopOnCondition: 'No' };
    const target = insert("VALUES ('${x}' || ${n})");
    const written = await iterate('fixed-iterator', { ...parameters, iterationValues: values }, { target });
    assert.deepEqual(written, { status: 'SUCCESS' });
    const fromGrid = { variable: 'g', columns: ['a', 'b'] };
    const variables = { g: grid({ a: 'TEXT', b: 'NUMBER' }, [['c', '3']]) };
    await iterate('fixed-iterator', { ...parameters, iterationValues: { fromGrid } }, { variables, target });
    assert.deepEqual(await readDone(), ['a1', 'b2', 'c3']);
  });

  it('refuses a row that does not fit its variables, before the run', async () => {
    const outcome = await iterate('fixed-iterator', {
      variablesToIterate: ['x'],
      iterationValues: [['a'], ['b', 'c']],
    });
    assert.match(outcome.message ?? '', /^not started: .*row 2 of "iterationValues" has 2 values, but/);
  });

  it('refuses stopOnCondition, and says that recordValuesInTaskHistory has no effect', async () => {
    const parameters = { variablesToIterate: ['x'], iterationValues: [['a']] };
    const refused = await iterate('fixed-iterator', { ...parameters, stopOnCondition: 'Yes' });
    assert.match(refused.message ?? '', /"stopOnCondition" is Yes, which is not supported/);
    await iterate('fixed-iterator', { ...parameters, recordValuesInTaskHistory: 'Yes' });
    assert.match(step('Each')?.message ?? '', /no effect here: recordValuesInTaskHistory/);
  });
});

describe('loop-iterator', () => {
  const loop = (startingValue: string, incrementValue: string, endValue: string, options: Options = {}) =>
    iterate(
      'loop-iterator',
      { concurrency: 'Sequential', variableToIterate: 'x', startingValue, incrementValue, endValue },
      options,
    );

  it('includes its end, counts down, and takes expressions', async () => {
    await loop('1', '2', '6');
    await loop('${first}', '-5', '${first - 10}', { variables: { first: number('10') } });
    assert.deepEqual(await readDone(), ['1', '3', '5', '10', '5', '0']);
  });

  it('runs nothing if the end is behind the start, and says so', async () => {
    assert.deepEqual(await loop('5', '1', '1'), { status: 'SUCCESS' });
    assert.equal(step('Each')?.message, '0 iterations; no iteration: counting from 5 by 1 never reaches 1');
  });

  it('refuses an increment of 0, a fraction, and too many iterations', async () => {
    assert.match((await loop('1', '0', '5')).message ?? '', /^not started: .*"incrementValue" is 0/);
    const zero = await loop('1', '${z}', '5', { variables: { z: number('0') } });
    assert.match(zero.message ?? '', /"incrementValue" is 0, so the loop would never end/);
    assert.match((await loop('1', '1', '2.5')).message ?? '', /"endValue" must be a whole number, not "2.5"/);
    assert.match(
      (await loop('1', '1', '1000000')).message ?? '',
      /has 1000000 iterations; the limit is 10000/,
    );
  });
});

describe('file-iterator', () => {
  const variables = { base: text(''), folder: text(''), file: text(''), at: text(''), bytes: number('') };
  const attributes = [
    ['base', 'Base Folder'],
    ['folder', 'Subfolder'],
    ['file', 'Filename'],
    ['at', 'Last Modified'],
    ['bytes', 'Size'],
  ];
  const target = insert("VALUES ('${base}|${folder}|${file}|${at.length}|${bytes}')");
  const search = (parameters: object, options: Options = {}) =>
    iterate(
      'file-iterator',
      { concurrency: 'Sequential', variables: attributes, ...parameters },
      { variables, target, ...options },
    );
  beforeEach(async () => {
    await mkdir(join(fixture.filesFolder, 'in/deep'), { recursive: true });
    await writeFile(join(fixture.filesFolder, 'in/b.csv'), '1');
    await writeFile(join(fixture.filesFolder, 'in/note.txt'), '1');
    await writeFile(join(fixture.filesFolder, 'in/deep/c.CSV'), 'four');
    await writeFile(join(fixture.filesFolder, 'in/.x.partial'), '1');
    await fixture.publish({ 'in/a.csv': 'x', 'in/b.csv': 'x', 'other/z.csv': 'x' });
  });

  it('runs over the files of the version and of the files folder, by name', async () => {
    const outcome = await search({ inputDataUrl1: 'in', filterRegex: '.*[.]csv', recursive: 'No' });
    assert.deepEqual(outcome, { status: 'SUCCESS' });
    assert.deepEqual(await readDone(), ['in||a.csv|24|1', 'in||b.csv|24|1']);
  });

  it('searches subfolders, with flags as Java writes them, and counts what maxIterations leaves out', async () => {
    await search({
      inputDataUrl1: 'file:///in/',
      filterRegex: '(?i).*\\.csv',
      recursive: 'Yes',
      maxIterations: '2',
    });
    assert.deepEqual(await readDone(), ['in||a.csv|24|1', 'in||b.csv|24|1']);
    assert.equal(step('Each')?.message, '2 iterations; 1 more files match, beyond maxIterations');
    await fixture.connection.run('DELETE FROM done');
    await search({ inputDataUrl1: '.', filterRegex: 'in/deep/.*', recursive: 'Yes' });
    assert.deepEqual(await readDone(), ['|in/deep|c.CSV|24|4']);
  });

  it('says that nothing matches, and fails if there is no such folder', async () => {
    assert.deepEqual(await search({ inputDataUrl1: 'in', filterRegex: 'x' }), { status: 'SUCCESS' });
    assert.match(step('Each')?.message ?? '', /0 iterations; none of the 3 files in "in" matches x/);
    assert.match((await search({ inputDataUrl1: 'nowhere' })).message ?? '', /there is no folder "nowhere"/);
  });

  it('does not leave the files folder', async () => {
    await symlink('/etc', join(fixture.filesFolder, 'etc'));
    await symlink('/etc/passwd', join(fixture.filesFolder, 'in/passwd'));
    assert.match((await search({ inputDataUrl1: 'etc' })).message ?? '', /there is no folder "etc"/);
    assert.match((await search({ inputDataUrl1: '../../etc' })).message ?? '', /is not allowed/);
    await search({ inputDataUrl1: 'in', filterRegex: 'passwd' });
    assert.deepEqual(await readDone(), []);
  });

  it('takes an expression that would backtrack for ever, and names one that cannot be used', async () => {
    await fixture.publish({ [`in/${'a'.repeat(60)}!`]: 'x', [`in/${'a'.repeat(60)}`]: 'x' });
    const filter = (filterRegex: string) => search({ inputDataUrl1: 'in', filterRegex });
    assert.deepEqual(await filter('(a+)+'), { status: 'SUCCESS' });
    assert.deepEqual(await readDone(), [`in||${'a'.repeat(60)}|24|1`]);
    assert.match((await filter('(')).message ?? '', /"filterRegex" is \(, which cannot be used/);
    assert.match(
      (await filter('(?!b).*')).message ?? '',
      /"filterRegex" is \(\?!b\)\.\*, which has look-around at character 1: that is not supported; write all/,
    );
  });

  it('refuses servers and unknown attributes by name', async () => {
    assert.match(
      (await search({ inputDataType: 'SFTP', inputDataUrl1: 'sftp://host/in' })).message ?? '',
      /"inputDataUrl1" is "sftp:\/\/host\/in\/": set "credentials" to the secret reference/,
    );
    assert.match(
      (await search({ inputDataType: 'SFTP', inputDataUrl1: 'in' })).message ?? '',
      /"inputDataType" is SFTP, which is not supported: name a path/,
    );
    const outcome = await search({ inputDataUrl1: 'in', variables: [['x', 'Owner']] });
    assert.match(
      outcome.message ?? '',
      /the attribute "Owner", which a file does not have: use one of Base Folder/,
    );
    const swapped = await search({ inputDataUrl1: 'in', variables: [['Filename', 'x']] });
    assert.match(swapped.message ?? '', /write the variable first, \[x, Filename\]/);
  });
});

describe('an iteration', () => {
  it('shows its values, masked before they are cut', async () => {
    fixture.secrets.set('key', `s3cr3t-${'x'.repeat(200)}`);
    await iterate('fixed-iterator', {
      variablesToIterate: ['x'],
      iterationValues: [['${secret("key")}'], ['y'.repeat(300)]],
    });
    assert.deepEqual(messagesOf('Do'), [
      'iteration 1 of 2: x = ***',
      `iteration 2 of 2: x = ${'y'.repeat(100)}…`,
    ]);
  });

  it('is one step of the limit of a run', async () => {
    const outcome = await iterate(
      'loop-iterator',
      { variableToIterate: 'x', startingValue: '1', incrementValue: '1', endValue: '50' },
      { request: { bounds: { ...runBounds, steps: 20 } } },
    );
    assert.match(outcome.message ?? '', /the run has more than 20 steps/);
  });
});

describe('a temporary table in each of several iterations', () => {
  const script = (sqlScript: string, transitions = {}) => ({
    type: 'sql-script',
    parameters: { sqlScript },
    transitions,
  });
  for (const [concurrency, status] of [
    ['Sequential', 'SUCCESS'],
    ['Concurrent', 'FAILED'],
  ] as const)
    it(`${concurrency}: ends in ${status}, and mixes no rows`, async () => {
      const child = { orchestrationJob: 'child', setScalarVariables: [['x', '${x}']] };
      await fixture.publish({
        'main.orch.yaml': renderOrchestration(
          {
            Start: start('Each'),
            Each: {
              type: 'fixed-iterator',
              iterationTarget: 'Do',
              parameters: {
                componentName: 'Each',
                concurrency,
                variablesToIterate: ['x'],
                iterationValues: [['a'], ['b'], ['c']],
              },
            },
            Do: { type: 'run-orchestration', parameters: child },
          },
          { x: text('') },
        ),
        'child.orch.yaml': renderOrchestration(
          {
            Start: start('Make'),
            Make: script("CREATE OR REPLACE TEMP TABLE part AS SELECT '${x}' what", { success: ['Keep'] }),
            Keep: script('INSERT INTO done SELECT what FROM part'),
          },
          { x: text('') },
        ),
      });
      const outcome = await fixture.run('main');
      assert.equal(outcome.status, status);
      const done = await readDone();
      assert.equal(new Set(done).size, done.length, 'no iteration read the rows of another one');
      if (status === 'SUCCESS') assert.deepEqual(done.sort(), ['a', 'b', 'c']);
      else assert.match(outcome.message ?? '', /the temporary table part is of another iteration/);
    });
});
