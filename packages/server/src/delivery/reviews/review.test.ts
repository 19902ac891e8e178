/** Quality reviews of versions, branches and files. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Review } from '@headgate/contract';
import { loopbackAllowed } from '../../../testing/associated-project.ts';
import { requireProblem } from '../../../testing/client.ts';
import { commitByApi } from '../../../testing/git-delivery.ts';
import { type TestProject, upload } from '../../../testing/project.ts';
import { createScheduled, daily } from '../../../testing/scheduled-project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: { ...loopbackAllowed, HEADGATE_UPLOAD_PART_MB: '16' } });
const account = await server.account();
const { admin } = account;

const orchestration = (sql: string) => `type: orchestration
version: "1.0"
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Close]}}
    Close:
      type: sql-script
      parameters: {sqlScript: "${sql}"}
`;
const bad = orchestration('update orders set state = 1');
const good = orchestration('update orders set state = 1 where paid');
const quiet = (path: string) => ({ path, content: good });

const review = (project: TestProject, body: object) => admin.post<Review>(`${project.path}/reviews`, body);
const reviewFiles = async (files: { path: string; content: string }[], more: object = {}) => {
  const answer = await review(await account.project(), { files, ...more });
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
};
const ids = (found: Review, path: string) => (found.results[path] ?? []).map(({ rule }) => rule);

test('a version with an error is FAILED, with rule, place and remedy; one without is PASSED', async () => {
  const project = await account.project();
  await upload(admin, project, [{ name: 'close.orch.yaml', content: bad }], { versionName: 'bad' });
  await upload(admin, project, [{ name: 'close.orch.yaml', content: good }], { versionName: 'good' });
  const failed = await review(project, { environmentName: 'dev', versionName: 'bad' });
  assert.equal(failed.status, 200, failed.text);
  assert.equal(failed.body.reviewStatus, 'FAILED');
  const found = failed.body.results['close.orch.yaml']?.find(({ level }) => level === 'ERROR');
  assert.deepEqual([found?.rule, found?.component, found?.line], ['update-without-key', 'Close', 8]);
  assert.match(found?.message ?? '', /add a WHERE/);
  const passed = await review(project, { environmentName: 'dev' });
  assert.equal(passed.body.reviewStatus, 'PASSED', 'the newest version');
});

test('a branch is reviewed by its own rules file, at its head or at a commit', async () => {
  const project = await account.project();
  const made = await admin.post(`${project.path}/repositories`, {
    provider: 'headgate',
    repositoryName: 'pipelines',
  });
  assert.equal(made.status, 201, made.text);
  const first = await commitByApi(admin, project, { files: { 'close.orch.yaml': bad } });
  await commitByApi(admin, project, {
    files: { 'headgate-rules.yaml': 'rules: [{id: update-without-key, enabled: false}]' },
  });
  const head = await review(project, { branchName: 'main' });
  assert.equal(head.status, 200, head.text);
  assert.equal(head.body.reviewStatus, 'PASSED');
  const before = await review(project, { branchName: 'main', commitId: first.slice(0, 12) });
  assert.equal(before.body.reviewStatus, 'FAILED');
  requireProblem(await review(project, { branchName: 'mian' }), 404, 'revision-not-found');
});

test('files in the body are reviewed; filePaths chooses, and names what is no pipeline', async () => {
  const files = [{ path: 'a.orch.yaml', content: bad }, quiet('b.orch.yaml'), { path: 'c.sql', content: '' }];
  const all = await reviewFiles(files);
  assert.equal(all.reviewStatus, 'FAILED');
  const chosen = await reviewFiles(files, { filePaths: ['b.orch.yaml', 'c.sql', 'gone.orch.yaml'] });
  assert.equal(chosen.reviewStatus, 'PASSED');
  assert.deepEqual(Object.keys(chosen.results), ['b.orch.yaml']);
  assert.deepEqual(chosen.excludedFiles, ['c.sql', 'gone.orch.yaml']);
});

test('exactly one thing can be reviewed', async () => {
  const project = await account.project();
  for (const body of [
    {},
    { environmentName: 'dev', branchName: 'main' },
    { versionName: 'v1' },
    { commitId: 'abcd' },
  ])
    requireProblem(await review(project, body), 422, 'review-source');
  requireProblem(await review(project, { environmentName: 'nowhere' }), 404, 'environment-not-found');
  requireProblem(
    await review(project, { environmentName: 'dev', versionName: 'v9' }),
    404,
    'artifact-not-found',
  );
});

test('a pipeline that cannot be read fails the review', async () => {
  const found = await reviewFiles([{ path: 'a.orch.yaml', content: 'type: [' }]);
  assert.equal(found.reviewStatus, 'FAILED');
  assert.deepEqual(ids(found, 'a.orch.yaml'), ['unreadable-file']);
});

test('rules about several pipelines read all files', async () => {
  const call = (next: string) =>
    `type: orchestration\npipeline:\n  components:\n    S: {type: start, transitions: {unconditional: [N]}}\n    N: {type: run-orchestration, parameters: {orchestrationJob: ${next}}}`;
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const files = names.map((name, index) => ({
    path: `${name}.orch.yaml`,
    content: index === names.length - 1 ? good : call(names[index + 1] ?? ''),
  }));
  assert.ok(ids(await reviewFiles(files), 'a.orch.yaml').includes('maximum-depth'));
});

test('a schedule without an alert rule is found, and one with it is not', async () => {
  const { admin: owner, made, created } = await createScheduled(server);
  await created(daily, { pipelineName: 'main' });
  const find = async () => {
    const answer = await owner.post<Review>(`${made.path}/reviews`, { environmentName: 'dev' });
    assert.equal(answer.status, 200, answer.text);
    return ids(answer.body, 'main.orch.yaml').includes('schedule-without-alert');
  };
  assert.equal(await find(), true);
  const alert = await owner.post(`${made.path}/alert-rules`, {
    name: 'failed',
    condition: { type: 'FAILED' },
  });
  assert.equal(alert.status, 201, alert.text);
  assert.equal(await find(), false);
});

test('who may not read the project gets no review', async () => {
  const project = await account.project();
  const stranger = await (await server.account()).admin.post(`${project.path}/reviews`, {
    files: [quiet('a.orch.yaml')],
  });
  assert.equal(stranger.status, 404);
});

const rulesPath = 'headgate-rules.yaml';
const withRules = (content: string, pipeline = good) => [
  { path: 'a.orch.yaml', content: pipeline },
  { path: rulesPath, content },
];

test('a rules file changes levels and parameters, and switches rules off; the vendor’s name works too', async () => {
  const level = await reviewFiles(withRules('rules: [{id: failure-path, enforcementLevel: error}]'));
  assert.equal(level.reviewStatus, 'FAILED');
  const config = 'rules: [{id: maximum-components, enforcementLevel: error, config: {maxComponents: 1}}]';
  assert.equal((await reviewFiles(withRules(config))).reviewStatus, 'FAILED');
  const off = withRules('rules: [{id: update-without-key, enabled: false}]', bad);
  assert.equal((await reviewFiles(off)).reviewStatus, 'PASSED');
  const vendor = off.map((file) =>
    file.path === rulesPath ? { ...file, path: '.matillion/config/pipeline_quality_rules.yaml' } : file,
  );
  assert.equal((await reviewFiles(vendor)).reviewStatus, 'PASSED');
});

test('rules of the version itself name components, give messages, or fail in words', async () => {
  const rule = (id: string, expression: string) =>
    `- {id: ${id}, enforcementLevel: error, message: "not allowed: remove it", expression: ${JSON.stringify(expression)}}`;
  const rules = [
    rule('no-sql', 'pipeline.components.filter((c) => c.type === "sql-script").map((c) => c.name)'),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: JavaScript of a rule
    rule('says-so', '`${pipeline.components.length} components`'),
    rule('nothing', 'pipeline.components.some((c) => c.type === "bash-script")'),
    rule('endless', '(() => { for (;;); })()'),
    rule('wrong', 'pipeline.components.('),
  ];
  const found = await reviewFiles(withRules(`rules:\n${rules.join('\n')}`));
  const own = (found.results['a.orch.yaml'] ?? []).filter(({ level }) => level === 'ERROR');
  assert.deepEqual(
    own.map(({ rule, component, message }) => [rule, component, message]),
    [
      ['no-sql', 'Close', 'not allowed: remove it'],
      ['says-so', undefined, '2 components'],
    ],
  );
  const faults = found.results[rulesPath] ?? [];
  assert.deepEqual(
    faults.map(({ rule, line }) => [rule, line]),
    [
      ['rules-file', 5],
      ['rules-file', 6],
    ],
  );
  assert.match(
    faults[0]?.message ?? '',
    /"endless" failed on a\.orch\.yaml: the expression ran longer than 200 ms/,
  );
});

test('an expression that needs too much memory, or that tries to get out, is bounded', async () => {
  const rule = (id: string, expression: string) => `- {id: ${id}, expression: ${JSON.stringify(expression)}}`;
  const rules = [
    rule('hungry', '(() => { const all = []; for (;;) all.push("x".repeat(1e6)); })()'),
    rule('deep', '(() => { const f = () => f(); return f(); })()'),
    rule('out', 'process.exit()'),
    rule('closing', '1)); (() => { throw new Error("x") })(((1'),
  ];
  const found = await reviewFiles(withRules(`rules:\n${rules.join('\n')}`));
  assert.equal(found.results[rulesPath]?.length, 4);
  assert.equal(found.reviewStatus, 'FAILED');
});

test('a rules file that is too large, broken or wrong says so, and the built-in rules still count', async () => {
  const faulty = async (content: string) => {
    const found = await reviewFiles(withRules(content, bad));
    assert.ok(ids(found, 'a.orch.yaml').includes('update-without-key'), content.slice(0, 50));
    return (found.results[rulesPath] ?? []).map(({ level, message }) => `${level} ${message}`).join('; ');
  };
  assert.match(
    await faulty(`rules: []\n# ${'x'.repeat(262_144)}`),
    /ERROR the rules file has more than 262144 characters/,
  );
  assert.match(await faulty('rules: [{'), /ERROR the rules file cannot be read: line 1/);
  assert.match(await faulty('rules: {id: a}'), /ERROR "rules" must be a list/);
  assert.match(await faulty('rulez: []'), /ERROR the rules file has no member "rulez"/);
  assert.match(
    await faulty('rules: [{id: select-satr}]'),
    /WARNING there is no rule "select-satr": did you mean "select-star"\?/,
  );
  assert.match(await faulty('rules: [{id: Bad Id}]'), /ERROR a rule needs an "id"/);
  assert.match(
    await faulty('rules: [{id: select-star, enforcementLevel: fatal}]'),
    /use error, warn or info/,
  );
  assert.match(
    await faulty('rules: [{id: maximum-components, config: {maxComponents: many}}]'),
    /a whole number from 0 to 2000/,
  );
  assert.match(
    await faulty('rules: [{id: component-naming-convention, config: {regexMatchPattern: "(a"}}]'),
    /cannot be used as a regular expression/,
  );
  assert.match(
    await faulty('rules: [{id: select-star, expression: "true"}]'),
    /is the id of a built-in rule/,
  );
});

test('a rules file of 10 MB in a version is bounded', async () => {
  const project = await account.project();
  const large = `rules:\n${'- {id: select-star}\n'.repeat(500_000)}`;
  assert.ok(large.length > 10_000_000);
  const parts = [
    { name: 'a.orch.yaml', content: good },
    { name: rulesPath, content: large },
  ];
  await upload(admin, project, parts);
  const found = await review(project, { environmentName: 'dev' });
  assert.equal(found.status, 200, found.text);
  assert.match(found.body.results[rulesPath]?.[0]?.message ?? '', /more than 262144 characters/);
});
