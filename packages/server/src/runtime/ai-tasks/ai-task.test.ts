/** The operations on tasks: lists, rights, states, streams. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AiTask, AiTaskItem, AiTaskMessage, AiTaskStatus } from '@headgate/contract';
import { aiTaskStatuses } from '@headgate/contract';
import { listKinds, listMessages, startAiScene, tasksPath } from '../../../testing/ai-task-scene.ts';
import { requireProblem } from '../../../testing/client.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import { encodeJson, toStoredText } from './store/stored-text.ts';
import { canMove } from './store/task-state.ts';

const scene = await startAiScene();
const { admin, model, account, project, server } = scene;
after(() => assert.deepEqual(model.faults, []));

interface List {
  tasks: AiTaskItem[];
  page: number;
  size: number;
  total: number;
}

test('the table of moves, over the product of states', () => {
  const moves = aiTaskStatuses.flatMap((from: AiTaskStatus) =>
    aiTaskStatuses.filter((to) => canMove(from, to)).map((to) => `${from} ${to}`),
  );
  assert.deepEqual(moves, [
    'RUNNING STOPPING',
    'RUNNING STOPPED',
    'RUNNING ERRORED',
    'STOPPING STOPPED',
    'STOPPING ERRORED',
    'STOPPED RUNNING',
    'ERRORED RUNNING',
  ]);
});

test('text that PostgreSQL cannot store is replaced, and long text is cut', () => {
  const text = 'a\0b\ud800c \\u0000 \\\\u0000 😀';
  const stored = JSON.parse(encodeJson({ text })).text;
  assert.equal(stored, 'a\ufffdb\ufffdc \\u0000 \\\\u0000 😀');
  assert.equal(toStoredText(text, 100), 'a\ufffdb\ufffdc \\u0000 \\\\u0000 😀');
  const cut = toStoredText('x'.repeat(1_000), 100);
  assert.ok(cut.length <= 100);
  assert.match(cut, /characters were cut\]$/);
});

test('a model that writes what cannot be stored ends nothing', async () => {
  model.play([
    { text: 'nul \0 half \ud83d', calls: [{ name: 'look', input: { text: 'a\0' } }] },
    { text: 'Done.' },
  ]);
  const path = await scene.create('Look.');
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  assert.deepEqual(listKinds(await listMessages(admin, path)), [
    ...['user', 'assistant', 'tool-call', 'tool-result'],
    'assistant',
  ]);
});

test('the list shows the tasks that the caller may read, by project, branch and status', async () => {
  model.play(() => ({ text: 'Hello.' }));
  const other = await account.project();
  const viewer = await account.actor('MEMBER', { projectId: project.projectId, role: 'VIEWER' });
  const here = await scene.create('Here.', {
    config: { sourceBranchName: 'main', mode: 'PLAN', graphId: 'g' },
  });
  await scene.create('Elsewhere.', { config: { projectId: other.projectId } });
  const read = async (query: string) => (await viewer.get<List>(`${tasksPath}?${query}`)).body;
  const all = await read('size=100');
  assert.ok(all.tasks.every(({ projectId }) => projectId === project.projectId));
  const [found, ...more] = (await read('branchId=main&status=RUNNING')).tasks;
  assert.deepEqual(more, []);
  assert.deepEqual(found, {
    taskId: here.split('/').at(-1),
    status: 'RUNNING',
    agentName: 'data_engineer_agent',
    mode: 'PLAN',
    description: 'Here.',
    modifiedAt: found?.modifiedAt,
    projectId: project.projectId,
    branchId: 'main',
  });
  assert.equal((await read(`projectId=${other.projectId}`)).total, 0);
  const { agentConfig } = (await viewer.get<AiTask>(here)).body;
  assert.deepEqual(agentConfig, {
    name: 'data_engineer_agent',
    projectId: project.projectId,
    mode: 'PLAN',
    sourceBranchName: 'main',
    graphId: 'g',
  });
  requireProblem(await viewer.post(`${here}/stop`), 403, 'forbidden');
  const stranger = await account.actor('ADMIN', { projectId: other.projectId, role: 'OWNER' });
  requireProblem(await stranger.get(here), 404, 'ai-task-not-found');
  await admin.post(`${here}/stop`);
  await scene.settle();
});

test('what a task names must exist, and its project stays', async () => {
  const config = { name: 'x', projectId: project.projectId };
  const create = (agentConfig: object) => admin.post(tasksPath, { agentConfig, message: 'x' });
  requireProblem(await create({ ...config, environmentName: 'nowhere' }), 404, 'environment-not-found');
  requireProblem(
    await create({ ...config, projectId: '01890000-0000-7000-8000-000000000000' }),
    404,
    'project-not-found',
  );
  requireProblem(await create({ ...config, workingDirectory: 'a/../b' }), 400, 'invalid-request');
  requireProblem(await create({ ...config, mode: 'DO' }), 400, 'invalid-request');
  requireProblem(await admin.get(`${tasksPath}/nothing`), 404, 'ai-task-not-found');
  model.play([{ text: 'Hello.' }, { text: 'Hello again.' }]);
  const path = await scene.create('Hello.');
  requireProblem(
    await admin.post(`${path}/messages`, { message: 'x', agentConfig: config }),
    409,
    'ai-task-config-running',
  );
  await scene.settle();
  const other = await account.project();
  const moved = { message: 'x', agentConfig: { ...config, projectId: other.projectId } };
  requireProblem(await admin.post(`${path}/messages`, moved), 422, 'ai-task-project');
  const renamed = { message: 'x', agentConfig: { ...config, name: 'another', environmentName: 'dev' } };
  assert.equal((await admin.post(`${path}/messages`, renamed)).status, 200);
  assert.equal((await scene.settled(path)).agentConfig.environmentName, 'dev');
});

test('a message that comes during a turn is answered too', async () => {
  const gate = Promise.withResolvers<void>();
  model.play([{ text: 'First.', until: gate.promise }, { text: 'Second.' }]);
  const asked = model.requests.length;
  const path = await scene.create('One.');
  await scene.runner.look();
  await waitUntil('the model is asked', 120, () => model.requests.length > asked);
  assert.equal((await admin.post(`${path}/messages`, { message: 'Two.' })).status, 200);
  gate.resolve();
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  const messages = await listMessages(admin, path);
  assert.deepEqual(listKinds(messages), ['user', 'user', 'assistant', 'assistant']);
});

test('messages are paged by tokens, the oldest first', async () => {
  model.play([{ calls: [{ name: 'look', input: { text: 'a' } }] }, { text: 'Done.' }]);
  const path = await scene.create('Look.');
  await scene.settle();
  const all = await listMessages(admin, path);
  const seen: AiTaskMessage[] = [];
  let token = '';
  do {
    const page = await admin.get<{ results: AiTaskMessage[]; more?: string }>(
      `${path}/messages?limit=2${token}`,
    );
    assert.ok(page.body.results.length <= 2);
    seen.push(...page.body.results);
    token = page.body.more === undefined ? '' : `&paginationToken=${page.body.more}`;
  } while (token !== '');
  assert.deepEqual(
    seen.map(({ data }) => data),
    all,
  );
  requireProblem(await admin.get(`${path}/messages?paginationToken=x`), 400, 'invalid-request');
});

test('a deleted environment ends its tasks, also those that wait', async () => {
  await admin.post(`${project.path}/environments`, { name: 'short' });
  model.play([{ calls: [{ name: 'change', input: { text: 'a' } }] }]);
  const path = await scene.create('Change.', { config: { environmentName: 'short' } });
  assert.equal((await scene.settled(path)).pendingDecisions.length, 1);
  assert.equal((await admin.delete(`${project.path}/environments/short?confirm=true`)).status, 204);
  const task = await scene.settled(path);
  assert.deepEqual([task.status, task.pendingDecisions], ['ERRORED', []]);
  const last = (await listMessages(admin, path)).at(-1);
  assert.ok(last?.type === 'error');
  assert.equal(last.text, 'The environment "short" of the task was deleted.');
});

test('a deleted task is gone with its messages; one at work is not deleted', async () => {
  const gate = Promise.withResolvers<void>();
  model.play([{ text: 'Done.', until: gate.promise }]);
  const path = await scene.create('Work.');
  await scene.runner.look();
  requireProblem(await admin.delete(path), 409, 'ai-task-running');
  gate.resolve();
  await scene.settle();
  assert.equal((await admin.delete(path)).status, 204);
  requireProblem(await admin.get(`${path}/messages`), 404, 'ai-task-not-found');
  const left = await scene.server.database.query(
    'select from ai_message m where not exists (select from ai_task t where t.task_id = m.task_id)',
  );
  assert.equal(left.length, 0);
});

test('rows of a warehouse are shown to all who may read the task, because they may query it too', async () => {
  const { projectId } = project;
  const people = {
    viewer: await account.actor('MEMBER', { projectId, role: 'VIEWER' }),
    contributor: await account.actor('MEMBER', { projectId, role: 'CONTRIBUTOR' }),
  };
  const query = { name: 'query_rows', input: { text: 'orders' } };
  const wrong = { name: 'query_rows', input: {} };
  model.play([{ calls: [query, { name: 'look', input: { text: 'files' } }, wrong] }, { text: 'Done.' }]);
  const path = await scene.create('Look.', { config: { environmentName: 'dev' } });
  await scene.settle();
  const read = async (actor: typeof admin) =>
    (await listMessages(actor, path)).flatMap((data) => (data.type === 'tool-result' ? [data.text] : []));
  const refused =
    "The input does not fit the schema of query_rows: input must have required property 'text'.";
  for (const actor of [admin, people.viewer, people.contributor])
    assert.deepEqual(await read(actor), [refused, 'rows of orders', 'seen files']);
  const stream = await people.viewer.get(`${path}/messages/stream?seconds=0`);
  assert.match(stream.text, /rows of orders/);
  assert.match(model.requests.at(-1)?.text ?? '', /rows of orders/, 'the model has them');
});

test('an account has a limited number of tasks that run', async () => {
  const other = await server.account();
  const { projectId } = await other.project();
  const body = { agentConfig: { name: 'x', projectId }, message: 'Hello.' };
  const create = () => other.admin.post<{ taskId: string }>(tasksPath, body);
  const { taskId } = (await create()).body;
  await server.database.query("update ai_task set status = 'STOPPED' where task_id = $1", [taskId]);
  await server.database.query(
    `insert into ai_task (account_id, project_id, task_id, status, agent_config, description, creator_id, sender_id,
       wants_turn, created_at, modified_at)
     select account_id, project_id, gen_random_uuid(), 'RUNNING', agent_config, description, creator_id, sender_id, true,
       created_at, modified_at
     from ai_task, generate_series(1, 198) where task_id = $1`,
    [taskId],
  );
  const statuses = (await Promise.all([create(), create(), create(), create()])).map(({ status }) => status);
  assert.deepEqual(statuses.toSorted(), [201, 201, 409, 409]);
  assert.match(
    requireProblem(await create(), 409, 'too-many-ai-tasks').detail,
    /^200 AI tasks.*HEADGATE_AI_ACCOUNT_TASKS/,
  );
  const resumed = await other.admin.post(`${tasksPath}/${taskId}/messages`, { message: 'Go on.' });
  requireProblem(resumed, 409, 'too-many-ai-tasks');
  assert.equal((await scene.admin.get(tasksPath)).status, 200);
  await other.admin.delete(`/projects/${projectId}`);
});

test('another account sees and decides nothing', async () => {
  const change = { name: 'change', input: { text: 'a' } };
  model.play([{ calls: [change] }, { text: 'Done.' }]);
  const path = await scene.create('Change things.');
  const [call] = (await scene.settled(path)).pendingDecisions;
  const stranger = (await server.account()).admin;
  const decisions = [{ type: 'ALLOW_ONCE', id: call?.toolId }];
  const permissions = { body: { grantedPermissions: [{ toolName: 'change' }] } };
  for (const answer of [
    await stranger.get(path),
    await stranger.get(`${path}/messages`),
    await stranger.get(`${path}/messages/stream?seconds=0`),
    await stranger.get(`${path}/changes`),
    await stranger.post(`${path}/decisions`, { decisions }),
    await stranger.post(`${path}/messages`, { message: 'x' }),
    await stranger.send('PUT', `${path}/permissions`, permissions),
    await stranger.post(`${path}/stop`),
    await stranger.post(`${path}/merge`, {}),
    await stranger.post(`${path}/discard`),
    await stranger.delete(path),
  ])
    requireProblem(answer, 404, 'ai-task-not-found');
  assert.equal((await scene.settled(path)).pendingDecisions.length, 1);
  await admin.post(`${path}/stop`);
  assert.equal((await scene.settled(path)).status, 'STOPPED');
});
