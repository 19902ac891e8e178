/** The overrides of a variable. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EnvironmentOverride, FailedOverride, Variable } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

type Written = { environmentOverrides: EnvironmentOverride[]; failedOverride: FailedOverride[] };
type WithOverrides = Variable & { environmentOverrides: EnvironmentOverride[] };

async function createCity(type = 'TEXT') {
  const account = await server.account();
  const { path, projectId } = await account.project();
  const variable = `${path}/variables/city`;
  await account.admin.post(`${path}/variables`, { name: 'city', type, behaviour: 'SHARED' });
  return {
    account,
    admin: account.admin,
    projectId,
    path,
    variable,
    overrides: `${variable}/environment-overrides`,
  };
}

const prod = { environmentName: 'prod', value: 'Bergen' };
const dev = { environmentName: 'dev', value: 'Oslo' };

test('the body is an object, a bare array, or one override', async () => {
  for (const body of [{ environmentOverrides: [prod] }, [prod], prod]) {
    const { admin, overrides } = await createCity();
    const written = await admin.post<Written>(overrides, body);
    assert.equal(written.status, 200);
    assert.deepEqual(written.body, { environmentOverrides: [prod], failedOverride: [] });
    assert.deepEqual((await admin.get<WithOverrides>(overrides)).body.environmentOverrides, [prod]);
  }
});

test('an existing override is updated', async () => {
  const { admin, overrides } = await createCity();
  await admin.post(overrides, [prod, dev]);
  await admin.post(overrides, { environmentName: 'prod', value: 'Tromsø' });
  assert.deepEqual((await admin.get<WithOverrides>(overrides)).body.environmentOverrides, [
    dev,
    { environmentName: 'prod', value: 'Tromsø' },
  ]);
});

test('reads return all overrides of a variable, sorted by name, or one', async () => {
  const { admin, overrides, variable } = await createCity();
  await admin.post(overrides, [prod, dev]);
  const { body } = await admin.get<WithOverrides>(overrides);
  const { environmentOverrides, ...rest } = body;
  assert.deepEqual(environmentOverrides, [dev, prod]);
  assert.deepEqual(rest, (await admin.get<Variable>(variable)).body);
  const one = await admin.get<WithOverrides>(`${overrides}?environmentName=prod`);
  assert.deepEqual(one.body, { ...rest, environmentOverrides: [prod] });
});

test('reading an override that does not exist is 404', async () => {
  const { admin, overrides } = await createCity();
  for (const name of ['dev', 'uat']) {
    requireProblem(await admin.get(`${overrides}?environmentName=${name}`), 404, 'override-not-found');
  }
  requireProblem(await admin.get(`${overrides}?environmentName=-`), 400, 'invalid-request');
  requireProblem(await admin.get(overrides.replace('city', 'town')), 404, 'variable-not-found');
});

test('overrides that cannot be written are listed with a code; the others are written', async () => {
  const { account, projectId, overrides } = await createCity();
  const writer = await account.actor('MEMBER', { projectId, environmentName: 'dev', role: 'CONTRIBUTOR' });
  const expected = [dev, prod, { environmentName: 'uat', value: 'x' }, { environmentName: '-', value: 'x' }];
  const { body } = await writer.post<Written>(overrides, { environmentOverrides: expected });
  assert.deepEqual(body.environmentOverrides, [dev]);
  assert.deepEqual(
    body.failedOverride.map(({ environmentName, value, code }) => [environmentName, value, code]),
    [
      ['prod', 'Bergen', 'FORBIDDEN'],
      ['uat', 'x', 'ENVIRONMENT_NOT_FOUND'],
      ['-', 'x', 'INVALID_NAME'],
    ],
  );
  for (const { reason, environmentName } of body.failedOverride) assert.ok(reason.includes(environmentName));
});

test('an override in an environment where the caller may not write is listed, in each form of the body', async () => {
  for (const body of [{ environmentOverrides: [prod] }, [prod], prod]) {
    const { account, projectId, overrides } = await createCity();
    const writer = await account.actor('MEMBER', { projectId, environmentName: 'dev', role: 'CONTRIBUTOR' });
    const answer = await writer.post<Written>(overrides, body);
    assert.equal(answer.status, 200, `${JSON.stringify(body)}: ${answer.text}`);
    assert.equal(answer.body.failedOverride[0]?.code, 'FORBIDDEN');
  }
});

test('a value of another type fails with TYPE_MISMATCH and is returned as it was sent', async () => {
  const values: [string, unknown[]][] = [
    ['TEXT', [1, null, true, ['a'], { a: 1 }, 'x'.repeat(65_537)]],
    ['NUMBER', ['1', null, {}]],
    ['GRID', ['', { columns: [], rows: [['x']] }, { columns: [{ name: 'a', type: 'DATE' }], rows: [] }]],
  ];
  for (const [type, misfits] of values) {
    const { admin, overrides } = await createCity(type);
    for (const value of misfits) {
      const { body } = await admin.post<Written>(overrides, { environmentName: 'dev', value });
      assert.deepEqual(body.environmentOverrides, []);
      assert.deepEqual(
        body.failedOverride.map((failed) => [failed.code, failed.value]),
        [['TYPE_MISMATCH', value]],
      );
    }
  }
});

test('only columns and rows of a grid override are stored', async () => {
  const { admin, overrides } = await createCity('GRID');
  const value = { columns: [{ name: 'a', type: 'TEXT', colour: 'red' }], rows: [['x']], colour: 'blue' };
  const { body } = await admin.post<Written>(overrides, { environmentName: 'dev', value });
  assert.deepEqual(body.environmentOverrides[0]?.value, {
    columns: [{ name: 'a', type: 'TEXT' }],
    rows: [['x']],
  });
});

test('an environment may appear once in a request', async () => {
  const { admin, overrides } = await createCity();
  for (const body of [[prod, dev, prod], { environmentOverrides: [prod, prod] }]) {
    const { detail } = requireProblem(await admin.post(overrides, body), 400, 'duplicate-environment');
    assert.match(detail, /"prod"/);
  }
  assert.deepEqual((await admin.get<WithOverrides>(overrides)).body.environmentOverrides, []);
});

test('atomic: all or none', async () => {
  const { admin, overrides } = await createCity();
  const expected = [dev, { environmentName: 'uat', value: 'x' }, { environmentName: 'prod', value: 7 }];
  const refused = await admin.post(`${overrides}?atomic=true`, expected);
  const { violations } = requireProblem(refused, 422, 'overrides-refused');
  assert.equal(violations?.length, 2);
  assert.match(violations?.[0] ?? '', /^body.environmentOverrides\[1\]: ENVIRONMENT_NOT_FOUND: .*"uat"/);
  assert.match(violations?.[1] ?? '', /^body.environmentOverrides\[2\]: TYPE_MISMATCH: /);
  assert.deepEqual((await admin.get<WithOverrides>(overrides)).body.environmentOverrides, []);
  const written = await admin.post<Written>(`${overrides}?atomic=true`, [dev, prod]);
  assert.equal(written.body.environmentOverrides.length, 2);
  requireProblem(await admin.post(`${overrides}?atomic=perhaps`, [dev]), 400, 'invalid-request');
});

test('a request may have 1 to 500 overrides', async () => {
  const { account, admin, path, overrides } = await createCity();
  const [, , , projectId] = ['', ...path.split('/')];
  await server.database.query(
    `insert into environment (account_id, project_id, name, default_user_access_level, version, created_at)
     select $1, $2, 'e' || n, 'default', 1, now() from generate_series(1, 500) n`,
    [account.accountId, path.split('/')[2] ?? projectId],
  );
  const many = Array.from({ length: 501 }, (_, index) => ({ environmentName: `e${index + 1}`, value: 'x' }));
  const written = await admin.post<Written>(overrides, many.slice(0, 500));
  assert.equal(written.body.environmentOverrides.length, 500);
  requireProblem(await admin.post(overrides, many), 400, 'invalid-request');
  requireProblem(await admin.post(overrides, []), 400, 'invalid-request');
  requireProblem(await admin.post(overrides, { environmentOverrides: [] }), 400, 'invalid-request');
});

test('a body in another form is refused', async () => {
  const { admin, overrides } = await createCity();
  const bodies = [
    'null',
    '1',
    '{}',
    '[1]',
    '[[]]',
    '{"environmentOverrides": null}',
    '{"environmentName": "dev"}',
    '{"value": "x"}',
    '{"environmentOverrides": {"environmentName": "dev", "value": "x"}}',
    '[{"environmentName": "dev"}]',
  ];
  for (const body of bodies) {
    const { violations } = requireProblem(await admin.post(overrides, body), 400, 'invalid-request');
    assert.ok(violations !== undefined && violations.length > 0, body);
  }
});

test('unknown members are ignored in each form of the body', async () => {
  for (const stray of [null, 7, 'x', {}]) {
    const { admin, overrides } = await createCity();
    const answer = await admin.post<Written>(overrides, { ...prod, environmentOverrides: stray });
    assert.ok([200, 400].includes(answer.status), `${JSON.stringify(stray)}: ${answer.text}`);
  }
  const { account, projectId, overrides } = await createCity();
  const writer = await account.actor('MEMBER', { projectId, environmentName: 'dev', role: 'CONTRIBUTOR' });
  const { body } = await writer.post<Written>(overrides, {
    environmentOverrides: [dev],
    environmentName: 'prod',
  });
  assert.deepEqual(body.environmentOverrides, [dev]);
});

test('writing an override does not change the ETag of its variable', async () => {
  const { admin, variable, overrides } = await createCity();
  const { etag } = await admin.get(variable);
  await admin.post(overrides, prod);
  await admin.delete(`${overrides}/prod`);
  assert.equal((await admin.get(variable)).etag, etag);
});

test('after its override is deleted, an environment uses the variable’s own value', async () => {
  const { admin, overrides } = await createCity();
  await admin.post(overrides, [prod, dev]);
  const deleted = await admin.delete(`${overrides}/prod`);
  assert.equal(deleted.status, 204);
  assert.equal(deleted.text, '');
  assert.deepEqual((await admin.get<WithOverrides>(overrides)).body.environmentOverrides, [dev]);
  requireProblem(await admin.delete(`${overrides}/prod`), 404, 'override-not-found');
  requireProblem(await admin.delete(`${overrides}/uat`), 404, 'environment-not-found');
  requireProblem(await admin.delete(`${overrides}/${encodeURIComponent('a/b')}`), 400, 'invalid-request');
  requireProblem(await admin.delete(`${overrides.replace('city', 'town')}/prod`), 404, 'variable-not-found');
});

test('overrides of a variable that does not exist cannot be written', async () => {
  const { admin, overrides } = await createCity();
  requireProblem(await admin.post(overrides.replace('city', 'town'), prod), 404, 'variable-not-found');
});
