/**
 * A step that fails in an unexpected way is repeated a few times; then the task ends. A failure that passes is waited
 * for.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AiMessageData } from '@headgate/contract';
import { createRunner, listMessages, startAiScene } from '../../../testing/ai-task-scene.ts';
import type { Database } from '../../kernel/database/database.ts';
import type { ServerWorker } from '../../kernel/work/server-worker.ts';
import type { Model } from './model/model.ts';
import { createLiveTexts } from './store/live-text.ts';

const scene = await startAiScene();
const { admin, model, tools, server } = scene;
const { clock, deps } = server;
after(() => assert.deepEqual(model.faults, []));

interface Given {
  model?: Model;
  database?: Database;
}

function createOther(source: Given): ServerWorker {
  return createRunner({ ...deps, ...deps.ai, live: createLiveTexts(), ...source });
}

const failing = (failure: () => Error): Given => ({ model: { ask: () => Promise.reject(failure()) } });

/** One attempt at what is due. Returns the seconds until the next one; undefined if nothing is due later. */
async function attempt(runner: ServerWorker, path: string): Promise<number | undefined> {
  await runner.look();
  await runner.wait();
  const [row] = await server.database.query('select due_at from server_work where work_id = $1', [
    path.split('/').at(-1),
  ]);
  const dueAt = row?.due_at as Date | null;
  if (dueAt === null) return undefined;
  const seconds = (dueAt.getTime() - clock.now().getTime()) / 1_000;
  clock.advance(Math.max(seconds, 0));
  return seconds;
}

async function attemptOften(
  runner: ServerWorker,
  path: string,
  count: number,
): Promise<(number | undefined)[]> {
  const pauses: (number | undefined)[] = [];
  for (let number = 0; number < count; number += 1) pauses.push(await attempt(runner, path));
  return pauses;
}

const logsOf = (path: string) => {
  const taskId = path.split('/').at(-1) ?? '';
  return server.logLines
    .filter((line) => line.includes(taskId) && line.includes('a step of an AI task failed'))
    .map((line) => JSON.parse(line));
};
const errorOf = (message: AiMessageData | undefined) => {
  assert.ok(message?.type === 'error');
  return message;
};

test('a task whose step fails again and again ends, with an id for the log; a message resumes it', async () => {
  const path = await scene.create('Answer.');
  const broken = createOther(failing(() => new TypeError('a fault of the program')));
  assert.deepEqual(await attemptOften(broken, path, 5), [5, 10, 20, 40, undefined]);
  const { code, text } = errorOf((await listMessages(admin, path)).at(-1));
  assert.equal(code, 'step-failed');
  assert.doesNotMatch(text, /fault of the program/);
  const logged = logsOf(path);
  assert.deepEqual(
    logged.map((line) => line.attempt),
    [1, 2, 3, 4, 5],
  );
  assert.match(logged[4].err.message, /a fault of the program/);
  assert.ok(text.includes(logged[4].failureId), text);
  model.play([{ text: 'Here again.' }]);
  assert.equal((await admin.post(`${path}/messages`, { message: 'Try again.' })).status, 200);
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  assert.equal(model.requests.at(-1)?.messages.at(-1)?.text, 'Try again.');
});

test('a step that succeeds ends the count', async () => {
  const path = await scene.create('Answer.');
  const broken = createOther(failing(() => new TypeError('a fault of the program')));
  await attemptOften(broken, path, 4);
  model.play([{ calls: [{ name: 'change', input: { text: 'a' } }] }]);
  await attempt(scene.runner, path);
  await admin.post(`${path}/messages`, { message: 'More.' });
  await admin.send('PUT', `${path}/permissions`, { body: { grantedPermissions: [{ toolName: 'change' }] } });
  assert.equal(await attempt(broken, path), 5);
  model.play([{ text: 'Done.' }]);
  assert.equal((await scene.settled(path)).status, 'STOPPED');
});

test('a database that is away uses up no attempt', async () => {
  const path = await scene.create('Answer.');
  const away = createOther(failing(() => Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })));
  // A turn that was interrupted five times is given up, whatever interrupted it.
  assert.deepEqual(await attemptOften(away, path, 4), [5, 5, 5, 5]);
  assert.deepEqual(logsOf(path), []);
  const broken = createOther(failing(() => new TypeError('a fault of the program')));
  assert.equal(await attempt(broken, path), 5, 'the first attempt');
  await admin.post(`${path}/stop`);
  assert.equal((await scene.settled(path)).status, 'STOPPED');
});

test('an end that cannot be written is tried again later, and says what may have happened', async () => {
  tools.effects.clear();
  model.play([{ calls: [{ name: 'change', input: { text: 'a' } }] }, { text: 'Done.' }]);
  const path = await scene.create('Change.', { grants: [{ toolName: 'change' }] });
  let left = 0;
  // The result of the call, five further attempts at it, and the first end.
  tools.during = () => {
    left = 7;
  };
  const transaction: Database['transaction'] = (work, opening) => {
    left -= 1;
    if (left >= 0) return Promise.reject(new TypeError('cannot be written'));
    return deps.database.transaction(work, opening);
  };
  const broken = createOther({ database: { ...deps.database, transaction } });
  assert.deepEqual(await attemptOften(broken, path, 6), [5, 10, 20, 40, 300, undefined]);
  tools.during = () => undefined;
  const [call, result, last] = (await listMessages(admin, path)).slice(-3);
  assert.equal(call?.type, 'tool-call');
  assert.ok(result?.type === 'tool-result' && result.outcome === 'FAILED');
  assert.match(result.text, /Its effect may have happened/);
  assert.equal(errorOf(last).code, 'step-failed');
  assert.equal(tools.effects.size, 1);
  assert.equal((await admin.post(`${path}/messages`, { message: 'Go on.' })).status, 200);
  assert.equal((await scene.settled(path)).status, 'STOPPED');
});
