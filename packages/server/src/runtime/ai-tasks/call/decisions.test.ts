/** Calls that wait for a person, and grants. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AiMessageData, AiPendingDecision, AiTask } from '@headgate/contract';
import { listKinds, listMessages, startAiScene } from '../../../../testing/ai-task-scene.ts';
import { requireProblem } from '../../../../testing/client.ts';

const scene = await startAiScene();
const { admin, model, tools, server } = scene;
after(() => assert.deepEqual(model.faults, []));

const change = (text: string, more: object = {}) => ({ name: 'change', input: { text, ...more } });
const listEffects = () => [...tools.effects.values()].map(({ text }) => text);

type Result = AiMessageData & { type: 'tool-result' };
async function readResults(path: string): Promise<string[]> {
  const messages = await listMessages(admin, path);
  return messages
    .filter((message): message is Result => message.type === 'tool-result')
    .map(({ outcome, text }) => `${outcome}: ${text}`);
}

async function decide(path: string, ...decisions: object[]) {
  const answer = await admin.post<{ pendingDecisions: AiPendingDecision[] }>(`${path}/decisions`, {
    decisions,
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.body.pendingDecisions;
}

test('a change waits for a decision; what is allowed once runs once', async () => {
  tools.effects.clear();
  model.play([{ calls: [change('a'), change('b')] }, { calls: [change('c')] }, { text: 'Done.' }]);
  const path = await scene.create('Change things.');
  const task = await scene.settled(path);
  assert.equal(task.status, 'RUNNING');
  assert.deepEqual(
    task.pendingDecisions.map(({ toolName, toolInput, permissionMessage }) => ({
      toolName,
      toolInput,
      permissionMessage,
    })),
    ['a', 'b'].map((text) => ({
      toolName: 'change',
      toolInput: { text },
      permissionMessage: { title: 'Use change', body: `With {"text":"${text}"}` },
    })),
  );
  assert.deepEqual(listEffects(), [], 'nothing runs before the decision');
  const [first, second] = task.pendingDecisions.map(({ toolId }) => toolId);
  const left = await decide(path, { type: 'ALLOW_ONCE', id: first });
  assert.deepEqual(
    left.map(({ toolId }) => toolId),
    [second],
  );
  await scene.settle();
  assert.deepEqual(listEffects(), ['a']);
  await decide(path, { type: 'DENY', id: second, reason: 'too risky' });
  const [third] = (await scene.settled(path)).pendingDecisions;
  assert.deepEqual(third?.toolInput, { text: 'c' }, 'another call asks again');
  await decide(path, { type: 'DENY', id: third?.toolId });
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  assert.deepEqual(await readResults(path), [
    'DONE: changed a',
    'DENIED: The person denied this call. The reason: too risky',
    'DENIED: The person denied this call.',
  ]);
  assert.deepEqual(listEffects(), ['a']);
});

test('allowed for the task: the tool is granted from then on, and the person is behind the call', async () => {
  tools.effects.clear();
  tools.runs.length = 0;
  model.play([{ calls: [change('a')] }, { calls: [change('b')] }, { text: 'Done.' }]);
  const path = await scene.create('Change things.', { config: { environmentName: 'dev' } });
  const colleague = await scene.account.actor('MEMBER', {
    projectId: scene.project.projectId,
    role: 'OWNER',
  });
  const [call] = (await scene.settled(path)).pendingDecisions;
  const decisions = [{ type: 'ALLOW_FOR_TASK', id: call?.toolId }];
  assert.equal((await colleague.post(`${path}/decisions`, { decisions })).status, 200);
  const task = await scene.settled(path);
  assert.equal(task.status, 'STOPPED');
  assert.deepEqual(task.grantedPermissions, [{ toolName: 'change', environmentName: 'dev' }]);
  assert.deepEqual(listEffects(), ['a', 'b']);
  const behind = tools.runs.map(({ context }) => context.actors.behindIds);
  assert.deepEqual(behind, [[colleague.actorId], [admin.actorId, colleague.actorId]]);
  assert.deepEqual(
    tools.runs.map(({ context }) => context.task.generateBranch),
    [true, true],
    'changes are on a branch of their own unless somebody asks for another one',
  );
  // In another environment it is asked again.
  model.play([{ calls: [change('c')] }, { text: 'Done.' }]);
  const { agentConfig } = task;
  const moved = { message: 'And there.', agentConfig: { ...agentConfig, environmentName: 'prod' } };
  assert.equal((await admin.post(`${path}/messages`, moved)).status, 200);
  const [pending] = (await scene.settled(path)).pendingDecisions;
  await decide(path, { type: 'DENY', id: pending?.toolId });
  assert.equal((await scene.settled(path)).status, 'STOPPED');
});

test('grants are narrowed by arguments, environment, uses and expiry', async () => {
  tools.effects.clear();
  const inAnHour = new Date(server.clock.now().getTime() + 3_600_000).toISOString();
  const calls = [change('a'), change('c', { environmentName: 'prod' }), change('b')];
  const grants = [
    { toolName: 'change', arguments: { text: 'a' }, uses: 1 },
    { toolName: 'change', environmentName: 'prod', expiresAt: inAnHour },
  ];
  model.play([{ calls }, { calls }, { text: 'Done.' }]);
  const path = await scene.create('Change things.', { grants, config: { environmentName: 'dev' } });
  const task = await scene.settled(path);
  assert.deepEqual(
    task.pendingDecisions.map(({ toolInput }) => toolInput.text),
    ['b'],
  );
  assert.deepEqual(listEffects(), ['a', 'c']);
  assert.deepEqual(task.grantedPermissions, grants.slice(1), 'what is used up is no permission');
  server.clock.advance(3_601);
  await decide(path, { type: 'DENY', id: task.pendingDecisions[0]?.toolId });
  const again = await scene.settled(path);
  assert.deepEqual(
    again.pendingDecisions.map(({ toolInput }) => toolInput.text),
    ['a', 'c', 'b'],
  );
  assert.deepEqual(again.grantedPermissions, []);
  // Replaced permissions let what waits go on.
  const replaced = await admin.send('PUT', `${path}/permissions`, {
    body: { grantedPermissions: [{ toolName: 'change' }] },
  });
  assert.equal(replaced.status, 200, replaced.text);
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  assert.deepEqual(listEffects(), ['a', 'c', 'a', 'c', 'b']);
});

test('calls wait for an earlier one that changes something, and run in the order of the answer', async () => {
  tools.runs.length = 0;
  const look = { name: 'look', input: { text: 'c' } };
  model.play([{ calls: [change('a'), change('b'), look] }, { text: 'Done.' }]);
  const grants = [{ toolName: 'change', arguments: { text: 'b' } }];
  const path = await scene.create('Change things.', { grants });
  const [call, ...others] = (await scene.settled(path)).pendingDecisions;
  assert.deepEqual([others.length, tools.runs.length], [0, 0]);
  await decide(path, { type: 'ALLOW_ONCE', id: call?.toolId });
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  assert.deepEqual(
    tools.runs.map(({ input }) => input.text),
    ['a', 'b', 'c'],
  );
});

test('what a person is asked shows invisible characters', async () => {
  model.play([{ calls: [change('a\u202eb\u200bc\u00a0d\u{e0041}')] }, { text: 'Done.' }]);
  const path = await scene.create('Change things.');
  const [call] = (await scene.settled(path)).pendingDecisions;
  assert.equal(call?.permissionMessage.body, 'With {"text":"a\\u{202e}b\\u{200b}c\\u{a0}d\\u{e0041}"}');
  await decide(path, { type: 'DENY', id: call?.toolId });
  await scene.settle();
});

test('a decision that does not come in time is its own outcome', async () => {
  tools.effects.clear();
  model.play([{ calls: [change('late')] }, { text: 'Without it, then.' }]);
  const path = await scene.create('Change things.');
  const [call] = (await scene.settled(path)).pendingDecisions;
  server.clock.advance(168 * 3_600 + 1);
  const decisions = [{ type: 'ALLOW_ONCE', id: call?.toolId }];
  requireProblem(await admin.post(`${path}/decisions`, { decisions }), 409, 'decision-not-pending');
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  assert.deepEqual(await readResults(path), [
    'TIMED_OUT: Nothing was decided about this call in time, so it was not made.',
  ]);
  assert.deepEqual(listEffects(), []);
});

test('a question is answered by its options', async () => {
  const questions = [
    { question: 'Which table?', options: ['orders', 'customers'] },
    { question: 'Which days?', options: ['Mon', 'Tue', 'Wed'], multiple: true },
  ];
  model.play([{ calls: [{ name: 'ask_user', input: { questions } }] }, { text: 'Thanks.' }]);
  const path = await scene.create('Do it.');
  const [call] = (await scene.settled(path)).pendingDecisions;
  const id = call?.toolId;
  const refuse = async (decision: object, detail: RegExp) => {
    const refused = await admin.post(`${path}/decisions`, { decisions: [{ id, ...decision }] });
    requireProblem(refused, 422, 'decision-kind');
    assert.match(refused.problem.detail, detail);
  };
  const answer = (...options: string[][]) => ({
    type: 'ANSWER',
    answers: options.map((selectedOptions, questionIndex) => ({ questionIndex, selectedOptions })),
  });
  await refuse({ type: 'ALLOW_ONCE' }, /ALLOW_ONCE does not answer a question: send ANSWER/);
  await refuse(answer(['orders']), /questionIndex 1: Which days\?/);
  await refuse(answer(['orders', 'customers'], ['Mon']), /questionIndex 0 takes one/);
  await refuse(
    answer(['nothing'], ['Mon']),
    /"nothing" is not an option of questionIndex 0; the options are orders, customers/,
  );
  await refuse(answer(['orders'], ['Mon'], ['x']), /no question 2/);
  await decide(path, { id, ...answer(['orders'], ['Mon', 'Wed']) });
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  assert.deepEqual(await readResults(path), ['DONE: Which table?: orders\nWhich days?: Mon, Wed']);
});

test('the reason of a permission is a text for the model, so its giver is behind the next calls', async () => {
  tools.runs.length = 0;
  const look = { calls: [{ name: 'look', input: { text: 'x' } }] };
  model.play([
    { calls: [change('a')] },
    look,
    { text: 'Done.' },
    { calls: [change('b')] },
    look,
    { text: '.' },
  ]);
  const path = await scene.create('Change things.');
  const role = { projectId: scene.project.projectId, role: 'CONTRIBUTOR' } as const;
  const colleague = await scene.account.actor('MEMBER', role);
  for (const reason of [undefined, 'now look at x']) {
    const [call] = (await scene.settled(path)).pendingDecisions;
    const decisions = [{ type: 'ALLOW_ONCE', id: call?.toolId, ...(reason && { reason }) }];
    assert.equal((await colleague.post(`${path}/decisions`, { decisions })).status, 200);
    await scene.settle();
    if (reason === undefined) await admin.post(`${path}/messages`, { message: 'And b.' });
  }
  const behind = tools.runs.map(({ toolName, context }) => [toolName, ...context.actors.behindIds]);
  assert.deepEqual(behind, [
    ['change', colleague.actorId],
    ['look', admin.actorId],
    ['change', colleague.actorId],
    ['look', admin.actorId, colleague.actorId],
  ]);
});

test('decisions are taken all or none', async () => {
  tools.effects.clear();
  model.play([{ calls: [change('a'), change('b')] }, { text: 'Done.' }]);
  const path = await scene.create('Change things.');
  const [one, two] = (await scene.settled(path)).pendingDecisions.map(({ toolId }) => toolId);
  const send = (...decisions: object[]) => admin.post(`${path}/decisions`, { decisions });
  const allow = (id: string | undefined) => ({ type: 'ALLOW_ONCE', id });
  requireProblem(await send(allow(one), allow('nothing')), 409, 'decision-not-pending');
  requireProblem(await send(allow(one), allow(one)), 409, 'decision-not-pending');
  requireProblem(await send(allow(one), { type: 'ANSWER', id: two, answers: [] }), 422, 'decision-kind');
  assert.equal((await scene.settled(path)).pendingDecisions.length, 2);
  await decide(path, allow(one), allow(two));
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  assert.deepEqual(listEffects(), ['a', 'b']);
  requireProblem(await send(allow(one)), 409, 'decision-not-pending');
});

test('PLAN never changes anything, whatever is granted', async () => {
  tools.effects.clear();
  model.play([{ calls: [change('a')] }, { text: 'I would change a.' }]);
  const path = await scene.create('Change things.', {
    config: { mode: 'PLAN' },
    grants: [{ toolName: 'change' }],
  });
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  assert.match((await readResults(path))[0] ?? '', /^DENIED: The mode of this task is PLAN/);
  assert.deepEqual(listEffects(), []);
  assert.ok(!model.requests.at(-1)?.tools.includes('change'), 'the tool is not even offered');
});

test('duplicate grants are refused', async () => {
  const agentConfig = { name: 'x', projectId: scene.project.projectId };
  const grantedPermissions = [{ toolName: 'change' }, { toolName: 'change' }];
  const refused = await admin.post('/ai/agents/tasks', { agentConfig, message: 'x', grantedPermissions });
  requireProblem(refused, 400, 'invalid-request');
});

test('stop drops what waits, a message resumes, and a stopped task cannot be stopped', async () => {
  tools.effects.clear();
  model.play([{ calls: [change('a')] }, { text: 'Here I am again.' }]);
  const path = await scene.create('Change things.');
  await scene.settle();
  const stopped = await admin.post(`${path}/stop`);
  assert.deepEqual([stopped.status, (stopped.body as AiTask).status], [202, 'STOPPING']);
  requireProblem(await admin.post(`${path}/messages`, { message: 'x' }), 409, 'ai-task-stopping');
  const task = await scene.settled(path);
  assert.deepEqual([task.status, task.pendingDecisions], ['STOPPED', []]);
  requireProblem(await admin.post(`${path}/stop`), 409, 'ai-task-not-running');
  assert.equal((await admin.post(`${path}/messages`, { message: 'Go on.' })).status, 200);
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  assert.deepEqual(listKinds(await listMessages(admin, path)), [
    ...['user', 'tool-call', 'decision-needed', 'tool-result', 'state'],
    ...['user', 'assistant'],
  ]);
  assert.deepEqual(listEffects(), []);
});

test('a decision and a stop at the same time leave one result for each call', async () => {
  model.play([{ calls: [change('a'), change('b')] }, { text: 'Done.' }]);
  const path = await scene.create('Change things.');
  const [one] = (await scene.settled(path)).pendingDecisions.map(({ toolId }) => toolId);
  const decisions = [{ type: 'DENY', id: one }];
  const [, decided] = await Promise.all([
    admin.post(`${path}/stop`),
    admin.post(`${path}/decisions`, { decisions }),
    scene.settle(),
  ]);
  assert.ok(decided.status === 200 || decided.status === 409, decided.text);
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  assert.equal((await readResults(path)).length, 2);
});

test('a grant of an unknown tool or argument is refused, and changes nothing', async () => {
  const agentConfig = { name: 'x', projectId: scene.project.projectId };
  const body = { agentConfig, message: 'x', grantedPermissions: [{ toolName: 'chang' }] };
  const refused = requireProblem(await admin.post('/ai/agents/tasks', body), 422, 'grant-refused');
  assert.match(
    refused.detail,
    /grantedPermissions\[0\].toolName.*"chang".*did you mean change\?.*Known: change/is,
  );
  model.play([{ calls: [change('a')] }, { text: 'Done.' }]);
  const path = await scene.create('Change things.');
  await scene.settle();
  const grants = [{ toolName: 'change' }, { toolName: 'change', arguments: { txt: 'a' } }];
  const put = await admin.send('PUT', `${path}/permissions`, { body: { grantedPermissions: grants } });
  assert.match(requireProblem(put, 422, 'grant-refused').detail, /\[1\].arguments.*"txt".*text/s);
  const message = { message: 'x', grantedPermissions: grants };
  requireProblem(await admin.post(`${path}/messages`, message), 422, 'grant-refused');
  const task = await scene.settled(path);
  assert.deepEqual([task.grantedPermissions, task.pendingDecisions.length], [[], 1]);
});

test('a grant of a tool that only reads changes nothing; its limits are refused', async () => {
  model.play([{ text: 'Done.' }]);
  const path = await scene.create('Look.', { grants: [{ toolName: 'look' }] });
  assert.deepEqual((await scene.settled(path)).grantedPermissions, [{ toolName: 'look' }]);
  const put = (grant: object) =>
    admin.send('PUT', `${path}/permissions`, {
      body: { grantedPermissions: [{ toolName: 'change' }, grant] },
    });
  const limits = [{ arguments: { text: 'a' } }, { uses: 1 }, { environmentName: 'dev' }];
  for (const limit of limits) {
    const refused = requireProblem(await put({ toolName: 'look', ...limit }), 422, 'grant-without-effect');
    const [name] = Object.keys(limit);
    assert.match(
      refused.detail,
      new RegExp(`^body\\.grantedPermissions\\[1\\]\\.${name}: look changes nothing`),
    );
  }
  requireProblem(await put({ toolName: 'ask_user', uses: 1 }), 422, 'grant-without-effect');
  assert.deepEqual((await scene.settled(path)).grantedPermissions, [{ toolName: 'look' }]);
});

test('a grant that is given again is of the one who gave it last', async () => {
  tools.runs.length = 0;
  model.play([{ calls: [change('a'), change('b')] }, { calls: [change('c')] }, { text: 'Done.' }]);
  const path = await scene.create('Change things.', { config: { environmentName: 'dev' } });
  const role = { projectId: scene.project.projectId, role: 'CONTRIBUTOR' } as const;
  const colleague = await scene.account.actor('MEMBER', role);
  const ids = (await scene.settled(path)).pendingDecisions.map(({ toolId }) => toolId);
  // Both calls wait, so that the second decision repeats the grant of the first.
  const allow = (...ofThese: (string | undefined)[]) => ({
    decisions: ofThese.map((id) => ({ type: 'ALLOW_FOR_TASK', id })),
  });
  assert.equal((await colleague.post(`${path}/decisions`, allow(ids[0]))).status, 200);
  assert.equal((await admin.post(`${path}/decisions`, allow(ids[1]))).status, 200);
  const task = await scene.settled(path);
  assert.deepEqual(task.grantedPermissions, [{ toolName: 'change', environmentName: 'dev' }]);
  assert.deepEqual(
    tools.runs.map(({ context }) => context.actors.behindIds),
    [[colleague.actorId], [admin.actorId], [admin.actorId, admin.actorId]],
  );
});
