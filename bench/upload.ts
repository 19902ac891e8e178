/**
 * Uploads of many small files, compared with a socket that only reads the bytes; and memory during a large
 * upload.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Child, startChild } from './child.ts';
import { type Finding, median, spread, verdictAtMost } from './finding.ts';
import { postgresSeconds, processorSeconds } from './processor-time.ts';
import { residentMebibytes } from './resident-memory.ts';
import { type MeasuredServer, startServer } from './server-process.ts';
import type { UploadOrder, UploadReply } from './upload-client-process.ts';
import type { Work } from './work.ts';

const files = 2_000;
const fileBytes = 4_096;
const mostForNew = 15;
const mostForOneChanged = 8;
const largeFileBytes = 4 * 1_048_576;
/** Including the headers of the parts, just below the limit of a request. */
const largeFiles = 63;
const mostMebibytes = 150;
const warmUps = 3;
/** An upload takes 0.1 s. The sink takes 3 to 17 ms, depending on how its two processes share the cores. */
const uploadsOfRound = 4;

export const uploads: Work = async ({ rounds, profileFolder }) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(profileFolder), (started) => started.stop());
  const own = async (module: URL) => ending.adopt(await startChild(module), (child) => child.stop());
  const sink = await own(new URL('./upload-sink-process.ts', import.meta.url));
  const client = await own(new URL('./upload-client-process.ts', import.meta.url));
  const send = sender(client, await projectOf(server), server.token);
  const memory = await memoryOfLargeUpload(server, send);
  const times = await timesOfSmallFiles(server, Number(sink.first), send, rounds * uploadsOfRound);
  return [
    against('an upload of 2,000 new files of 4 KB, against a bare socket sink', times.fresh, mostForNew),
    against('the same with one file changed, against the sink', times.changed, mostForOneChanged),
    {
      work: 'server memory during an upload of 252 MiB, above idle',
      measured: `${memory.toFixed(0)} MiB`,
      limit: `≤ ${mostMebibytes} MiB`,
      verdict: verdictAtMost(memory, mostMebibytes),
      rounds: [memory],
    },
  ];
};

function against(work: string, ratios: number[], most: number): Finding {
  return {
    work,
    measured: `${spread(ratios)} × the time`,
    limit: `≤ ${most} × the time`,
    verdict: verdictAtMost(median(ratios), most),
    rounds: ratios,
  };
}

type Send = (port: number, what: Partial<UploadOrder> & { content: string }) => Promise<number>;

function sender(client: Child, path: string, token: string): Send {
  let version = 0;
  return async (port, what) => {
    version += 1;
    const order = { port, path, token, versionName: `v${version}`, files, fileBytes, ...what };
    const reply = (await client.ask(order satisfies UploadOrder)) as UploadReply;
    if ('failure' in reply) throw new Error(reply.failure);
    return reply.milliseconds;
  };
}

async function projectOf({ call }: MeasuredServer): Promise<string> {
  const project = { name: 'uploads', warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
  const path = `/projects/${String((await call('POST', '/projects', project)).projectId)}`;
  await call('POST', `${path}/environments`, { name: 'bench' });
  return `/dpc/v1${path}/artifacts`;
}

/** Sink, new files, one changed file, in turn, so that other load of the machine affects all of them. */
async function timesOfSmallFiles(
  server: MeasuredServer,
  sinkPort: number,
  send: Send,
  rounds: number,
): Promise<{ fresh: number[]; changed: number[] }> {
  const bare: number[] = [];
  const fresh: number[] = [];
  const changed: number[] = [];
  let before = processorTimes(server);
  for (let round = -warmUps; round < rounds; round++) {
    const content = `round ${round}`;
    if (round === 0) before = processorTimes(server);
    const times = [
      await send(sinkPort, { content }),
      await send(server.port, { content }),
      await send(server.port, { content, changed: `changed in ${round}` }),
    ] as const;
    if (round < 0) continue;
    bare.push(times[0]);
    fresh.push(times[1]);
    changed.push(times[2]);
  }
  console.log(
    `  the sink: ${spread(bare, 1)} ms; new files: ${spread(fresh, 1)} ms; one changed: ${spread(changed, 1)} ms`,
  );
  const after = processorTimes(server);
  const each = (part: 'own' | 'postgres') => (((after[part] - before[part]) * 1_000) / rounds / 2).toFixed(0);
  console.log(
    `  an upload takes ${each('own')} ms of the server's processor time and ${each('postgres')} ms of PostgreSQL's`,
  );
  const usual = median(bare);
  return { fresh: fresh.map((time) => time / usual), changed: changed.map((time) => time / usual) };
}

function processorTimes({ pid, dataDirectory }: MeasuredServer) {
  return { own: processorSeconds(pid), postgres: postgresSeconds(dataDirectory) };
}

/** The growth of resident memory, in MiB. */
async function memoryOfLargeUpload({ pid, port }: MeasuredServer, send: Send): Promise<number> {
  const idle = residentMebibytes(pid);
  let largest = idle;
  let over = false;
  const watching = (async () => {
    while (!over) {
      largest = Math.max(largest, residentMebibytes(pid));
      await delay(10);
    }
  })();
  const milliseconds = await send(port, { content: 'large', files: largeFiles, fileBytes: largeFileBytes });
  over = true;
  await watching;
  console.log(
    `  252 MiB in ${milliseconds.toFixed(0)} ms: from ${idle.toFixed(0)} to ${largest.toFixed(0)} MiB`,
  );
  return largest - idle;
}
