/** The variables of a project. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, Variable } from '@headgate/contract';
import type { Account } from '../../../testing/account.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED', value: 'Oslo' };

async function createProjectIn(account: Account) {
  const { path } = await account.project();
  return { account, admin: account.admin, path, variables: `${path}/variables` };
}
const createProject = async () => createProjectIn(await server.account());

test('a variable is created, found at its Location, and read again', async () => {
  const { admin, variables } = await createProject();
  const expected = { ...city, description: 'Where', supportsDoubleResolution: true };
  const created = await admin.post<Variable>(variables, expected);
  assert.equal(created.status, 201);
  const { id, ...rest } = created.body;
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  assert.deepEqual(rest, expected);
  assert.ok(created.headers.location?.endsWith(`/dpc/v1${variables}/city`));
  const read = await admin.get<Variable>(`${variables}/city`);
  assert.deepEqual(read.body, created.body);
  assert.equal(read.etag, created.etag);
  assert.match(read.etag, /^"[^"]+"$/, 'a strong ETag');
});

test('a variable without a value is empty: TEXT is "", GRID has no columns and rows, NUMBER has no value', async () => {
  const { admin, variables } = await createProject();
  const createVariable = async (type: string) => {
    const expected = { name: type, type, behaviour: 'COPIED' };
    return (await admin.post<Variable>(variables, expected)).body;
  };
  assert.equal((await createVariable('TEXT')).value, '');
  assert.deepEqual((await createVariable('GRID')).value, { columns: [], rows: [] });
  const number = await createVariable('NUMBER');
  assert.ok(!('value' in number) && !('description' in number), 'the member is absent');
  assert.equal(number.supportsDoubleResolution, false);
});

const grid = {
  columns: [
    { name: 'city', type: 'TEXT' },
    { name: 'people', type: 'NUMBER' },
  ],
  rows: [
    ['Oslo', 717_710],
    [null, null],
  ],
};

test('values are returned as they were written', async () => {
  const { admin, variables } = await createProject();
  const values: [string, unknown][] = [
    ['TEXT', 'Größe "𝒳" \\ \u0001 \n'],
    ['TEXT', 'x'.repeat(65_536)],
    ['NUMBER', 0],
    ['NUMBER', -1.5e-7],
    ['NUMBER', 9_007_199_254_740_991],
    ['NUMBER', 1.7976931348623157e308],
    ['GRID', grid],
  ];
  for (const [index, [type, value]] of values.entries()) {
    await admin.post(variables, { name: `v${index}`, type, behaviour: 'SHARED', value });
    assert.deepEqual((await admin.get<Variable>(`${variables}/v${index}`)).body.value, value);
  }
});

test('a value of another type is refused', async () => {
  const { admin, variables } = await createProject();
  const misfits: [string, unknown][] = [
    ['TEXT', 1],
    ['NUMBER', '1'],
    ['GRID', 'a,b'],
    ['NUMBER', grid],
    ['GRID', { ...grid, rows: [['Oslo']] }],
    ['GRID', { ...grid, rows: [['Oslo', 'many']] }],
    ['GRID', { columns: [grid.columns[0], grid.columns[0]], rows: [] }],
  ];
  for (const [type, value] of misfits) {
    const refused = await admin.post(variables, { ...city, type, value });
    const { detail } = requireProblem(refused, 422, 'value-type-mismatch');
    assert.match(detail, new RegExp(`^body.value does not have the variable's type ${type}: it is `));
  }
});

test('a value that no type allows is an invalid request', async () => {
  const { admin, variables } = await createProject();
  for (const value of [true, [], { columns: [] }, 'x'.repeat(65_537)]) {
    requireProblem(await admin.post(variables, { ...city, value }), 400, 'invalid-request');
  }
  const infinite = '{"name":"n","type":"NUMBER","behaviour":"SHARED","value":1e999}';
  requireProblem(await admin.post(variables, infinite), 400, 'invalid-request');
});

test('only columns and rows of a grid are stored', async () => {
  const { admin, variables } = await createProject();
  const colourful = { columns: [{ ...grid.columns[0], colour: 'red' }], rows: [['Oslo']], colour: 'blue' };
  const created = await admin.post<Variable>(variables, { ...city, type: 'GRID', value: colourful });
  assert.deepEqual(created.body.value, { columns: [grid.columns[0]], rows: [['Oslo']] });
});

test('names match the pattern', async () => {
  const { admin, variables } = await createProject();
  for (const name of ['$', '1a', 'a-b', 'a b', '', 'é', 'a'.repeat(256)]) {
    requireProblem(await admin.post(variables, { ...city, name }), 400, 'invalid-request');
    if (name !== '') {
      const path = `${variables}/${encodeURIComponent(name)}`;
      requireProblem(await admin.get(path), 400, 'invalid-request');
    }
  }
  for (const name of ['$a', '_', 'a'.repeat(255), '__proto__', 'constructor']) {
    assert.equal((await admin.post(variables, { ...city, name })).status, 201);
    assert.equal((await admin.get<Variable>(`${variables}/${name}`)).body.name, name);
  }
});

test('variable names are unique in a project', async () => {
  const one = await createProject();
  const other = await createProjectIn(one.account);
  await one.admin.post(one.variables, city);
  requireProblem(await one.admin.post(one.variables, { ...city, type: 'TEXT' }), 409, 'variable-name-taken');
  assert.equal((await one.admin.post(other.variables, city)).status, 201);
});

test('variables are listed by name, in pages with a total', async () => {
  const { admin, variables } = await createProject();
  for (const name of ['b', '_', 'a', '$z', 'Z']) await admin.post(variables, { ...city, name });
  const listNames = async (query: string) => {
    const { results, ...rest } = (await admin.get<Page<Variable>>(variables + query)).body;
    return { ...rest, names: results.map((variable) => variable.name).join(' ') };
  };
  assert.deepEqual(await listNames(''), { page: 0, size: 25, total: 5, names: '$z Z _ a b' });
  assert.deepEqual(await listNames('?page=1&size=2'), { page: 1, size: 2, total: 5, names: '_ a' });
  assert.deepEqual(await listNames('?page=9&size=2'), { page: 9, size: 2, total: 5, names: '' });
  await admin.delete(`${variables}/_`);
  assert.deepEqual(await listNames('?size=1'), { page: 0, size: 1, total: 4, names: '$z' });
});

test('a size above 100 is capped, not refused', async () => {
  const { admin, variables } = await createProject();
  for (const size of ['101', '5000', '999999999999', '99999999999999999999']) {
    const { body } = await admin.get<Page<Variable>>(`${variables}?size=${size}`);
    assert.equal(body.size, 100);
  }
});

test('an invalid page or size is refused', async () => {
  const { admin, variables } = await createProject();
  for (const query of [
    'page=-1',
    'size=0',
    'size=-5',
    'size=1.5',
    'page=x',
    'size=',
    'page=',
    'size=1&size=2',
  ]) {
    const { violations } = requireProblem(await admin.get(`${variables}?${query}`), 400, 'invalid-request');
    assert.match(violations?.[0] ?? '', /^query\.(page|size): /, query);
  }
});

test('an update keeps omitted members', async () => {
  const { admin, variables } = await createProject();
  const expected = { ...city, description: 'Where', supportsDoubleResolution: true };
  const { body: before, etag } = await admin.post<Variable>(variables, expected);
  const changed = await admin.patch<Variable>(`${variables}/city`, { type: 'TEXT', behaviour: 'COPIED' });
  assert.equal(changed.status, 200);
  assert.deepEqual(changed.body, { ...before, behaviour: 'COPIED' });
  assert.notEqual(changed.etag, etag);
  const value = await admin.patch<Variable>(`${variables}/city`, {
    type: 'TEXT',
    behaviour: 'COPIED',
    value: '',
  });
  assert.equal(value.body.value, '');
  assert.deepEqual((await admin.get(`${variables}/city`)).body, value.body);
});

test('an update requires type and behaviour', async () => {
  const { admin, variables } = await createProject();
  await admin.post(variables, city);
  const { violations } = requireProblem(
    await admin.patch(`${variables}/city`, { value: 'Bergen' }),
    400,
    'invalid-request',
  );
  assert.deepEqual(violations?.toSorted(), ['body.behaviour: is required', 'body.type: is required']);
});

test('changing the type without a value resets the value', async () => {
  const { admin, variables } = await createProject();
  await admin.post(variables, city);
  const number = await admin.patch<Variable>(`${variables}/city`, { type: 'NUMBER', behaviour: 'SHARED' });
  assert.ok(!('value' in number.body));
  const grown = await admin.patch<Variable>(`${variables}/city`, {
    type: 'GRID',
    behaviour: 'SHARED',
    value: grid,
  });
  assert.deepEqual(grown.body.value, grid);
});

test('the value of an update must have the type of the update', async () => {
  const { admin, variables } = await createProject();
  await admin.post(variables, city);
  const refused = await admin.patch(`${variables}/city`, {
    type: 'NUMBER',
    behaviour: 'SHARED',
    value: 'Bergen',
  });
  requireProblem(refused, 422, 'value-type-mismatch');
});

test('a type that stored overrides do not have is refused; the problem lists the environments', async () => {
  const { admin, variables } = await createProject();
  await admin.post(variables, city);
  const override = { environmentName: 'prod', value: 'Bergen' };
  await admin.post(`${variables}/city/environment-overrides`, override);
  const expected = { type: 'NUMBER', behaviour: 'SHARED', value: 1 };
  const { detail } = requireProblem(
    await admin.patch(`${variables}/city`, expected),
    422,
    'override-type-mismatch',
  );
  assert.match(detail, /"prod"/);
  assert.equal((await admin.get<Variable>(`${variables}/city`)).body.type, 'TEXT');
  await admin.delete(`${variables}/city/environment-overrides/prod`);
  assert.equal((await admin.patch(`${variables}/city`, expected)).status, 200);
});

test('a variable is deleted with its overrides', async () => {
  const { admin, variables } = await createProject();
  await admin.post(variables, city);
  await admin.post(`${variables}/city/environment-overrides`, { environmentName: 'prod', value: 'Bergen' });
  assert.equal((await admin.delete(`${variables}/city`)).status, 204);
  requireProblem(await admin.get(`${variables}/city`), 404, 'variable-not-found');
  requireProblem(await admin.delete(`${variables}/city`), 404, 'variable-not-found');
  await admin.post(variables, city);
  const { body } = await admin.get<{ environmentOverrides: unknown[] }>(
    `${variables}/city/environment-overrides`,
  );
  assert.deepEqual(body.environmentOverrides, []);
});

test('a write with If-Match is refused if the variable has changed', async () => {
  const { admin, variables } = await createProject();
  const { etag } = await admin.post<Variable>(variables, city);
  const change = (ifMatch: string, value: string) =>
    admin.patch<Variable>(
      `${variables}/city`,
      { type: 'TEXT', behaviour: 'SHARED', value },
      { headers: { 'if-match': ifMatch } },
    );
  const second = await change(etag, 'Bergen');
  assert.equal(second.status, 200);
  requireProblem(await change(etag, 'Tromsø'), 412, 'etag-mismatch');
  requireProblem(
    await admin.delete(`${variables}/city`, { headers: { 'if-match': etag } }),
    412,
    'etag-mismatch',
  );
  assert.equal((await admin.get<Variable>(`${variables}/city`)).body.value, 'Bergen');
  assert.equal((await change(`"other", ${second.etag}`, 'Tromsø')).status, 200, 'one ETag of a list');
  assert.equal((await change('*', 'Bodø')).status, 200, 'any ETag');
  const { etag: last } = await admin.get(`${variables}/city`);
  requireProblem(await change(`W/${last}`, 'Oslo'), 412, 'etag-mismatch');
  assert.equal((await admin.delete(`${variables}/city`, { headers: { 'if-match': last } })).status, 204);
});

test('a variable that is deleted and created again has another ETag', async () => {
  const { admin, variables } = await createProject();
  const first = await admin.post(variables, city);
  await admin.delete(`${variables}/city`);
  const second = await admin.post(variables, city);
  assert.notEqual(first.etag, second.etag);
});
