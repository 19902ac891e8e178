// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFixture, type Fixture } from '../run/engine-fixture.ts';
import { renderOrchestration, start } from '../run/pipeline-fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
});
afterEach(() => fixture.dispose());

describe('files', () => {
  const load = (source: string) =>
    renderOrchestration({
      Start: start('Load'),
      Load: { type: 'file-load', parameters: { source, fileType: 'CSV', targetTable: 't' } },
    });
  const unload = (target: string) =>
    renderOrchestration({
      Start: start('Unload'),
      Unload: { type: 'file-unload', parameters: { query: 'select 1 as a', target, fileType: 'CSV' } },
    });

  it('are also read from the files folder, whatever characters are in their names', async () => {
    writeFileSync(join(fixture.filesFolder, "o'dd[1]*?.csv"), 'a\n7\n');
    await fixture.publish({ 'p.orch.yaml': load("o'dd[1]*?.csv") });
    assert.deepEqual(await fixture.run('p'), { status: 'SUCCESS' });
    assert.deepEqual(await fixture.rows('select * from t'), [[7]]);
  });

  for (const path of [
    '../outside.csv',
    '/etc/passwd',
    'a/../../outside.csv',
    'a\\b.csv',
    '.',
    'link/outside.csv',
    'link',
  ]) {
    it(`outside the files folder cannot be read or written: ${path}`, async () => {
      writeFileSync(join(fixture.folder, 'outside.csv'), 'a\n1\n');
      mkdirSync(join(fixture.filesFolder, 'a'));
      symlinkSync(fixture.folder, join(fixture.filesFolder, 'link'));
      await fixture.publish({ 'load.orch.yaml': load(path), 'unload.orch.yaml': unload(path) });
      const before = readdirSync(fixture.folder);
      assert.equal((await fixture.run('load')).status, 'FAILED');
      assert.equal((await fixture.run('unload')).status, 'FAILED');
      assert.deepEqual(readdirSync(fixture.folder), before);
      assert.ok(!existsSync('/etc/passwd.partial'));
    });
  }

  it('are replaced atomically, and unchanged if the query fails', async () => {
    await fixture.publish({ 'p.orch.yaml': unload('f.csv') });
    await fixture.run('p');
    const broken = renderOrchestration({
      Start: start('Unload'),
      Unload: {
        type: 'file-unload',
        parameters: {
          query: "select case when i = 5 then error('stop') else '' end from range(9) t(i)",
          target: 'f.csv',
          fileType: 'CSV',
        },
      },
    });
    await fixture.publish({ 'q.orch.yaml': broken });
    assert.equal((await fixture.run('q')).status, 'FAILED');
    assert.deepEqual(await fixture.rows(`select * from read_csv('${join(fixture.filesFolder, 'f.csv')}')`), [
      [1],
    ]);
    assert.deepEqual(readdirSync(fixture.filesFolder), ['f.csv']);
  });

  const loadText = async (text: string, parameters: object = {}) => {
    await fixture.publish({
      'data/f.csv': text,
      'p.orch.yaml': renderOrchestration({
        Start: start('Load'),
        Load: {
          type: 'file-load',
          parameters: { source: 'data/f.csv', fileType: 'CSV', targetTable: 't', ...parameters },
        },
      }),
    });
    return (await fixture.run('p')).message;
  };

  it('that cannot be loaded fail the step by their name, not by a path of the machine', async () => {
    for (const columns of [
      [['id', 'INTEGER']],
      [
        ['id', 'INTEGER'],
        ['day', 'DATE'],
      ],
    ]) {
      const message = (await loadText('id,day\n1,x\n', { columns })) ?? '';
      assert.match(message, /"data\/f\.csv"|file = data\/f\.csv/);
      assert.ok(!message.includes(fixture.folder), message);
    }
  });

  it('with named columns in another order than the header fail the step', async () => {
    const columns = [
      ['name', 'TEXT'],
      ['id', 'NUMBER'],
    ];
    assert.match(
      (await loadText('id,Name\n1,a\n', { columns })) ?? '',
      /its header is "id", "Name", but the columns are named in the order "name", "id": name them in the order/,
    );
    assert.equal(await loadText('a,b\nx,1\n', { columns }), undefined);
    assert.deepEqual(await fixture.rows('select name, id from t'), [['x', 1]]);
  });

  it('with another delimiter fail the step', async () => {
    assert.match(
      (await loadText('id;name\n1;a\n')) ?? '',
      /"data\/f\.csv" was not loaded: the header has one column, "id;name", with ";" in its name: set the delimiter/,
    );
    assert.equal(await loadText('id;name\n1\n', { columns: [['both', 'TEXT']] }), undefined);
  });

  it('of JSON in which no record has a named column fail the step', async () => {
    const load = (columns: readonly (readonly string[])[]) =>
      loadText('{"Id": 1, "day": null}\n{"Id": 2}\n', { fileType: 'JSON', columns });
    assert.match(
      (await load([['id', 'NUMBER']])) ?? '',
      /was not loaded: no record has the member "id"; did you mean "Id"\?/,
    );
    assert.match(
      (await load([['amount', 'NUMBER']])) ?? '',
      /no record has the member "amount"; its records have ("Id", "day"|"day", "Id")/,
    );
    const both = [
      ['Id', 'NUMBER'],
      ['day', 'DATE'],
    ];
    assert.equal(await load(both), undefined);
    assert.deepEqual(await fixture.rows('select count(*) from t where day is null'), [[2]]);
    assert.equal(await loadText('[]', { fileType: 'JSON', columns: both }), undefined);
  });

  it('of no bytes fail the step and leave the table', async () => {
    await loadText('id\n1\n');
    assert.match(
      (await loadText('')) ?? '',
      /"Load" failed: the file "data\/f.csv" was not loaded: it is empty; /,
    );
    assert.deepEqual(await fixture.rows('select * from t'), [[1]]);
  });
});
