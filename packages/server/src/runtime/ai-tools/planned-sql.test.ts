import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToolServices } from './declared-tool.ts';
import { createSqlPlanner, planSql } from './planned-sql.ts';
import { planOnce } from './planning.ts';
import type { ToolContext } from './tool/tool.ts';

const head = 'type: transformation\nversion: "1.0"\npipeline:\n  components:\n';
const components = Array.from(
  { length: 700 },
  (_, index) => `    c${index}: {type: rename, sources: [c${index - 1}], parameters: {a: [1, 2, 3]}}\n`,
);
const path = 'a.tran.yaml';
const text = `${head}${components.join('')}`;
const services = {
  database: { read: async () => [{ warehouse: { kind: 'duckdb' } }] },
} as unknown as ToolServices;
const context = { task: { accountId: 'account' }, signal: new AbortController().signal } as ToolContext;

/** Microseconds of this thread alone; the least of three, because others' work may fall into one. */
async function measureHere(work: () => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const began = process.threadCpuUsage();
    await work();
    taken.push(process.threadCpuUsage(began).user);
  }
  return Math.min(...taken);
}

test('a long plan takes no time of the thread of requests', async () => {
  const planner = createSqlPlanner();
  // The first one starts the thread, and warms the code up here.
  await planSql(services, planner, context, { path, text });
  await planOnce({ path, text, warehouse: { kind: 'duckdb' }, answers: new Map() });
  const here = await measureHere(() =>
    planOnce({ path, text, warehouse: { kind: 'duckdb' }, answers: new Map() }),
  );
  const there = await measureHere(() => planSql(services, planner, context, { path, text }));
  assert.ok(there * 4 < here, `${there} µs beside a plan of ${here} µs`);
});
