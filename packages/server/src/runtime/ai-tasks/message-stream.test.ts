/** Following the messages of a task, and the text of a turn as it is made. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AiTaskMessage } from '@headgate/contract';
import { startAiScene } from '../../../testing/ai-task-scene.ts';
import { type FollowedEvents, followEvents, type StreamedEvent } from '../../../testing/followed-events.ts';
import { startTestServer } from '../../../testing/server.ts';

type Data = AiTaskMessage & { reason?: string; offset?: number; text?: string };

const scene = await startAiScene();
const { admin, model, server } = scene;
const address = await server.listen();
const open: FollowedEvents<Data>[] = [];
after(async () => {
  for (const each of open) await each.cancel();
  assert.deepEqual(model.faults, []);
});

async function follow(
  path: string,
  input: { query?: string; lastEventId?: string | undefined; at?: string } = {},
) {
  const { at = address, ...more } = input;
  const followed = await followEvents<Data>(at, {
    token: await admin.token(),
    path: `${path}/messages/stream`,
    ...more,
  });
  open.push(followed);
  return followed;
}

async function takeUntil(
  stream: FollowedEvents<Data>,
  isLast: (event: StreamedEvent<Data>) => boolean,
): Promise<StreamedEvent<Data>[]> {
  const taken: StreamedEvent<Data>[] = [];
  for (;;) {
    const next = (await stream.next()) ?? assert.fail('the stream has ended');
    taken.push(next);
    if (isLast(next)) return taken;
  }
}

const isText = ({ event }: StreamedEvent<Data>) => event === 'text';
const isAnswer = ({ data }: StreamedEvent<Data>) => data.data?.type === 'assistant';
const kindOf = ({ event, data }: StreamedEvent<Data>) => (event === 'message' ? data.data.type : event);

test('messages as they are written, text as it is made, and on from an id', async () => {
  const [gate, isShown] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  model.play([
    { text: ['One ', 'two ', 'three.'], until: gate.promise, untilRest: isShown.promise },
    { text: 'Again.' },
  ]);
  const path = await scene.create('Count.');
  const stream = await follow(path);
  const [first] = await takeUntil(stream, () => true);
  assert.equal(first?.data.data.type, 'user');
  await scene.runner.look();
  gate.resolve();
  const pieces = (await takeUntil(stream, isText)).filter(isText);
  assert.equal(pieces[0]?.data.text, 'One ', 'the text comes in pieces');
  isShown.resolve();
  pieces.push(...(await takeUntil(stream, isAnswer)).filter(isText));
  assert.deepEqual(pieces[0]?.data.offset, 0);
  // The message has the whole text; the end of it may come before the last piece.
  const shown = pieces.map(({ data }) => data.text).join('');
  assert.ok('One two three.'.startsWith(shown), shown);
  assert.ok(pieces.every(({ id }) => id === undefined));
  await scene.settle();
  const again = await follow(path, { query: 'seconds=0', lastEventId: first?.id });
  const after = await takeUntil(again, ({ event }) => event === 'end');
  assert.deepEqual(after.map(kindOf), ['usage', 'assistant', 'end']);
  assert.equal(after.at(-1)?.data.reason, 'time-over');
  // The stream goes on when a message resumes the task.
  await admin.post(`${path}/messages`, { message: 'Again?' });
  await scene.settle();
  const more = await takeUntil(stream, isAnswer);
  assert.deepEqual(more.filter(({ event }) => event === 'message').map(kindOf), [
    'user',
    'usage',
    'assistant',
  ]);
});

test('a follower on another server gets the messages and the text too', async () => {
  const other = await startTestServer({ database: server.database });
  const at = await other.listen();
  const [begun, isShown] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  model.play(() => ({
    text: ['The beginning', ' and the end.'],
    until: begun.promise,
    untilRest: isShown.promise,
  }));
  const path = await scene.create('Tell.');
  const stream = await follow(path, { at });
  await takeUntil(stream, () => true);
  await scene.runner.look();
  begun.resolve();
  const beginning = await takeUntil(stream, isText);
  assert.equal(beginning.at(-1)?.data.text, 'The beginning');
  isShown.resolve();
  await takeUntil(stream, isAnswer);
  await scene.settle();
});

test('a stream of a deleted task ends and says so', async () => {
  model.play([{ text: 'Done.' }]);
  const path = await scene.create('Answer.');
  await scene.settle();
  const stream = await follow(path);
  await takeUntil(stream, isAnswer);
  assert.equal((await admin.delete(path)).status, 204);
  const rest = await takeUntil(stream, ({ event }) => event === 'end');
  assert.equal(rest.at(-1)?.data.reason, 'deleted');
});

test('a reader without an open stream asks for what is new, by the id or the token that it has', async () => {
  model.play([{ text: 'One.' }, { text: 'Two.' }]);
  const path = await scene.create('First.');
  await scene.settle();
  const read = async (lastEventId?: string) => {
    const stream = await follow(path, { query: 'seconds=0', lastEventId });
    return takeUntil(stream, ({ event }) => event === 'end');
  };
  const before = await read();
  assert.deepEqual(before.map(kindOf), ['user', 'usage', 'assistant', 'end']);
  const last = before.at(-2)?.id;
  assert.deepEqual((await read(last)).map(kindOf), ['end']);
  assert.equal((await admin.post(`${path}/messages`, { message: 'Second.' })).status, 200);
  await scene.settle();
  assert.deepEqual((await read(last)).map(kindOf), ['user', 'usage', 'assistant', 'end']);
  // The same as a list: the id of the last message is a token of it.
  const page = await admin.get<{ results: AiTaskMessage[]; more?: string }>(
    `${path}/messages?paginationToken=${last}`,
  );
  assert.deepEqual(
    page.body.results.map(({ data }) => data.type),
    ['user', 'usage', 'assistant'],
  );
  assert.equal(page.body.more, undefined);
});
