/**
 * The process that simulates thousands of agents. Each has its token, says hello, and keeps a long poll open
 * on its own connection. It reports claimed work as started and then as ended. This process also starts the
 * executions at a steady rate.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Agent, agentProtocolVersion, type ClaimResponse, type WorkItem } from '@headgate/contract';
import { type Answered, type RawAnswer, RawConnection } from './raw-connection.ts';
import { requestText } from './request.ts';

export interface FleetAgent {
  agentId: string;
  clientId: string;
  clientSecret: string;
}

export type FleetOrder =
  | { order: 'connect'; port: number; agents: readonly FleetAgent[] }
  /** Path, token and body of the request that starts a pipeline; the body lacks the agent. */
  | { order: 'run'; path: string; token: string; body: object; aSecond: number; milliseconds: number };

export interface FleetRun {
  /** Ended executions, including the warm-up. */
  executions: number;
  /** Milliseconds from sending a start to its response. */
  starts: number[];
  /** Milliseconds from sending a start to the response to the claim that receives it. */
  latencies: number[];
  /** Processor use of this process: 1 is one core. */
  cores: number;
  /** Seconds until the status showed two dead agents: one closed its connection, the other left it open. */
  noticed: { closed: number; silent: number };
}

export type FleetReply = { connected: number } | { run: FleetRun } | { failure: string };

/** Headers that the agent's fetch adds. They count in the memory of a waiting claim. */
const headersOfAgents = {
  Connection: 'keep-alive',
  Accept: 'application/json',
  'Accept-Language': '*',
  'Sec-Fetch-Mode': 'cors',
  'User-Agent': 'node',
  'Accept-Encoding': 'gzip, deflate',
};
const opensAtOnce = 100;
const idleConnections = 64;
const claimWaitSeconds = 25;
const noticedWithinMilliseconds = 60_000;
/** Starts before the measurement, so that the server has compiled its code. */
const warmUpMilliseconds = 3_000;
const lookEveryMilliseconds = 100;

interface Simulated extends FleetAgent {
  token: string;
  connection: RawConnection;
  claim: Buffer;
  instanceId: string;
  /** When the execution started that the agent has not received yet. */
  awaitedSince: number | undefined;
  busy: boolean;
  isDead: boolean;
  onPoll: (() => void) | undefined;
}

let port = 0;
let agents: Simulated[] = [];
let spare: RawConnection[] = [];
let starts: number[] = [];
let latencies: number[] = [];
let underWay = 0;
let executions = 0;
let fault: unknown;

/** Uses an idle connection, or opens a new one. */
async function send(text: string): Promise<RawAnswer> {
  const connection = spare.pop() ?? (await RawConnection.open(port));
  const answer = await connection.request(text);
  spare.push(connection);
  if (answer.status >= 300) throw new Error(`${text.split('\r\n', 1)[0]}: ${answer.status} ${answer.body}`);
  return answer;
}

async function connect(inputs: readonly FleetAgent[]): Promise<void> {
  const queue = [...inputs];
  async function some(): Promise<void> {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) agents.push(await introduce(next));
  }
  spare = await Promise.all(Array.from({ length: idleConnections }, () => RawConnection.open(port)));
  await Promise.all(Array.from({ length: opensAtOnce }, some));
}

async function introduce(agent: FleetAgent): Promise<Simulated> {
  const form = `grant_type=client_credentials&client_id=${agent.clientId}&client_secret=${agent.clientSecret}`;
  const granted = await send(
    'POST /oauth/dpc/token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n' +
      `Content-Length: ${form.length}\r\n\r\n${form}`,
  );
  const { access_token: token } = JSON.parse(granted.body) as { access_token: string };
  const instanceId = randomUUID();
  const hello = {
    ...{ protocolVersions: [agentProtocolVersion], agentVersion: 'bench', instanceId, concurrency: 20 },
    abilities: ['pipeline-execution', 'restart'],
  };
  await send(requestText('POST', '/agent/v1/hello', { token, body: hello }));
  const query = { instanceId, max: 20, waitSeconds: claimWaitSeconds };
  const headers = headersOfAgents;
  const simulated: Simulated = {
    ...{ ...agent, token, instanceId, connection: await RawConnection.open(port) },
    claim: Buffer.from(requestText('POST', '/agent/v1/claims', { token, body: query, headers })),
    ...{ awaitedSince: undefined, busy: false, isDead: false, onPoll: undefined },
  };
  poll(simulated);
  return simulated;
}

function poll(agent: Simulated): void {
  const failed = (failure: unknown) => {
    if (!agent.isDead) fault ??= failure;
  };
  const answered: Answered = (status, bytes, start, end) => {
    if (agent.isDead) return;
    const at = performance.now();
    const text = bytes.toString('utf8', start, end);
    if (status !== 200) {
      fault ??= new Error(`A claim was answered ${status}: ${text}`);
      return;
    }
    poll(agent);
    for (const item of (JSON.parse(text) as ClaimResponse).work) {
      latencies.push(at - (agent.awaitedSince ?? Number.NaN));
      agent.awaitedSince = undefined;
      runWork(agent, item).catch(failed);
    }
  };
  agent.connection.send(agent.claim, answered, failed);
  agent.onPoll?.();
}

async function runWork(agent: Simulated, { workId, epoch }: WorkItem): Promise<void> {
  const report = async (said: object) => {
    const body = { instanceId: agent.instanceId, reports: [{ workId, epoch, ...said }] };
    const { body: notice } = await send(
      requestText('POST', '/agent/v1/reports', { token: agent.token, body }),
    );
    if (notice.includes('"accepted":false')) throw new Error(`A report was refused: ${notice}`);
  };
  await report({ sequence: 1, type: 'started' });
  await report({ sequence: 2, type: 'completed', outcome: { status: 'SUCCESS' } });
  agent.busy = false;
  underWay -= 1;
  executions += 1;
}

type Run = Extract<FleetOrder, { order: 'run' }>;

async function run(order: Run): Promise<FleetRun> {
  await startAll({ ...order, milliseconds: warmUpMilliseconds });
  starts = [];
  latencies = [];
  const cpu = process.cpuUsage();
  const began = performance.now();
  const deaths = Promise.all([
    measureNotice(order.token, (agent) => agent.connection.close()),
    measureNotice(order.token, () => undefined),
  ]);
  await startAll(order);
  const [closed, silent] = await deaths;
  while (underWay > 0 && fault === undefined) await delay(10);
  if (fault !== undefined) throw fault;
  const { user, system } = process.cpuUsage(cpu);
  const cores = (user + system) / 1e3 / (performance.now() - began);
  return { executions, starts, latencies, cores, noticed: { closed, silent } };
}

/** Starts at fixed times: a start does not wait for the response to the previous one. */
async function startAll({ path, token, body, aSecond, milliseconds }: Run): Promise<void> {
  const began = performance.now();
  const all = Math.round((aSecond * milliseconds) / 1_000);
  for (let started = 0; started < all; ) {
    const due = Math.min(all, ((performance.now() - began) * aSecond) / 1_000);
    for (; started < due; started++) startOne(path, token, body);
    await delay(1);
    if (fault !== undefined) throw fault;
  }
}

function startOne(path: string, token: string, body: object): void {
  const agent = anyIdle();
  agent.busy = true;
  const sentAt = performance.now();
  agent.awaitedSince = sentAt;
  underWay += 1;
  send(requestText('POST', path, { token, body: { ...body, agentId: agent.agentId } })).then(
    () => starts.push(performance.now() - sentAt),
    (failure) => {
      fault ??= failure;
    },
  );
}

function anyIdle(): Simulated {
  for (;;) {
    const agent = agents[Math.floor(Math.random() * agents.length)];
    if (agent !== undefined && !agent.busy) return agent;
  }
}

/**
 * Lets an agent die just after it sent a poll, the worst case. Returns the seconds until the status shows it.
 */
async function measureNotice(token: string, die: (agent: Simulated) => void): Promise<number> {
  const agent = anyIdle();
  agent.busy = true;
  await new Promise<void>((resolve) => {
    agent.onPoll = resolve;
  });
  agent.isDead = true;
  const at = performance.now();
  // The written data leaves the process first.
  await delay(10);
  die(agent);
  const look = requestText('GET', `/dpc/v1/agents/${agent.agentId}`, { token });
  for (;;) {
    const shown = JSON.parse((await send(look)).body) as Agent;
    if (!shown.connected && shown.agentStatus === 'unknown') break;
    if (performance.now() - at > noticedWithinMilliseconds)
      throw new Error('The status does not show that an agent is dead.');
    await delay(lookEveryMilliseconds);
  }
  return (performance.now() - at) / 1_000;
}

async function obey(order: FleetOrder): Promise<FleetReply> {
  switch (order.order) {
    case 'connect':
      port = order.port;
      agents = [];
      await connect(order.agents);
      return { connected: agents.length };
    case 'run':
      return { run: await run(order) };
  }
}

process.on('message', (order: FleetOrder) => {
  obey(order).then(
    (reply) => process.send?.(reply),
    (failure: unknown) => process.send?.({ failure: String(failure) } satisfies FleetReply),
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
