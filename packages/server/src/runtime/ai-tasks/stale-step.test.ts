/** What people send between the read of a step and its write is not overwritten. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createRunner, listMessages, startAiScene } from '../../../testing/ai-task-scene.ts';
import { claimDue } from '../../../testing/server-work.ts';
import { waitUntil } from '../../../testing/waiting.ts';
import type { Database } from '../../kernel/database/database.ts';
import { releaseWork } from '../../kernel/work/server-work.ts';
import { createLiveTexts } from './store/live-text.ts';

const scene = await startAiScene();
const { admin, model, tools, server } = scene;
after(() => assert.deepEqual(model.faults, []));

/** Runs `between` once, after the first read of a task and before the transaction of its step. */
function createGap(real: Database, between: () => Promise<void>): Database {
  let hasRead = false;
  let isDone = false;
  return {
    ...real,
    async read(query, parameters) {
      const rows = await real.read(query, parameters);
      if (/from ai_task t\s+left join ai_usage/.test(query.source)) hasRead = true;
      return rows;
    },
    async transaction(work, opening) {
      if (hasRead && !isDone) {
        isDone = true;
        await between();
      }
      return real.transaction(work, opening);
    },
  };
}

/** Runs `between` once, before the task is given back. */
async function workWithGapBeforeRelease(between: () => Promise<void>): Promise<void> {
  const { deps } = server;
  let isDone = false;
  const database: Database = {
    ...deps.database,
    async read(query, parameters) {
      if (/update server_work set lease_until = null/.test(query.source) && !isDone) {
        isDone = true;
        await between();
      }
      return deps.database.read(query, parameters);
    },
  };
  const runner = createRunner({ ...deps, ...deps.ai, database, live: createLiveTexts() });
  await runner.look();
  await runner.wait();
  assert.ok(isDone);
}

async function workWithGap(between: () => Promise<void>): Promise<void> {
  const { deps } = server;
  const database = createGap(deps.database, between);
  const runner = createRunner({ ...deps, ...deps.ai, database, live: createLiveTexts() });
  await runner.look();
  await runner.wait();
}

const change = { name: 'change', input: { text: 'a' } };

test('a call that is denied just before it begins does not run', async () => {
  tools.effects.clear();
  model.play([{ calls: [change] }, { text: 'Done.' }]);
  const path = await scene.create('Change.');
  const [call] = (await scene.settled(path)).pendingDecisions;
  // The grant lets it begin; the denial comes between.
  await admin.send('PUT', `${path}/permissions`, { body: { grantedPermissions: [{ toolName: 'change' }] } });
  await workWithGap(async () => {
    const decisions = [{ type: 'DENY', id: call?.toolId }];
    assert.equal((await admin.post(`${path}/decisions`, { decisions })).status, 200);
  });
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  assert.equal(tools.effects.size, 0);
  const results = (await listMessages(admin, path)).filter(({ type }) => type === 'tool-result');
  assert.equal(results.length, 1);
});

test('a call that is denied just before a stop ends it has one result', async () => {
  tools.effects.clear();
  model.play([{ calls: [change] }, { text: 'Done.' }]);
  const path = await scene.create('Change.');
  const [call] = (await scene.settled(path)).pendingDecisions;
  await admin.post(`${path}/stop`);
  await workWithGap(async () => {
    const decisions = [{ type: 'DENY', id: call?.toolId }];
    assert.equal((await admin.post(`${path}/decisions`, { decisions })).status, 200);
  });
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  const results = (await listMessages(admin, path)).filter(({ type }) => type === 'tool-result');
  assert.equal(results.length, 1);
});

test('a message that arrives while a turn begins brings the rights of its sender', async () => {
  tools.runs.length = 0;
  const colleague = await scene.account.actor('MEMBER', {
    projectId: scene.project.projectId,
    role: 'CONTRIBUTOR',
  });
  const queries: string[] = [];
  model.play(({ messages }, index) => {
    queries.push(messages.map(({ text }) => text).join('|'));
    return index === 0 ? { calls: [{ name: 'look', input: { text: 'a' } }] } : { text: 'Done.' };
  });
  const path = await scene.create('Look.');
  await workWithGap(async () => {
    assert.equal((await colleague.post(`${path}/messages`, { message: 'And there.' })).status, 200);
  });
  await scene.settle();
  assert.match(queries[0] ?? '', /Look\..*And there\./);
  const [run] = tools.runs;
  assert.deepEqual(run?.context.actors.behindIds, [colleague.actorId, admin.actorId]);
});

test('a message that arrives while the model answers is for the next turn, with all that are behind it', async () => {
  tools.runs.length = 0;
  const { projectId } = scene.project;
  const [one, other] = [
    await scene.account.actor('MEMBER', { projectId, role: 'CONTRIBUTOR' }),
    await scene.account.actor('MEMBER', { projectId, role: 'CONTRIBUTOR' }),
  ];
  const path = await scene.create('Say something.');
  model.play([{ text: 'Hello.' }]);
  await scene.settle();
  const look = { calls: [{ name: 'look', input: { text: 'a' } }] };
  const { promise: sent, resolve } = Promise.withResolvers<unknown>();
  model.play([{ ...look, until: sent }, look, { text: 'Done.' }, look, { text: 'Done again.' }]);
  await one.post(`${path}/messages`, { message: 'Look.' });
  const begun = model.requests.length;
  const working = scene.settle();
  while (model.requests.length === begun) await new Promise((next) => setImmediate(next));
  assert.equal((await other.post(`${path}/messages`, { message: 'And there.' })).status, 200);
  resolve(undefined);
  await working;
  await one.post(`${path}/messages`, { message: 'Once more.' });
  await scene.settle();
  const behind = tools.runs.map(({ context }) => context.actors.behindIds);
  assert.deepEqual(behind, [[one.actorId], [other.actorId, one.actorId], [one.actorId]]);
});

test('a task whose environment is deleted while a step is read ends all the same', async () => {
  model.play([{ calls: [change] }]);
  const { path: project } = scene.project;
  assert.equal((await admin.post(`${project}/environments`, { name: 'brief' })).status, 201);
  const path = await scene.create('Change.', { config: { environmentName: 'brief' } });
  await scene.settle();
  // A change of permissions lets the task be taken again; it would be given back until the decision.
  await admin.send('PUT', `${path}/permissions`, { body: { grantedPermissions: [] } });
  await scene.server.database.query('update server_work set due_at = $2 where work_id = $1', [
    path.split('/').at(-1),
    server.clock.now(),
  ]);
  await workWithGapBeforeRelease(async () => {
    assert.equal((await admin.delete(`${project}/environments/brief?confirm=true`)).status, 204);
  });
  assert.equal((await scene.settled(path)).status, 'ERRORED');
});

test('old work on a task that was lost does not take away the new work of the same server', async () => {
  const { deps, clock } = server;
  const blocked = Promise.withResolvers<void>();
  const isRead = Promise.withResolvers<void>();
  let reads = 0;
  const database: Database = {
    ...deps.database,
    async read(query, parameters) {
      const isFirst = /from ai_task t\s+left join ai_usage/.test(query.source) && ++reads === 1;
      const rows = await deps.database.read(query, parameters);
      if (!isFirst) return rows;
      isRead.resolve();
      await blocked.promise;
      return rows;
    },
  };
  const gate = Promise.withResolvers<void>();
  model.play(() => ({ text: 'Done.', until: gate.promise }));
  const path = await scene.create('Answer.');
  const runner = createRunner({ ...deps, ...deps.ai, database, live: createLiveTexts() });
  await runner.look();
  await isRead.promise;
  // Another server takes it, and gives it back.
  clock.advance(30);
  const before = model.requests.length;
  const [held] = await claimDue(deps, { kind: 'ai-task', leaseSeconds: 20 });
  const now = clock.now();
  await releaseWork(deps.database.read, held ?? assert.fail(), { outcome: 'unfinished', dueAt: now, now });
  await waitUntil('the server notices that it lost the task', 120, async () => {
    await runner.look();
    // The lost one still ends.
    return runner.count() === 2;
  });
  await waitUntil('the model is asked', 120, () => model.requests.length > before);
  blocked.resolve();
  await waitUntil('the old work ends', 120, () => runner.count() < 2);
  assert.equal(runner.count(), 1, 'the server still extends the lease of the new one');
  gate.resolve();
  await runner.wait();
  assert.equal((await scene.settled(path)).status, 'STOPPED');
});
