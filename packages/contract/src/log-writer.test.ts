import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogWriter, type LogTarget, type LogWriterOptions } from './log-writer.ts';

/** A target that can be told to fail or to hang. */
function fakeTarget() {
  const written: string[] = [];
  const target = {
    written,
    failure: undefined as Error | undefined,
    held: undefined as Promise<void> | undefined,
    async write(text: string) {
      await target.held;
      if (target.failure !== undefined) throw target.failure;
      written.push(text);
    },
  };
  return target;
}

function writerTo(target: LogTarget, more: Partial<LogWriterOptions> = {}) {
  const reports: string[] = [];
  const writer = createLogWriter({
    target,
    onFailure: (reason) => reports.push(reason),
    lostNotice: (lines, reason) => `lost ${lines}: ${reason}\n`,
    flushMilliseconds: 1,
    retryMilliseconds: 5,
    ...more,
  });
  return { writer, reports };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

test('lines are gathered, and written in their order', async () => {
  const target = fakeTarget();
  const { writer } = writerTo(target, { flushMilliseconds: 60_000 });
  writer.write('one\n');
  writer.write('two\n');
  assert.deepEqual(target.written, []);
  assert.equal(await writer.close(60_000), true);
  assert.deepEqual(target.written, ['one\ntwo\n']);
});

test('lines that cannot be written are counted and reported once; then the log says how many were lost', async () => {
  const target = fakeTarget();
  const { writer, reports } = writerTo(target);
  target.failure = new Error('ENOSPC');
  writer.write('one\n');
  await until(() => writer.lostLines() === 1);
  writer.write('two\nthree\n');
  assert.equal(writer.lostLines(), 3);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.deepEqual(reports, ['ENOSPC'], 'each further attempt fails in silence');
  target.failure = undefined;
  await until(() => target.written.length > 0);
  writer.write('four\n');
  await writer.close(60_000);
  assert.deepEqual(target.written, ['lost 3: ENOSPC\n', 'four\n']);
  assert.equal(writer.lostLines(), 3);
});

test('a second failure is reported again', async () => {
  const target = fakeTarget();
  const { writer, reports } = writerTo(target);
  for (const round of [1, 2]) {
    target.failure = new Error(`failure ${round}`);
    writer.write('line\n');
    await until(() => reports.length === round);
    target.failure = undefined;
    await until(() => target.written.length === round);
  }
  assert.deepEqual(reports, ['failure 1', 'failure 2']);
});

test('a target that hangs costs a bounded amount of memory, and is not waited for at the end', async () => {
  const target = fakeTarget();
  const hanging = Promise.withResolvers<void>();
  target.held = hanging.promise;
  const { writer, reports } = writerTo(target, { mostWaiting: 10_000 });
  const line = `${'x'.repeat(999)}\n`;
  for (let number = 0; number < 100; number++) writer.write(line);
  // What is being written no longer waits.
  assert.ok(writer.lostLines() >= 80 && writer.lostLines() < 100, String(writer.lostLines()));
  assert.equal(reports.length, 1);
  assert.equal(await writer.close(5), false);
  const lost = writer.lostLines();
  hanging.resolve();
  await until(() => target.written.join('').includes(`lost ${lost}`));
  assert.equal(target.written.join('').match(/x\n/g)?.length, 100 - lost);
});
