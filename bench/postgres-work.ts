/**
 * Work in PostgreSQL through all processes of an agent, against the same by hand over the same port, in turn: 200 MB of
 * CSV by file-load against a COPY, and a transformation over a million rows against its statements.
 */
import { createReadStream, createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { type ConnectorScene, openConnectorScene } from '../packages/agent/testing/connector-scene.ts';
import { createTestPostgres, type TestPostgres } from '../packages/agent/testing/postgres.ts';
import { onOwnPostgres, THROWAWAY_SETTINGS } from '../scripts/own-postgres.ts';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import type { Work } from './work.ts';

const fileBytes = 200_000_000;
const rowCount = 1_000_000;
const mostTimesOfCopy = 1.2;
const mostTimesOfSql = 1.1;
/** The allowed growth of the agent in a load. */
const flatMebibytes = 50;
const sampleMilliseconds = 20;
const mostRounds = 5;

const columns = [
  ['id', 'BIGINT'],
  ['customer', 'VARCHAR'],
  ['ordered_on', 'DATE'],
  ['amount', 'DOUBLE'],
  ['note', 'VARCHAR'],
] as const;
const types = columns.map(([name, type]) => `${name} ${type === 'DOUBLE' ? 'double precision' : type}`);

function* renderRows(): Generator<string> {
  yield `${columns.map(([name]) => name).join(',')}\n`;
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

const render = (type: string, components: object) =>
  JSON.stringify({ type, version: '1.0', pipeline: { components } });
const files = {
  'load.orch.yaml': render('orchestration', {
    Start: { type: 'start', transitions: { unconditional: ['Load'] } },
    Load: {
      type: 'file-load',
      parameters: { source: 'orders.csv', fileType: 'CSV', targetTable: 'orders', columns },
    },
  }),
  'sum.tran.yaml': render('transformation', {
    In: {
      type: 'table-input',
      parameters: { targetTable: 'sales', columnNames: ['id', 'region', 'amount'] },
    },
    Twice: {
      type: 'calculator',
      sources: ['In'],
      parameters: { calculations: [['amount * 2', 'twice']], includeInputColumns: 'Yes' },
    },
    Out: { type: 'rewrite-table', sources: ['Twice'], parameters: { targetTable: 'doubled' } },
  }),
};
const byHand = [
  'begin',
  'create table new_by_hand as select id, region, amount, amount * 2 as twice from sales',
  'drop table if exists by_hand',
  'alter table new_by_hand rename to by_hand',
  'commit',
];

export const postgresWork: Work = ({ rounds }) =>
  onOwnPostgres(
    new AbortController().signal,
    async (url) => {
      process.env.HEADGATE_TEST_DATABASE_URL = url;
      return measureAll(Math.min(rounds, mostRounds));
    },
    THROWAWAY_SETTINGS,
  );

async function measureAll(rounds: number): Promise<Finding[]> {
  await using ending = new AsyncDisposableStack();
  const postgres = ending.adopt(await createTestPostgres(), (opened) => opened.drop());
  const { target, driver } = postgres;
  const secrets = new Map([['warehouse-password', (await target.readSecret('warehouse-password')).reveal()]]);
  const warehouse = { kind: 'postgres', connection: target.connection } as const;
  const opened = await openConnectorScene(secrets, undefined, { postgres: driver, warehouse });
  const scene = ending.adopt(opened, (each) => each.close());
  const client = ending.adopt(await connectByHand(postgres), (each) => each.end());
  mkdirSync(scene.filesFolder, { recursive: true });
  const path = join(scene.filesFolder, 'orders.csv');
  await pipeline(Readable.from(renderRows()), createWriteStream(path));
  await client.query(`create table sales as select i as id, 'region ' || i % 100 as region, i % 1000 as amount
    from generate_series(1, ${rowCount}) s(i)`);
  const loads = await compare(
    rounds,
    () => run(scene, 'load'),
    () => copyByHand(client, path),
  );
  const sums = await compare(
    rounds,
    () => run(scene, 'sum'),
    async () => {
      for (const sql of byHand) await client.query(sql);
    },
  );
  const growth = Math.max(...loads.growths);
  return [
    describe('file-load of 200 MB of CSV into PostgreSQL, to a COPY by hand', loads, mostTimesOfCopy),
    {
      work: "growth of the agent's memory in such a load",
      measured: `${growth.toFixed(0)} MiB`,
      limit: `≤ ${flatMebibytes} MiB`,
      verdict: verdictAtMost(growth, flatMebibytes),
      rounds: loads.growths,
    },
    describe('transformation over 1,000,000 rows in PostgreSQL, to its SQL by hand', sums, mostTimesOfSql),
  ];
}

async function run(scene: ConnectorScene, pipelineName: string): Promise<void> {
  const { status, message } = await scene.run(files, pipelineName);
  if (status !== 'SUCCESS') throw new Error(message);
}

async function connectByHand({ target, runRole }: TestPostgres): Promise<pg.Client> {
  const read = (name: string) => {
    const property = target.connection.properties[name];
    return property !== undefined && 'value' in property ? String(property.value) : '';
  };
  const client = new pg.Client({
    host: read('host'),
    port: Number(read('port')),
    database: read('database'),
    user: runRole,
    password: (await target.readSecret('warehouse-password')).reveal(),
    options: '-c search_path=wh',
  });
  await client.connect();
  return client;
}

interface CopyConnection {
  query(sql: string): void;
  sendCopyFromChunk(bytes: Buffer): void;
  endCopyFrom(): void;
  stream: NodeJS.WritableStream & { writableNeedDrain: boolean };
}

/** As psql does it by \copy. */
async function copyByHand(client: pg.Client, path: string): Promise<void> {
  await client.query(`drop table if exists by_hand_load; create table by_hand_load (${types.join(', ')})`);
  await new Promise<void>((resolve, reject) => {
    client.query({
      submit: (connection: unknown) =>
        (connection as CopyConnection).query('copy by_hand_load from stdin (format csv, header)'),
      async handleCopyInResponse(connection: CopyConnection) {
        for await (const bytes of createReadStream(path, { highWaterMark: 262_144 })) {
          connection.sendCopyFromChunk(bytes as Buffer);
          if (connection.stream.writableNeedDrain)
            await new Promise((drained) => connection.stream.once('drain', drained));
        }
        connection.endCopyFrom();
      },
      handleCommandComplete() {},
      handleReadyForQuery: () => resolve(),
      handleError: reject,
    } as unknown as pg.Submittable);
  });
}

interface Compared {
  ratios: number[];
  times: number[];
  growths: number[];
}

const readMebibytes = () => process.memoryUsage().rss / 1_048_576;

async function measure(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** The first round warms up. */
async function compare(
  rounds: number,
  work: () => Promise<void>,
  hand: () => Promise<void>,
): Promise<Compared> {
  const compared: Compared = { ratios: [], times: [], growths: [] };
  for (let round = 0; round <= rounds; round += 1) {
    const before = readMebibytes();
    let peak = before;
    const sampling = setInterval(() => {
      peak = Math.max(peak, readMebibytes());
    }, sampleMilliseconds);
    const time = await measure(work);
    clearInterval(sampling);
    const byHandTime = await measure(hand);
    if (round === 0) continue;
    compared.ratios.push(time / byHandTime);
    compared.times.push(time);
    compared.growths.push(peak - before);
  }
  return compared;
}

const describe = (work: string, { ratios, times }: Compared, most: number): Finding => ({
  work,
  measured: `${spread(ratios)} times, ${median(times).toFixed(0)} ms`,
  limit: `≤ ${most} times`,
  verdict: verdictAtMost(median(ratios), most),
  rounds: ratios,
});
