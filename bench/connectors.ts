/**
 * 1,000 pages of 100 rows from a local server into a table, against a loop of `fetch` that only parses, in turn.
 * The load goes through all processes of an agent; this process is its own, and the loop has another one.
 */
import { openConnectorScene } from '../packages/agent/testing/connector-scene.ts';
import { startChild } from './child.ts';
import { type Finding, median, spread, verdictAtLeast, verdictAtMost } from './finding.ts';
import { measureLoad, measureTime } from './measured-time.ts';
import type { Work } from './work.ts';

const pages = 1_000;
const rows = pages * 100;
const leastRatio = 0.5;
/** The allowed growth of the agent, from its first load to the last. */
const flatMebibytes = 30;

const properties = {
  id: { type: 'integer' },
  name: { type: 'string' },
  amount: { type: 'number' },
  open: { type: 'boolean' },
  at: { type: 'string' },
  lines: { type: 'array' },
};

function renderFiles(origin: string): Record<string, string> {
  const profile = {
    name: 'Shop',
    endpoints: [
      {
        name: 'Orders',
        url: `${origin}/orders`,
        queryParameters: [
          { name: 'page', value: '0' },
          { name: 'pages', value: String(pages) },
        ],
        paging: { type: 'next-url', path: ['next'] },
        structure: {
          schema: { properties: { data: { type: 'array', items: { properties } } } },
          repeatingElementPath: ['data'],
        },
      },
    ],
  };
  const components = {
    Start: { type: 'start', parameters: {}, transitions: { unconditional: ['Load'] } },
    Load: {
      type: 'api-query',
      parameters: { profile: 'flex-shop', dataSource: 'Orders', targetTable: 'orders' },
    },
  };
  return {
    'connector-profile:flex-shop.json': JSON.stringify(profile),
    'main.orch.yaml': JSON.stringify({ type: 'orchestration', version: '1.0', pipeline: { components } }),
  };
}

export const connectors: Work = async ({ rounds }) => {
  await using ending = new AsyncDisposableStack();
  const api = ending.adopt(await startChild(new URL('api-process.ts', import.meta.url)), (child) =>
    child.stop(),
  );
  const loop = ending.adopt(await startChild(new URL('parse-process.ts', import.meta.url)), (child) =>
    child.stop(),
  );
  const origin = `http://127.0.0.1:${api.first}`;
  const scene = ending.adopt(await openConnectorScene(), (opened) => opened.close());
  const files = renderFiles(origin);
  const load = async () => {
    const { status, message, steps } = await scene.run(files, 'main');
    const { rowCount } = steps.find(({ name }) => name === 'Load') ?? {};
    if (status !== 'SUCCESS' || rowCount !== rows) throw new Error(`${rowCount} rows: ${message}`);
  };
  const parseAll = async () => {
    const count = await loop.ask(`${origin}/orders?page=0&pages=${pages}`);
    if (count !== rows) throw new Error(`the loop read ${count} rows`);
  };
  const ratios: number[] = [];
  const times: number[] = [];
  const peaks: number[] = [];
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    const { time, peak } = await measureLoad(load);
    const parsed = await measureTime(parseAll);
    if (round === 0) continue;
    ratios.push(parsed / time);
    times.push(time);
    peaks.push(peak);
  }
  const growth = (peaks.at(-1) ?? Number.NaN) - (peaks[0] ?? Number.NaN);
  const found: Finding[] = [
    {
      work: `${pages} pages of 100 rows from a local server into a table, to a loop of fetch that parses`,
      measured: `${spread(ratios)} times as fast, ${median(times).toFixed(0)} ms`,
      limit: `≥ ${leastRatio} times`,
      verdict: verdictAtLeast(median(ratios), leastRatio),
      rounds: ratios,
    },
    {
      work: `growth of the agent's memory over ${rounds} such loads`,
      measured: `${growth.toFixed(0)} MiB, to ${(peaks.at(-1) ?? 0).toFixed(0)} MiB`,
      limit: `≤ ${flatMebibytes} MiB`,
      verdict: verdictAtMost(growth, flatMebibytes),
      rounds: peaks,
    },
  ];
  return found;
};
