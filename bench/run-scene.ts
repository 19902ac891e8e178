/** Starts runs of a server's own agent, and waits for their ends. */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { environmentName } from './agent-scene.ts';
import { RawConnection } from './raw-connection.ts';
import { requestText } from './request.ts';
import { publishRunPipelines, type RunPipeline } from './run-pipelines.ts';
import { type MeasuredServer, startServer } from './server-process.ts';

export const inFlight = 20;
export const burstOf = 40;
const pollMilliseconds = 2;

export interface RunScene {
  server: MeasuredServer;
  user: RawConnection;
  database: pg.Client;
  /** The process of PostgreSQL that serves `database`. */
  databasePid: number;
  token: string;
  projectId: string;
}

export async function openRunScene(
  profileFolder: string | undefined,
  ending: AsyncDisposableStack,
): Promise<RunScene> {
  const agent = { HEADGATE_LOCAL_AGENT: 'on' };
  const server = ending.adopt(await startServer(profileFolder, agent), (started) => started.stop());
  const user = ending.adopt(await RawConnection.open(server.port), (connection) => connection.close());
  const database = ending.adopt(new pg.Client(server.connection), (client) => client.end());
  await database.connect();
  const { rows } = await database.query<{ pid: number }>('select pg_backend_pid() as pid');
  const projectId = await publishRunPipelines(server);
  return { server, user, database, databasePid: rows[0]?.pid ?? 0, token: server.token, projectId };
}

async function start({ user, token, projectId }: RunScene, pipelineName: RunPipeline): Promise<string> {
  const path = `/dpc/v1/projects/${projectId}/pipeline-executions`;
  const { status, body } = await user.request(
    requestText('POST', path, { token, body: { pipelineName, environmentName } }),
  );
  if (status !== 201) throw new Error(`A start returned ${status}: ${body}`);
  return `${path}/${(JSON.parse(body) as { pipelineExecutionId: string }).pipelineExecutionId}`;
}

/** Milliseconds from the request to its SUCCESS. */
export async function runOne(scene: RunScene, pipeline: RunPipeline): Promise<number> {
  const startedAt = performance.now();
  const path = await start(scene, pipeline);
  const poll = requestText('GET', `${path}/status`, { token: scene.token });
  for (;;) {
    const { body } = await scene.user.request(poll);
    const { status } = JSON.parse(body) as { status: string };
    if (status === 'SUCCESS') return performance.now() - startedAt;
    if (status !== 'RUNNING') throw new Error(`${pipeline}: ${body}`);
    await delay(pollMilliseconds);
  }
}

/**
 * Runs a second while a fixed number was under way.
 *
 * @param isEnough called with the number of started runs
 */
export async function runMany(
  scene: RunScene,
  pipeline: RunPipeline,
  isEnough: (started: number) => boolean,
): Promise<number> {
  const before = await countEnded(scene);
  const startedAt = performance.now();
  let started = 0;
  let ended = 0;
  while (!isEnough(started)) {
    const open = inFlight - (started - ended);
    await Promise.all(Array.from({ length: open }, () => start(scene, pipeline)));
    started += open;
    await delay(4);
    ended = (await countEnded(scene)) - before;
  }
  await waitForEnd(scene, before + started);
  return started / ((performance.now() - startedAt) / 1_000);
}

/** Milliseconds until all runs of a burst have ended. */
export async function runBurst(scene: RunScene): Promise<number> {
  const before = await countEnded(scene);
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: burstOf }, () => start(scene, 'empty')));
  await waitForEnd(scene, before + burstOf);
  return performance.now() - startedAt;
}

async function waitForEnd(scene: RunScene, count: number): Promise<void> {
  while ((await countEnded(scene)) < count) await delay(pollMilliseconds);
}

/** @throws unless all ended runs are SUCCESS */
export async function countEnded({ database }: RunScene): Promise<number> {
  const { rows } = await database.query<{ ended: number; failed: string | null }>(`
    select count(*) filter (where finished_at is not null)::integer as ended,
      min(message) filter (where finished_at is not null and status <> 'SUCCESS') as failed
    from pipeline_execution`);
  const [found] = rows;
  if (found?.failed) throw new Error(found.failed);
  return found?.ended ?? 0;
}
