/** Writers at the same time, on real PostgreSQL: what they leave is as if one had come after another. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EnvironmentOverride, Page, Variable } from '@headgate/contract';
import type { Answer } from '../../testing/client.ts';
import { startTestServer } from '../../testing/server.ts';

const server = await startTestServer({ settings: { HEADGATE_DATABASE_CONNECTIONS: '16' } });
const city = { name: 'city', type: 'TEXT', behaviour: 'SHARED', value: 'Oslo' };

async function project() {
  const account = await server.account();
  const { path, projectId } = await account.project();
  return { account, admin: account.admin, projectId, path, variables: `${path}/variables` };
}

const times = <Result>(count: number, each: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => each(index)));

function requireOnly(answers: readonly Answer[], ...statuses: number[]): void {
  for (const answer of answers)
    assert.ok(statuses.includes(answer.status), `${answer.status}: ${answer.text}`);
}

test('of several creates of one name one succeeds and the others are told', async () => {
  const { admin, path, variables } = await project();
  for (let round = 0; round < 5; round += 1) {
    const wanted = { ...city, name: `v${round}` };
    const answers = await times(8, () => admin.post(variables, wanted));
    requireOnly(answers, 201, 409);
    assert.equal(answers.filter((answer) => answer.status === 201).length, 1);
    const environments = await times(8, () => admin.post(`${path}/environments`, { name: `e${round}` }));
    requireOnly(environments, 201, 409);
    assert.equal(environments.filter((answer) => answer.status === 201).length, 1);
  }
  const { body } = await admin.get<Page<Variable>>(`${variables}?size=100`);
  assert.deepEqual([body.total, body.results.length], [5, 5], 'the total counts what is there');
});

test('creates and deletes of one name leave a total that counts what is there', async () => {
  const { admin, variables } = await project();
  for (let round = 0; round < 5; round += 1) {
    const answers = await times(16, (index) =>
      index % 2 === 0 ? admin.post(variables, city) : admin.delete(`${variables}/city`),
    );
    requireOnly(answers, 201, 204, 404, 409);
    const { body } = await admin.get<Page<Variable>>(variables);
    assert.equal(body.total, body.results.length);
  }
});

test('16 writers of one override: each succeeds, and one of the values is there', async () => {
  const { admin, variables } = await project();
  await admin.post(variables, city);
  const overrides = `${variables}/city/environment-overrides`;
  const answers = await times(16, (index) =>
    admin.post(overrides, { environmentName: 'dev', value: `v${index}` }),
  );
  requireOnly(answers, 200);
  const { body } = await admin.get<{ environmentOverrides: EnvironmentOverride[] }>(overrides);
  assert.equal(body.environmentOverrides.length, 1);
  assert.match(String(body.environmentOverrides[0]?.value), /^v\d+$/);
});

test('writers of several overrides in opposite orders do not wait for each other for ever', async () => {
  const { admin, variables } = await project();
  await admin.post(variables, city);
  const both = [
    { environmentName: 'dev', value: 'a' },
    { environmentName: 'prod', value: 'b' },
  ];
  const answers = await times(16, (index) =>
    admin.post(`${variables}/city/environment-overrides`, index % 2 === 0 ? both : both.toReversed()),
  );
  requireOnly(answers, 200);
});

test('with If-Match no update is lost', async () => {
  const { admin, variables } = await project();
  await admin.post(variables, { name: 'n', type: 'NUMBER', behaviour: 'SHARED', value: 0 });
  let succeeded = 0;
  await times(8, async () => {
    for (let done = 0; done < 3; ) {
      const { body, etag } = await admin.get<Variable>(`${variables}/n`);
      const next = { type: 'NUMBER', behaviour: 'SHARED', value: Number(body.value) + 1 };
      const answer = await admin.patch(`${variables}/n`, next, { headers: { 'if-match': etag } });
      requireOnly([answer], 200, 412);
      if (answer.status === 200) {
        done += 1;
        succeeded += 1;
      }
    }
  });
  assert.equal((await admin.get<Variable>(`${variables}/n`)).body.value, succeeded);
  assert.equal(succeeded, 24);
});

test('a change of the type against a write of an override never leaves an override that does not fit', async () => {
  const { admin, variables } = await project();
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

test('a project that goes away under 16 writers takes all with it, and each writer is told', async () => {
  for (let round = 0; round < 4; round += 1) {
    const { account, admin, projectId, path, variables } = await project();
    await admin.post(variables, city);
    const writing = times(16, async (index) => {
      const answers: Answer[] = [];
      for (let turn = 0; turn < 4; turn += 1) {
        const name = `v${index}_${turn}`;
        answers.push(
          (await [
            () => admin.post(variables, { ...city, name }),
            () => admin.patch(`${variables}/city`, { type: 'TEXT', behaviour: 'SHARED', value: name }),
            () =>
              admin.post(`${variables}/city/environment-overrides`, { environmentName: 'dev', value: name }),
            () => admin.post(`${path}/environments`, { name }),
          ][(index + turn) % 4]?.()) ?? assert.fail(),
        );
      }
      return answers;
    });
    // A deletion that is the victim of a deadlock is tried again, as an operator would.
    const deleting = (async () => {
      for (let attempt = 0; attempt < 20; attempt += 1) {
        const done = await server.database
          .query('delete from project where project_id = $1', [projectId])
          .then(() => true)
          .catch((failure: { code?: string }) => {
            assert.equal(failure.code, '40P01');
            return false;
          });
        if (done) return;
      }
      assert.fail('the project could not be deleted');
    })();
    const [answers] = await Promise.all([writing, deleting]);
    requireOnly(answers.flat(), 200, 201, 404, 409);
    for (const table of ['variable', 'variable_override', 'environment', 'project_counter', 'role_grant']) {
      const rows = await server.database.query(`select from ${table} where account_id = $1`, [
        account.accountId,
      ]);
      assert.equal(rows.length, 0, table);
    }
  }
});
