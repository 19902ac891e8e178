/**
 * 1 GB of CSV by file-load, through all processes of an agent, against a COPY by hand in the same DuckDB, in turn.
 */
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { openConnectorScene } from '../packages/agent/testing/connector-scene.ts';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import { measureLoad, measureTime } from './measured-time.ts';
import type { Work } from './work.ts';

const fileBytes = 1_000_000_000;
const mostTimes = 1.2;
/** The allowed growth of the agent in a load. */
const flatMebibytes = 50;
/** Each is as long as half a minute. */
const mostRounds = 3;

const types = { id: 'BIGINT', customer: 'VARCHAR', ordered_on: 'DATE', amount: 'DOUBLE', note: 'VARCHAR' };

function* renderRows(): Generator<string> {
  yield `${Object.keys(types).join(',')}\n`;
  let bytes = 0;
  for (let id = 0; bytes < fileBytes; ) {
    const lines: string[] = [];
    for (let line = 0; line < 10_000; line += 1, id += 1)
      lines.push(
        `${id},customer ${id % 9_973},2026-0${(id % 9) + 1}-1${id % 10},${id / 8},"a note, of ${id}"\n`,
      );
    const text = lines.join('');
    bytes += text.length;
    yield text;
  }
}

const components = {
  Start: { type: 'start', parameters: {}, transitions: { unconditional: ['Load'] } },
  Load: {
    type: 'file-load',
    parameters: { source: 'orders.csv', fileType: 'CSV', targetTable: 'orders' },
  },
};
const files = {
  'main.orch.yaml': JSON.stringify({ type: 'orchestration', version: '1.0', pipeline: { components } }),
};

export const fileLoad: Work = async ({ rounds }) => {
  await using ending = new AsyncDisposableStack();
  const scene = ending.adopt(await openConnectorScene(), (opened) => opened.close());
  mkdirSync(scene.filesFolder, { recursive: true });
  const path = join(scene.filesFolder, 'orders.csv');
  await pipeline(Readable.from(renderRows()), createWriteStream(path));
  const database = ending.adopt(await scene.connect(), (connection) => connection.close());
  const columns = Object.entries(types).map(([name, type]) => `${name} ${type}`);
  const load = async () => {
    const { status, message } = await scene.run(files, 'main');
    if (status !== 'SUCCESS') throw new Error(message);
  };
  const copy = async () => {
    await database.execute(`CREATE OR REPLACE TABLE by_hand (${columns.join(', ')})`);
    await database.execute(`COPY by_hand FROM '${path}' (FORMAT csv, HEADER)`);
  };
  const ratios: number[] = [];
  const times: number[] = [];
  const growths: number[] = [];
  // The first round warms up.
  for (let round = 0; round <= Math.min(rounds, mostRounds); round += 1) {
    const { time, before, peak } = await measureLoad(load);
    const copied = await measureTime(copy);
    if (round === 0) continue;
    ratios.push(time / copied);
    times.push(time);
    growths.push(peak - before);
  }
  const found: Finding[] = [
    {
      work: 'file-load of 1 GB of CSV, to a COPY by hand',
      measured: `${spread(ratios)} times, ${median(times).toFixed(0)} ms`,
      limit: `≤ ${mostTimes} times`,
      verdict: verdictAtMost(median(ratios), mostTimes),
      rounds: ratios,
    },
    {
      work: "growth of the agent's memory in such a load",
      measured: `${Math.max(...growths).toFixed(0)} MiB`,
      limit: `≤ ${flatMebibytes} MiB`,
      verdict: verdictAtMost(Math.max(...growths), flatMebibytes),
      rounds: growths,
    },
  ];
  return found;
};
