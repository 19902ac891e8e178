/** Counts that agents report may be of a hostile server: they stop neither the end of a run nor the counting. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConsuming, describeDays } from '../../../testing/consuming-project.ts';
import { completed } from '../../../testing/runnable-project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ startsAt: new Date('2026-11-20T10:00:00.000Z') });
const giant = Number.MAX_SAFE_INTEGER;

test('sums of giant counts are the largest number, and others are counted', async () => {
  const { begin, read, instance, stepOf } = await createConsuming(server);
  for (let run = 0; run < 2; run += 1) {
    const { id, work } = await begin();
    for (let report = 0; report < 3; report += 1) {
      const steps = Array.from({ length: 400 }, () => stepOf(id, 1, { rowCount: giant, byteCount: giant }));
      await instance.report(work, { type: 'progress', steps });
    }
    await instance.report(work, completed);
  }
  const other = await createConsuming(server);
  await other.run(10, { rowCount: 5 });
  assert.deepEqual(describeDays(await other.read()), [
    '2026-11-20 main.orch.yaml orchestration: 1 runs, 10 s, 5 rows',
  ]);
  assert.deepEqual(describeDays(await read()), [
    `2026-11-20 main.orch.yaml orchestration: 2 runs, 2400 s, ${giant} rows`,
  ]);
});
