/** Environments that take only versions whose quality review is PASSED. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Environment, Page } from '@headgate/contract';
import { associate, loopbackAllowed } from '../../../testing/associated-project.ts';
import { requireProblem } from '../../../testing/client.ts';
import { commitFiles, startGitHost } from '../../../testing/git-host.ts';
import { buildMultipart, multipartBoundary, type TestProject, upload } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const gitHost = await startGitHost();
const server = await startTestServer({ settings: loopbackAllowed });
const account = await server.account();
const { admin } = account;

const pipeline = (sql: string) => ({
  name: 'close.orch.yaml',
  content: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Close]}}
    Close: {type: sql-script, parameters: {sqlScript: "${sql}"}}
`,
});
const bad = pipeline('update orders set state = 1');
const good = pipeline('update orders set state = 1 where paid');

async function gated(qualityGate: string, environmentName: string): Promise<TestProject> {
  const project = await account.project();
  const answer = await admin.patch<Environment>(`${project.path}/environments/${environmentName}`, {
    qualityGate,
  });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.qualityGate, qualityGate);
  return project;
}

const countVersions = async (project: TestProject, name: string) =>
  (await admin.get<Page<unknown>>(`${project.path}/artifacts?environmentName=${name}`)).body.total;

const send = (project: TestProject, part: typeof bad, query = '') =>
  admin.post<{ warnings: { code: string; level: string }[] }>(
    `${project.path}/artifacts${query}`,
    buildMultipart([part]),
    {
      headers: {
        'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
        environmentName: 'dev',
        versionName: 'v1',
      },
    },
  );

test('a new environment has no gate, and one can be set and taken away', async () => {
  const project = await account.project();
  const path = `${project.path}/environments/dev`;
  assert.equal((await admin.get<Environment>(path)).body.qualityGate, undefined);
  const made = await admin.post<Environment>(`${project.path}/environments`, {
    name: 'new',
    qualityGate: 'WARN',
  });
  assert.equal(made.body.qualityGate, 'WARN');
  await admin.patch(path, { qualityGate: 'REQUIRED' });
  const none = await admin.patch<Environment>(path, { qualityGate: 'NONE' });
  assert.equal(none.body.qualityGate, undefined);
});

test('REQUIRED refuses an upload with errors, names them, and stores nothing', async () => {
  const project = await gated('REQUIRED', 'dev');
  for (const query of ['', '?dryRun=true']) {
    const refused = await send(project, bad, query);
    const { detail, violations } = requireProblem(refused, 422, 'quality-gate-refused');
    assert.match(
      detail,
      /"dev" takes only versions whose quality review is PASSED, and that of "v1" has 1 error/,
    );
    assert.match(violations?.[0] ?? '', /close\.orch\.yaml.*line 5.*add a WHERE \(rule update-without-key\)/);
  }
  assert.equal(await countVersions(project, 'dev'), 0);
  assert.equal((await send(project, good)).status, 201);
});

test('WARN takes the version, and its warnings have the errors', async () => {
  const project = await gated('WARN', 'dev');
  const taken = await send(project, bad);
  assert.equal(taken.status, 201, taken.text);
  assert.ok(
    taken.body.warnings.some(({ code, level }) => code === 'update-without-key' && level === 'warning'),
  );
});

test('a promotion to an environment with a gate needs PASSED, or warns', async () => {
  for (const [gate, status] of [
    ['REQUIRED', 422],
    ['WARN', 201],
  ] as const) {
    const project = await gated(gate, 'prod');
    await upload(admin, project, [bad], { versionName: 'bad' });
    await upload(admin, project, [good], { versionName: 'good' });
    const promote = (versionName: string) =>
      admin.post(`${project.path}/artifacts/promotions`, {
        ...{ versionName, sourceEnvironmentName: 'dev', targetEnvironmentName: 'prod' },
      });
    const answer = await promote('bad');
    assert.equal(answer.status, status, answer.text);
    if (status === 422) requireProblem(answer, 422, 'quality-gate-refused');
    else
      assert.match(String(answer.headers['headgate-warning']), /the quality review of the version is FAILED/);
    assert.equal(await countVersions(project, 'prod'), status === 422 ? 0 : 1);
    assert.equal((await promote('good')).status, 201);
  }
});

const weakened = [
  bad,
  { name: 'headgate-rules.yaml', content: 'rules: [{id: update-without-key, enabled: false}]' },
];
const rulesOf = (project: TestProject, qualityGateRules: object[]) =>
  admin.patch<Environment>(`${project.path}/environments/dev`, { qualityGateRules });

test('the rules of the gate count in the place of those of the version', async () => {
  const project = await gated('REQUIRED', 'dev');
  const rules = [{ id: 'update-without-key' }, { id: 'maximum-components', config: { maxComponents: 40 } }];
  assert.deepEqual((await rulesOf(project, rules)).body.qualityGateRules, rules);
  const refused = await upload(admin, project, weakened);
  requireProblem(refused, 422, 'quality-gate-refused');
  const ownRule = {
    ...{ id: 'no-sql', enforcementLevel: 'error', message: 'No SQL here' },
    expression: "pipeline.components.filter(({ type }) => type === 'sql-script').map(({ name }) => name)",
  };
  await rulesOf(project, [ownRule]);
  const { violations } = requireProblem(await upload(admin, project, [good]), 422, 'quality-gate-refused');
  assert.match(violations?.[0] ?? '', /rule no-sql/);
  const { body } = await rulesOf(project, []);
  assert.equal(body.qualityGateRules, undefined);
  assert.equal((await upload(admin, project, weakened)).status, 201);
});

test('rules of a gate with faults change nothing, and each is named', async () => {
  const project = await gated('REQUIRED', 'dev');
  const refused = await rulesOf(project, [
    { id: 'select-star', enabled: false },
    { id: 'update-without-keys' },
    { id: 'maximum-components', config: { maxComponents: 'many' } },
  ]);
  const { violations, errors } = requireProblem(refused, 422, 'quality-rules-refused');
  assert.match(violations?.[0] ?? '', /^body\.qualityGateRules\[1\]: .*did you mean "update-without-key"/);
  assert.match(violations?.[1] ?? '', /^body\.qualityGateRules\[2\]: "maxComponents" must be a whole number/);
  assert.equal(errors?.[1]?.pointer, '/body/qualityGateRules/2');
  const long = Array.from({ length: 60 }, (_, index) => ({ id: `r${index}`, expression: 'x'.repeat(1_000) }));
  assert.equal((await rulesOf(project, long)).problem.code, 'invalid-request');
  const { body } = await admin.get<Environment>(`${project.path}/environments/dev`);
  assert.equal(body.qualityGateRules, undefined);
});

test('a publication from Git passes the same gate', async () => {
  const project = await gated('REQUIRED', 'dev');
  const repository = gitHost.addRepository('acme/gated.git', { writers: ['t0ken'] });
  await associate(admin, project, { cloneUrl: repository.cloneUrl, token: 't0ken' });
  commitFiles(repository.folder, { files: { [bad.name]: bad.content } });
  const publish = () =>
    admin.post(`${project.path}/artifacts/from-git`, { environmentName: 'dev', branch: 'main' });
  requireProblem(await publish(), 422, 'quality-gate-refused');
  commitFiles(repository.folder, {
    files: {
      [bad.name]: bad.content,
      'headgate-rules.yaml': 'rules: [{id: update-without-key, enabled: false}]',
    },
  });
  const taken = await publish();
  assert.equal(taken.status, 201, taken.text);
  await gitHost.close();
});
