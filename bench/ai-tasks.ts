/**
 * AI tasks beside a scripted model server: what a turn costs besides the model, what 200 tasks that wait for a slow
 * model cost the API and the memory, and how soon the first text of an answer reaches a follower.
 */
import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { followEvents } from '../packages/server/testing/followed-events.ts';
import { type Finding, median, percentile, spread, verdictAtMost } from './finding.ts';
import { type MeasuredServer, startServer } from './server-process.ts';
import type { Work } from './work.ts';

const turnsOfRound = 40;
const taskCount = 200;
const tasks = '/ai/agents/tasks';

export const aiTasks: Work = async ({ rounds, milliseconds, profileFolder }) => {
  await using ending = new AsyncDisposableStack();
  const model = ending.adopt(await startModel(), (started) => started.close());
  const settings = {
    HEADGATE_AI_PROVIDER: 'openai',
    HEADGATE_AI_MODEL: 'bench',
    HEADGATE_AI_BASE_URL: model.address,
    HEADGATE_AI_TASK_TURNS: '1000',
  };
  const server = ending.adopt(await startServer(profileFolder, settings), (started) => started.stop());
  const project = await server.call('POST', '/projects', {
    name: 'bench',
    warehouse: 'DUCKDB',
    agentDeploymentType: 'HYBRID',
  });
  const create = (message: string) =>
    server.call('POST', tasks, { agentConfig: { name: 'bench', projectId: project.projectId }, message });
  const waitForEnd = async (taskId: unknown) => {
    while ((await server.call('GET', `${tasks}/${taskId}`)).status === 'RUNNING') await delay(20);
  };
  return [
    await measureTurns(rounds, model, create, waitForEnd),
    await measureFirstText(rounds, model, server, create, waitForEnd),
    ...(await measureManyTasks(rounds, milliseconds, model, server, create)),
  ];
};

type Create = (message: string) => Promise<Record<string, unknown>>;
type WaitForEnd = (taskId: unknown) => Promise<void>;

/** Each turn asks for a tool that does not exist, so that nothing but the turn is measured. */
async function measureTurns(
  rounds: number,
  model: BenchModel,
  create: Create,
  waitForEnd: WaitForEnd,
): Promise<Finding> {
  const medians: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const gaps: number[] = [];
    let answeredAt: number | undefined;
    let turns = 0;
    model.answer = (response) => {
      if (answeredAt !== undefined) gaps.push(performance.now() - answeredAt);
      turns += 1;
      response.end(turns <= turnsOfRound ? callOfNothing : chunk({ content: 'Done.' }) + finish('stop'));
      answeredAt = performance.now();
    };
    const { taskId } = await create('Loop.');
    await waitForEnd(taskId);
    // The first round loads the adapter.
    if (round > 0) medians.push(median(gaps));
  }
  return {
    work: 'AI tasks: a turn, besides the model',
    measured: `${spread(medians)} ms`,
    limit: '≤ 15 ms',
    verdict: verdictAtMost(median(medians), 15),
    rounds: medians,
  };
}

async function measureFirstText(
  rounds: number,
  model: BenchModel,
  server: MeasuredServer,
  create: Create,
  waitForEnd: WaitForEnd,
): Promise<Finding> {
  const delays: number[] = [];
  for (let round = 0; round < rounds * 3; round += 1) {
    let sentAt = Number.NaN;
    const query = Promise.withResolvers<ServerResponse>();
    model.answer = (response) => query.resolve(response);
    const { taskId } = await create('Answer.');
    const response = await query.promise;
    const stream = await followEvents<unknown>(`http://127.0.0.1:${server.port}`, {
      token: server.token,
      path: `${tasks}/${taskId}/messages/stream`,
    });
    // The message of the user.
    await stream.next();
    await delay(100);
    sentAt = performance.now();
    response.write(chunk({ role: 'assistant', content: 'First' }));
    while ((await stream.next())?.event !== 'text');
    delays.push(performance.now() - sentAt);
    response.end(finish('stop'));
    await waitForEnd(taskId);
    await stream.cancel();
  }
  return {
    work: 'AI tasks: first text at a follower, after the model server sent it',
    measured: `${spread(delays)} ms`,
    limit: '≤ 20 ms',
    verdict: verdictAtMost(median(delays), 20),
    rounds: delays,
  };
}

async function measureManyTasks(
  rounds: number,
  milliseconds: number,
  model: BenchModel,
  server: MeasuredServer,
  create: Create,
): Promise<Finding[]> {
  const ratios: number[] = [];
  const memory: number[] = [];
  for (let round = 0; round < Math.min(rounds, 3); round += 1) {
    const open = new Set<ServerResponse>();
    model.answer = (response) => void open.add(response);
    const idle = await measureRequests(server, milliseconds);
    const before = readResident(server.pid);
    const created = await Promise.all(Array.from({ length: taskCount }, () => create('Take your time.')));
    while (open.size < taskCount) await delay(20);
    const talking = setInterval(() => {
      for (const response of open) response.write(chunk({ content: 'and so on ' }));
    }, 1_000);
    await delay(1_500);
    const busy = await measureRequests(server, milliseconds);
    memory.push((readResident(server.pid) - before) / taskCount);
    ratios.push(percentile(busy, 0.99) / percentile(idle, 0.99));
    clearInterval(talking);
    for (const response of open) response.end(chunk({ content: '.' }) + finish('stop'));
    for (const { taskId } of created)
      while ((await server.call('GET', `${tasks}/${taskId}`)).status === 'RUNNING') await delay(20);
  }
  return [
    {
      work: `AI tasks: p99 of a request beside ${taskCount} tasks with a slow model, to that of an idle server`,
      measured: `${spread(ratios)} ×`,
      limit: '≤ 2 ×',
      verdict: verdictAtMost(median(ratios), 2),
      rounds: ratios,
    },
    {
      work: `AI tasks: memory of one of ${taskCount} tasks`,
      measured: `${spread(memory)} MiB`,
      limit: '≤ 1 MiB',
      verdict: verdictAtMost(median(memory), 1),
      rounds: memory,
    },
  ];
}

/** One request after the other. */
async function measureRequests(server: MeasuredServer, milliseconds: number): Promise<number[]> {
  const times: number[] = [];
  const until = performance.now() + milliseconds;
  while (performance.now() < until) {
    const began = performance.now();
    await server.call('GET', '/projects');
    times.push(performance.now() - began);
  }
  return times;
}

function readResident(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) / 1_024;
}

interface BenchModel {
  address: string;
  answer: (response: ServerResponse) => void;
  close(): Promise<void>;
}

async function startModel(): Promise<BenchModel> {
  const model = { answer: (response: ServerResponse) => void response.end() } as BenchModel;
  const listening = createServer((request, response) => {
    request.resume();
    request.once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      model.answer(response);
    });
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  model.address = `http://127.0.0.1:${(listening.address() as AddressInfo).port}/v1`;
  model.close = async () => {
    listening.closeAllConnections();
    await new Promise((resolve) => listening.close(resolve));
  };
  return model;
}

const line = (members: object) =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'bench', ...members })}\n\n`;
const chunk = (delta: object) => line({ choices: [{ index: 0, delta, finish_reason: null }] });
const finish = (reason: string) =>
  `${line({ choices: [{ index: 0, delta: {}, finish_reason: reason }] })}data: [DONE]\n\n`;
const nothing = { name: 'nothing', arguments: '{}' };
const callOfNothing =
  chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: nothing }] }) +
  finish('tool_calls');
