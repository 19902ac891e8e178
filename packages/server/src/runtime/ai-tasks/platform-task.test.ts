/** Tasks with the tools of the platform: branches, new configurations, and roles that are taken away. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AiTask } from '@headgate/contract';
import { startAiScene, tasksPath } from '../../../testing/ai-task-scene.ts';
import { requireProblem } from '../../../testing/client.ts';
import { associateHosted } from '../../../testing/hosted-project.ts';
import { smallPipeline, upload } from '../../../testing/project.ts';

const scene = await startAiScene({ hasPlatformTools: true });
const { admin, model, account, server } = scene;
after(() => assert.deepEqual(model.faults, []));

const reads = { calls: [{ name: 'list_files', input: {} }] };

async function createTask(
  config: object,
): Promise<{ path: string; send: (agentConfig: object) => ReturnType<typeof admin.post> }> {
  const agentConfig = { name: 'x', ...config };
  const { taskId } = (await admin.post<{ taskId: string }>(tasksPath, { agentConfig, message: 'Look.' }))
    .body;
  const path = `${tasksPath}/${taskId}`;
  return {
    path,
    send: (changed) =>
      admin.post(`${path}/messages`, { message: 'Go on.', agentConfig: { ...agentConfig, ...changed } }),
  };
}

test('a task over a repository keeps its branches once it has looked at files', async () => {
  const project = await account.project();
  const { projectId } = project;
  await associateHosted(server, account, projectId);
  const files = [{ path: 'a.txt', content: 'one\n' }];
  await admin.post(`${project.path}/repositories/commits`, { branch: 'main', message: 'first', files });
  model.play([{ text: 'Hello.' }, { text: 'Hello.' }, reads, { text: 'Done.' }, { text: 'Done.' }]);
  const { path, send } = await createTask({ projectId, sourceBranchName: 'main', environmentName: 'dev' });
  await scene.settle();
  assert.equal((await send({ targetBranchName: 'other' })).status, 200, 'no file has been looked at');
  await scene.settle();
  assert.equal((await send({})).status, 200);
  await scene.settle();
  for (const changed of [
    { sourceBranchName: 'other' },
    { sourceBranchName: undefined },
    { targetBranchName: 'other' },
    { generateBranch: false },
  ]) {
    const [member = ''] = Object.keys(changed);
    const refused = requireProblem(await send(changed), 422, 'ai-task-config-fixed');
    assert.match(refused.detail, new RegExp(`^body.agentConfig.${member}:`));
  }
  assert.equal((await admin.get<{ status: string }>(path)).body.status, 'STOPPED');
  const changed = { environmentName: 'prod', mode: 'PLAN', workingDirectory: 'jobs' };
  assert.equal((await send(changed)).status, 200);
  await scene.settle();
  assert.equal((await admin.post(`${path}/discard`)).status, 200);
  model.play([reads, { text: 'Done.' }]);
  const moved = { targetBranchName: 'other', generateBranch: false };
  assert.equal((await send(moved)).status, 200, 'new changes may be on another branch');
  await scene.settle();
  requireProblem(await send({ ...moved, generateBranch: true }), 422, 'ai-task-config-fixed');
});

test('a task over a version keeps its environment once it has looked at files', async () => {
  const project = await account.project();
  const { projectId } = project;
  await upload(admin, project, [{ name: 'main.orch.yaml', content: smallPipeline }]);
  model.play([reads, { text: 'Done.' }, { text: 'Done.' }]);
  const { send } = await createTask({ projectId, environmentName: 'dev' });
  await scene.settle();
  const refused = requireProblem(await send({ environmentName: 'prod' }), 422, 'ai-task-config-fixed');
  assert.match(refused.detail, /environmentName: .* "dev"/);
  assert.equal((await send({ sourceBranchName: 'main' })).status, 200);
  await scene.settle();
});

test('a call fails, and names the person, when a role is taken away between message, decision and call', async () => {
  const project = await account.project();
  const { projectId } = project;
  await upload(admin, project, [{ name: 'main.orch.yaml', content: smallPipeline }]);
  const role = { projectId, role: 'CONTRIBUTOR' } as const;
  const [sender, decider, giver] = [
    await account.actor('MEMBER', role),
    await account.actor('MEMBER', role),
    await account.actor('MEMBER', role),
  ];
  const write = { calls: [{ name: 'write_file', input: { path: 'a.txt', content: 'x' } }] };
  const results = async (path: string) => {
    const page = await admin.get<{ results: { data: { type: string; text?: string } }[] }>(
      `${path}/messages?limit=1000`,
    );
    return page.body.results.flatMap(({ data }) => (data.type === 'tool-result' ? [data.text ?? ''] : []));
  };
  const revoke = async (actor: typeof sender) => {
    const sql = 'delete from role_grant where project_id = $1 and principal_id = $2';
    await server.database.query(sql, [projectId, actor.actorId]);
  };
  // Between the message and the decision.
  model.play([
    { text: 'Hello.' },
    write,
    { text: 'Done.' },
    write,
    { text: 'Done.' },
    write,
    { text: 'Done.' },
  ]);
  const { path } = await createTask({ projectId, environmentName: 'dev' });
  await scene.settle();
  await sender.post(`${path}/messages`, {
    message: 'Write.',
    grantedPermissions: [{ toolName: 'write_file' }],
  });
  await revoke(sender);
  await scene.settle();
  assert.match((await results(path))[0] ?? '', /needs the permission.*The credential ".*" has: /);
  // The giver of a grant.
  const permissions = { grantedPermissions: [{ toolName: 'write_file' }] };
  assert.equal((await giver.send('PUT', `${path}/permissions`, { body: permissions })).status, 200);
  await admin.post(`${path}/messages`, { message: 'Write.' });
  await revoke(giver);
  await scene.settle();
  assert.match((await results(path))[1] ?? '', /needs the permission.*The credential ".*" has: /);
  // Between the decision and the call.
  await admin.send('PUT', `${path}/permissions`, { body: { grantedPermissions: [] } });
  await admin.post(`${path}/messages`, { message: 'Write.' });
  await scene.settle();
  const { pendingDecisions } = (await admin.get<{ pendingDecisions: { toolId: string }[] }>(path)).body;
  const decisions = [{ type: 'ALLOW_ONCE', id: pendingDecisions[0]?.toolId }];
  assert.equal((await decider.post(`${path}/decisions`, { decisions })).status, 200);
  await revoke(decider);
  await scene.settle();
  const last = await results(path);
  assert.equal(last.length, 3);
  assert.match(last[2] ?? '', /needs the permission.*The credential ".*" has: /);
});

test('a commit is what a person saw, on a branch of the task, until a person merges or discards it', async () => {
  const project = await account.project();
  const { projectId } = project;
  await associateHosted(server, account, projectId);
  const files = [{ path: 'a.txt', content: 'one\n' }];
  await admin.post(`${project.path}/repositories/commits`, { branch: 'main', message: 'first', files });
  const write = (path: string, content: string) => ({ name: 'write_file', input: { path, content } });
  const commit = { name: 'commit', input: { message: 'Change a' } };
  const readA = async () => {
    const path = `${project.path}/repositories/files/content?branch=main&path=a.txt`;
    return (await admin.get<{ content: string }>(path)).body.content;
  };
  const branches = async () => {
    const list = await admin.get<{ results: { name: string }[] }>(`${project.path}/repositories/branches`);
    return list.body.results.map(({ name }) => name);
  };
  const allow = async (path: string, toolName: string) => {
    const { pendingDecisions } = (await admin.get<AiTask>(path)).body;
    const call = pendingDecisions.find((pending) => pending.toolName === toolName);
    const decisions = [{ type: 'ALLOW_ONCE', id: call?.toolId }];
    const decided = await admin.post(`${path}/decisions`, { decisions });
    assert.equal(decided.status, 200, decided.text);
    await scene.settle();
    return call?.permissionMessage.body ?? '';
  };
  for (const end of ['merge', 'discard']) {
    const text = `two, for the ${end}\n`;
    model.play([
      { calls: [write('a.txt', text)] },
      { calls: [write('b.txt', text), commit] },
      { text: 'Done.' },
    ]);
    const grants = [{ toolName: 'write_file', arguments: { path: 'a.txt' } }];
    const path = await scene.create('Change a.', { config: { projectId }, grants });
    const { pendingDecisions } = await scene.settled(path);
    const requests = pendingDecisions.map(({ toolName }) => toolName);
    assert.deepEqual(requests, ['write_file'], 'the commit is asked about once its files are known');
    await allow(path, 'write_file');
    assert.match(
      await allow(path, 'commit'),
      /to the new branch "ai\/task-[^"]+".*The task has no environment\.\n- changes "a.txt"\n- (adds|changes) "b.txt"$/s,
    );
    assert.equal((await admin.get<AiTask>(path)).body.status, 'STOPPED');
    const before = await readA();
    assert.equal((await branches()).length, 2);
    const { digest } = (await admin.get<{ digest: string }>(`${path}/changes`)).body;
    assert.equal((await admin.post(`${path}/${end}`, { digest })).status, 200);
    assert.equal(await readA(), end === 'merge' ? text : before);
    for (const branch of (await branches()).filter((name) => name !== 'main'))
      await admin.delete(`${project.path}/repositories/branches?branchName=${encodeURIComponent(branch)}`);
  }
});
