// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { grid, number, renderOrchestration, start, text } from '../run/pipeline-fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
  await fixture.connection.run('CREATE TABLE done (what TEXT)');
});
afterEach(() => fixture.dispose());

async function execute(parameters: object) {
  await fixture.publish({
    'main.orch.yaml': renderOrchestration(
      {
        Start: start('It'),
        It: { type: 'sql-executor', parameters: { componentName: 'It', ...parameters } },
      },
      { x: text("O'Brien"), n: number('7'), g: grid({ a: 'TEXT' }, []) },
    ),
  });
  return fixture.run('main');
}
const readDone = async () => (await fixture.rows('SELECT what FROM done ORDER BY 1')).flat();

describe('sql-executor', () => {
  it('runs the statements of the component', async () => {
    const sqlScript = "INSERT INTO done VALUES ('${n}'); -- twice\nINSERT INTO done VALUES ('${n + 1}');";
    assert.deepEqual(await execute({ scriptLocation: 'Component', sqlScript }), { status: 'SUCCESS' });
    assert.deepEqual(await readDone(), ['7', '8']);
  });

  it('commits nothing where there is no transaction', async () => {
    const sqlScript =
      "COMMIT; INSERT INTO done VALUES ('a'); COMMIT; BEGIN; INSERT INTO done VALUES ('b'); COMMIT; COMMIT;";
    assert.deepEqual(await execute({ sqlScript: "INSERT INTO done VALUES ('c'); COMMIT WORK;" }), {
      status: 'SUCCESS',
    });
    assert.deepEqual(await execute({ sqlScript }), { status: 'SUCCESS' });
    assert.deepEqual(await readDone(), ['a', 'b', 'c']);
  });

  it('runs a file of the version, with its expressions or without', async () => {
    await fixture.publish({ 'sql/fill.sql': "INSERT INTO done VALUES ('${n}')" });
    const file = { scriptLocation: 'File', fileName: 'sql/fill.sql', sqlScript: '' };
    assert.deepEqual(await execute({ ...file, enableVariableResolution: 'Yes' }), { status: 'SUCCESS' });
    assert.deepEqual(await execute({ ...file, enableVariableResolution: 'No' }), { status: 'SUCCESS' });
    assert.deepEqual(await readDone(), ['${n}', '7']);
  });

  it('leaves what is no expression as it is written, also what only looks like one', async () => {
    const sqlScript = "INSERT INTO done VALUES ('${n'), ('${nix}')";
    assert.deepEqual(await execute({ enableVariableResolution: 'No', sqlScript }), { status: 'SUCCESS' });
    assert.deepEqual(await readDone(), ['${n', '${nix}']);
    assert.match((await execute({ sqlScript })).message ?? '', /^not started/);
  });

  it('names a file that is missing, and the file of a statement that fails', async () => {
    await fixture.publish({ 'broken.sql': 'INSERT INTO nix VALUES (1)', 'empty.sql': '-- nothing' });
    const run = async (fileName: string) =>
      (await execute({ scriptLocation: 'File', fileName })).message ?? '';
    assert.match(await run('nix.sql'), /version "v1" has no file "nix.sql"/);
    assert.match(await run('broken.sql'), /"It" failed: broken.sql: /);
    assert.match(await run('empty.sql'), /empty.sql: the script has no statement/);
    assert.match(await run(''), /^not started: .*"fileName" is missing/);
  });

  it('declares variables as SQL variables', async () => {
    const sqlScript = 'INSERT INTO done VALUES ($x), (($n + 1)::VARCHAR)';
    const selected = { declareSqlVariables: 'Include selected', variablesToInclude: ['x', 'n'], sqlScript };
    assert.deepEqual(await execute(selected), { status: 'SUCCESS' });
    assert.deepEqual(await readDone(), ['8', "O'Brien"]);
    await fixture.publish({ 'fill.sql': '-- a comment\nINSERT INTO done VALUES ($x)' });
    const file = { scriptLocation: 'File', fileName: 'fill.sql', declareSqlVariables: 'Include all' };
    assert.deepEqual(await execute(file), { status: 'SUCCESS' });
    assert.deepEqual(await readDone(), ['8', "O'Brien", "O'Brien"]);
    const without = await execute({ sqlScript: '-- first\nINSERT INTO done VALUES ($nix)' });
    assert.match(without.message ?? '', /nix/);
  });

  it('refuses an empty script, an unknown word, and a grid as SQL variable', async () => {
    assert.match((await execute({ scriptLocation: 'Component' })).message ?? '', /"sqlScript" is missing/);
    assert.match(
      (await execute({ declareSqlVariables: 'Include some', sqlScript: 'SELECT 1' })).message ?? '',
      /"declareSqlVariables" is "Include some", which is not a known value/,
    );
    const declared = {
      declareSqlVariables: 'Include selected',
      variablesToInclude: ['g'],
      sqlScript: 'SELECT 1',
    };
    assert.match(
      (await execute(declared)).message ?? '',
      /the variable "g" is GRID, but a scalar variable is needed/,
    );
  });
});
