/**
 * A task that took its server down or blocked it twice in a row is set aside; those that were only held by the same
 * server are not.
 */
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type { AiTask, EventLogPart } from '@headgate/contract';
import { createRunner, listMessages, startAiScene } from '../../../testing/ai-task-scene.ts';
import { claimDue } from '../../../testing/server-work.ts';
import { type LoopGap, markLoop, watchLoop } from '../../kernel/event-loop.ts';

const scene = await startAiScene();
const { admin, model, server, tools } = scene;
const { clock, deps } = server;
after(() => assert.deepEqual(model.faults, []));

const idOf = (path: string) => path.split('/').at(-1);

/** A server takes what is due and is killed: nothing gives its leases back. Returns the tasks that it had. */
async function killServer(): Promise<string[]> {
  const claimed = await claimDue(deps, { kind: 'ai-task', leaseSeconds: 20 });
  clock.advance(21);
  return claimed.map(({ work_id: id }) => id);
}

test('a task whose server was killed twice ends as ERRORED, and the others go on', async () => {
  model.play(() => ({ text: 'Done.' }));
  const hostile = await scene.create('Hostile.');
  clock.advance(1);
  const innocent = await scene.create('Innocent.');
  assert.deepEqual((await killServer()).toSorted(), [idOf(hostile), idOf(innocent)].toSorted());
  const later = await scene.create('Later.');
  // Of those that were interrupted, one at a time: it alone can be the cause of the next death.
  assert.deepEqual((await killServer()).toSorted(), [idOf(hostile), idOf(later)].toSorted());

  const outcome = await scene.settled(hostile);
  assert.equal(outcome.status, 'ERRORED');
  const last = (await listMessages(admin, hostile)).at(-1);
  assert.ok(last?.type === 'error' && last.code === 'interrupted');
  assert.match(last.text, /set aside: a server stopped .* 2 times in a row/);
  const { results } = (await admin.get<EventLogPart>('/events?after=oldest&eventName=ai-task-errored')).body;
  assert.deepEqual(
    results.map(({ eventSubjectId }) => eventSubjectId),
    [idOf(hostile)],
  );
  for (const path of [innocent, later])
    assert.equal((await admin.get<AiTask>(path)).body.status, 'STOPPED', path);

  await admin.post(`${hostile}/messages`, { message: 'Once more.' });
  assert.equal((await scene.settled(hostile)).status, 'STOPPED', 'a message resumes it');
});

test('a step that succeeded forgets the death before it', async () => {
  model.play(() => ({ text: 'Done.' }));
  const path = await scene.create('Work.');
  await killServer();
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  await admin.post(`${path}/messages`, { message: 'More.' });
  await killServer();
  assert.equal((await scene.settled(path)).status, 'STOPPED');
});

const look = { calls: [{ name: 'look', input: { text: 'a' } }] };

/** Watches the loop. Returns what holds it for 6 s by the clock of the process, and the gaps. */
function watchHeldLoop(t: TestContext): { hold: () => void; gaps: LoopGap[] } {
  const gaps: LoopGap[] = [];
  const { now } = performance;
  let held = 0;
  t.mock.method(performance, 'now', () => now.call(performance) + held);
  const watch = watchLoop((gap) => gaps.push(gap));
  t.after(() => watch.stop());
  const hold = () => {
    markLoop('test');
    held += 6_000;
  };
  return { hold, gaps };
}

test('a task that blocked the event loop in two steps in a row is set aside', async (t) => {
  const { hold, gaps } = watchHeldLoop(t);
  const { ai } = deps;
  const slow: typeof ai.model = {
    ask(...question) {
      hold();
      return ai.model.ask(...question);
    },
  };
  tools.during = hold;
  t.after(() => {
    tools.during = () => undefined;
  });
  model.play(() => look);
  const path = await scene.create('Look.');
  const runner = createRunner({ ...deps, ...ai, model: slow });
  await runner.look();
  await runner.wait();
  assert.equal((await admin.get<AiTask>(path)).body.status, 'ERRORED');
  const last = (await listMessages(admin, path)).at(-1);
  assert.ok(last?.type === 'error' && last.code === 'interrupted');
  const operations = gaps
    .filter(({ milliseconds }) => milliseconds >= 6_000)
    .map(({ operation }) => operation);
  assert.deepEqual(operations, ['AI task', 'AI task']);
});

test('a step that did not block the event loop forgets one that did', async (t) => {
  const { hold } = watchHeldLoop(t);
  tools.during = hold;
  t.after(() => {
    tools.during = () => undefined;
  });
  model.play([look, look, { text: 'Done.' }]);
  const path = await scene.create('Look twice.');
  assert.equal((await scene.settled(path)).status, 'STOPPED');
});
