/** A run that uses secrets: when they are read, and how its output is masked. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { createFixture, type Fixture } from './engine-fixture.ts';
import { print, renderOrchestration, renderTransformation, start, text, update } from './pipeline-fixture.ts';

const canary = 'canary of/a "bay"+ 8f21';
let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
  fixture.secrets.set('lake', canary);
});
afterEach(() => fixture.dispose());

const script = (sqlScript: string, more: object = {}) => ({
  type: 'sql-script',
  parameters: { sqlScript },
  ...more,
});

async function run(components: Record<string, object>, variables: object = { x: text('') }) {
  await fixture.publish({ 'main.orch.yaml': renderOrchestration(components, variables) });
  const outcome = await fixture.run('main');
  const told = JSON.stringify([outcome, fixture.reports, fixture.lines]);
  for (const part of ['canary', '8f21', 'bay"', Buffer.from(canary).toString('base64').slice(0, 8)])
    assert.ok(!told.replaceAll('\\"', '"').includes(part), `${part} in ${told}`);
  return { ...outcome, told };
}

/** Components that run one after the other. */
function chain(...components: object[]): Record<string, object> {
  const names = components.map((_, index) => `C${index}`);
  const linked = components.map((component, index) => [
    names[index],
    { transitions: { success: names.slice(index + 1, index + 2) }, ...component },
  ]);
  return { Start: start(...names.slice(0, 1)), ...Object.fromEntries(linked) };
}

test('a secret can be used in parameters, variables and SQL, and is read once per run', async () => {
  const { status } = await run(
    chain(
      update('x', "secret('lake').length"),
      update('y', 'secret("lake")'),
      script("create table t as select '${secret(\"lake\")}' as v, ${x} as n, '${y}' as w"),
    ),
    { x: text(''), y: text('') },
  );
  assert.equal(status, 'SUCCESS');
  assert.deepEqual(await fixture.rows('select * from t'), [[canary, canary.length, canary]]);
  assert.deepEqual(fixture.secretsRead, ['lake']);
});

test('a run reads no secret that it does not name or does not reach', async () => {
  await run(chain(update('x', '1 > 2 ? secret("lake") : "none"'), print('x')));
  assert.deepEqual([fixture.secretsRead, fixture.lines], [[], ['x = none']]);
});

test('a default that nothing reads is not resolved, and its secret is not read', async () => {
  const variables = { x: text('plain'), y: text('key=${secret("lake")}'), z: text('${y}') };
  await run(chain(print('x'), update('x', '1 + 1'), script("select '${x}'")), variables);
  assert.deepEqual([fixture.secretsRead, fixture.lines], [[], ['x = plain']]);
  await run(chain(print('z')), variables);
  assert.deepEqual(fixture.secretsRead, ['lake']);
});

test('printed values are masked, plain and encoded by expressions', async () => {
  const { status, told } = await run(
    chain(
      update('x', 'secret("lake")'),
      print('x'),
      update('x', '"a=" + encodeURIComponent(secret("lake"))'),
      print('x'),
      update('x', 'JSON.stringify({ key: secret("lake") })'),
      print('x'),
    ),
  );
  assert.equal(status, 'SUCCESS');
  assert.deepEqual(fixture.lines, ['x = ***', 'x = a=***', 'x = {"key":"***"}']);
  assert.match(told, /"message":"x = \*\*\*"/);
});

test('a value that passed through a table is masked', async () => {
  await run(
    chain(
      script('create table t as select \'${secret("lake")}\' as v'),
      {
        type: 'query-to-scalar',
        parameters: {
          mode: 'Advanced',
          query: "select v || ' ' || base64(v::blob) as v from t",
          scalarVariableMapping: [['x', 'v']],
        },
      },
      print('x'),
    ),
  );
  assert.deepEqual(fixture.lines, ['x = *** ***']);
});

test('database errors that quote the statement do not reveal the value', async () => {
  const statements = [
    'select \'${secret("lake")}\'::integer',
    'select ${secret("lake")}',
    'select "${secret("lake").slice(0)}" from nowhere',
    "select '${secret(\"lake\")}' as a, nothing from nowhere where x = 'something long to come after it'",
    'selekt \'${secret("lake")}\'',
    'select \'x${secret("lake")}',
  ];
  for (const statement of statements) {
    const { status, message } = await run(chain(script(statement)));
    assert.equal(status, 'FAILED', statement);
    assert.match(message ?? '', /"C0" failed: .*(?:Error|has no end)/, statement);
  }
});

test('a step shows SQL with a secret in a text, but not SQL with a secret as code', async () => {
  fixture.secrets.set('table', 'a.b.c12');
  fixture.secrets.set('code', 'nvl(n, 7)');
  await fixture.connection.run('create schema "a.b"; create table "a.b".c12 as select 1 as n');
  const sqlOf = async (sql: string) => {
    assert.equal((await run(chain(script(sql)))).status, 'SUCCESS', sql);
    const shown = [...fixture.steps.values()].findLast(({ name }) => name === 'C0')?.sql;
    fixture.steps.clear();
    return shown;
  };
  const hidden = '-- not shown: a secret is a part of the code of this statement;';
  assert.equal(await sqlOf('select * from ${secret("table")}'), hidden);
  assert.equal(await sqlOf('select ${secret("code")} from a.b.c12'), hidden);
  fixture.secrets.set('text', 'from-hell');
  assert.equal(
    await sqlOf('select \'${secret("text")}\' as hell from a.b.c12 where 1 = 1'),
    `select '***' as hell from "a.b"."c12" where 1 = 1;`,
  );
});

test('errors of SQL that is not supported do not reveal the value', async () => {
  const statements = [
    'select * from identifier(${secret("lake")})',
    'select * from canary.of.a.b where x = \'${secret("lake")}\'',
    'select * from t, lateral flatten(input => x, mode => \'${secret("lake")}\')',
    'alter session set canary = \'${secret("lake")}\'',
  ];
  for (const statement of statements) {
    const { status } = await run(chain(script(statement)));
    assert.equal(status, 'FAILED', statement);
  }
});

test('errors of expressions, names of pipelines and post-processing do not reveal the value', async () => {
  const call = (orchestrationJob: string) => ({
    type: 'run-orchestration',
    parameters: { orchestrationJob },
  });
  const failing = [
    update('x', 'JSON.parse(secret("lake"))'),
    update('x', '(() => { throw new Error("z".repeat(490) + secret("lake")); })()'),
    update('x', 'nothing[secret("lake")]'),
    call('${secret("lake")}'),
    script('select 1', {
      postProcessing: { updateScalarVariables: [['x', '${null[secret("lake")]}']] },
    }),
    { type: 'file-load', parameters: { source: '${secret("lake")}', fileType: 'CSV', targetTable: 't' } },
  ];
  for (const component of failing) assert.equal((await run(chain(component))).status, 'FAILED');
});

test('a transformation can use secrets; a long message is masked before it is cut', async () => {
  await fixture.publish({
    'tran.tran.yaml': renderTransformation({
      Made: { type: 'sql', parameters: { query: 'select \'${secret("lake")}\' as v' }, sources: [] },
      Kept: { type: 'rewrite-table', parameters: { targetTable: 'kept' }, sources: ['Made'] },
    }),
  });
  const called = { type: 'run-transformation', parameters: { transformationJob: 'tran' } };
  await run(chain(called, update('x', '"y".repeat(9990) + secret("lake")'), print('x')));
  assert.deepEqual(await fixture.rows('select v from kept'), [[canary]]);
});

test('a variable’s default may be a secret, which is not read if a value is given; given values are plain texts', async () => {
  const variables = { x: text('${ secret("lake") }'), y: text('${x}') };
  await run(chain(print('x'), print('y')), variables);
  assert.deepEqual([fixture.lines, fixture.secretsRead], [['x = ***', 'y = ***'], ['lake']]);
  const scalarVariables = { x: '${secret("lake")}' };
  assert.deepEqual(await fixture.run('main', { scalarVariables }), { status: 'SUCCESS' });
  assert.deepEqual(fixture.lines.slice(2), ['x = ${secret("lake")}', 'y = ${secret("lake")}']);
  assert.equal(fixture.secretsRead.length, 1);
  fixture.secrets.delete('lake');
  assert.deepEqual(await fixture.run('main'), {
    status: 'FAILED',
    message: 'main.orch.yaml: the variable "x": the secret reference "lake" cannot be looked up: none',
  });
});

test('a secret that cannot be read fails its step; a later step tries again', async () => {
  fixture.secrets.delete('lake');
  const failed = await run(chain(script('select \'${secret("lake")}\'')));
  assert.match(failed.message ?? '', /"C0" failed: the secret reference "lake" cannot be looked up/);
  const again = { ...script('select 1'), parameters: { sqlScript: 'select \'${secret("lake")}\'' } };
  const components = {
    Start: start('First'),
    First: { ...again, transitions: { failure: ['Second'] } },
    Second: again,
  };
  await run(components);
  assert.equal(fixture.secretsRead.length, 3, 'a failure is not remembered');
});

test('rows written to a file are not masked', async () => {
  await run(
    chain({
      type: 'file-unload',
      parameters: { query: 'select \'${secret("lake")}\' as v', target: 'out.csv', fileType: 'CSV' },
    }),
  );
  assert.match(await readFile(join(fixture.filesFolder, 'out.csv'), 'utf8'), /canary/);
});

test('a text computed from a value is not masked, as documented', async () => {
  await fixture.publish({
    'main.orch.yaml': renderOrchestration(chain(update('x', 'secret("lake").toUpperCase()'), print('x')), {
      x: text(''),
    }),
  });
  await fixture.run('main');
  assert.deepEqual(fixture.lines, [`x = ${canary.toUpperCase()}`]);
});
