/** Concurrent writers on real PostgreSQL: the result is the same as of sequential writes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EnvironmentOverride, Page, Variable } from '@headgate/contract';
import type { Answer } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: { HEADGATE_DATABASE_CONNECTIONS: '16' } });
const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED', value: 'Oslo' };

async function createProject() {
  const account = await server.account();
  const { path } = await account.project();
  return { admin: account.admin, path, variables: `${path}/variables` };
}

const repeat = <Result>(count: number, each: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => each(index)));

function requireOnly(answers: readonly Answer[], ...statuses: number[]): void {
  for (const answer of answers)
    assert.ok(statuses.includes(answer.status), `${answer.status}: ${answer.text}`);
}

test('of concurrent creates of one name, one succeeds and the others are refused', async () => {
  const { admin, path, variables } = await createProject();
  for (let round = 0; round < 5; round += 1) {
    const expected = { ...city, name: `v${round}` };
    const answers = await repeat(8, () => admin.post(variables, expected));
    requireOnly(answers, 201, 409);
    assert.equal(answers.filter((answer) => answer.status === 201).length, 1);
    const environments = await repeat(8, () => admin.post(`${path}/environments`, { name: `e${round}` }));
    requireOnly(environments, 201, 409);
    assert.equal(environments.filter((answer) => answer.status === 201).length, 1);
  }
  const { body } = await admin.get<Page<Variable>>(`${variables}?size=100`);
  assert.deepEqual([body.total, body.results.length], [5, 5], 'the total matches the rows');
});

test('concurrent creates and deletes of one name leave a total that matches the rows', async () => {
  const { admin, variables } = await createProject();
  for (let round = 0; round < 5; round += 1) {
    const answers = await repeat(16, (index) =>
      index % 2 === 0 ? admin.post(variables, city) : admin.delete(`${variables}/city`),
    );
    requireOnly(answers, 201, 204, 404, 409);
    const { body } = await admin.get<Page<Variable>>(variables);
    assert.equal(body.total, body.results.length);
  }
});

test('16 concurrent writers of one override all succeed, and one of the values remains', async () => {
  const { admin, variables } = await createProject();
  await admin.post(variables, city);
  const overrides = `${variables}/city/environment-overrides`;
  const answers = await repeat(16, (index) =>
    admin.post(overrides, { environmentName: 'dev', value: `v${index}` }),
  );
  requireOnly(answers, 200);
  const { body } = await admin.get<{ environmentOverrides: EnvironmentOverride[] }>(overrides);
  assert.equal(body.environmentOverrides.length, 1);
  assert.match(String(body.environmentOverrides[0]?.value), /^v\d+$/);
});

test('writers of several overrides in opposite orders do not deadlock', async () => {
  const { admin, variables } = await createProject();
  await admin.post(variables, city);
  const both = [
    { environmentName: 'dev', value: 'a' },
    { environmentName: 'prod', value: 'b' },
  ];
  const answers = await repeat(16, (index) =>
    admin.post(`${variables}/city/environment-overrides`, index % 2 === 0 ? both : both.toReversed()),
  );
  requireOnly(answers, 200);
});

test('a concurrent change of the type and write of an override never leave an override of another type', async () => {
  const { admin, variables } = await createProject();
  for (let round = 0; round < 15; round += 1) {
    const name = `r${round}`;
    await admin.post(variables, { ...city, name });
    const overrides = `${variables}/${name}/environment-overrides`;
    const [change, ...written] = await Promise.all([
      admin.patch(`${variables}/${name}`, { type: 'NUMBER', behaviour: 'SHARED', value: 1 }),
      admin.post(overrides, { environmentName: 'dev', value: 'text' }),
      admin.post(overrides, { environmentName: 'prod', value: 7 }),
    ]);
    requireOnly([change], 200, 422);
    requireOnly(written, 200);
    const { body } = await admin.get<Variable & { environmentOverrides: EnvironmentOverride[] }>(overrides);
    const fits = body.type === 'TEXT' ? 'string' : 'number';
    for (const { value } of body.environmentOverrides) assert.equal(typeof value, fits, JSON.stringify(body));
  }
});
