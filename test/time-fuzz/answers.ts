/**
 * Hostile answers of Git hosts and model servers. One server on loopback answers every request with the text, in the
 * form and with the status that the source names.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  nameModel,
  type ScriptedAnswer,
  startModelServer,
} from '../../packages/server/testing/model-server.ts';
import type { OwnPlace } from './server-process.ts';
import { shapes } from './shapes.ts';
import { type Measured, type Probe, startTimeFuzzServer, type TimeFuzzServer } from './time-fuzz.ts';

const mebibyte = 1_048_576;
const pollMilliseconds = 50;

export interface AnswersOrder {
  chooses: (probe: Probe, number: number) => boolean;
  onMeasured: (measured: Measured) => void;
  /** No answer is sent after this is aborted. */
  signal?: AbortSignal;
}

interface Scene {
  server: TimeFuzzServer;
  place: OwnPlace;
  host: { address: string; answer: HostAnswer };
  model: Awaited<ReturnType<typeof startModelServer>>;
  signal: AbortSignal | undefined;
}

interface HostAnswer {
  status: number;
  type: string;
  body: string;
}

/** By name: lets the server ask, and returns the status of its response. */
const sources: Record<string, (scene: Scene, text: string) => Promise<number>> = {};
for (const provider of ['github', 'gitlab', 'azure-devops'])
  for (const status of [200, 403, 500])
    sources[`host of ${provider} answers ${status}`] = (scene, text) =>
      askHost(scene, provider, { status, type: 'application/json', body: text });
sources['host answers the text in JSON'] = (scene, text) =>
  askHost(scene, 'github', {
    status: 403,
    type: 'application/json',
    body: JSON.stringify({ message: text }),
  });
sources['host speaks Git'] = (scene, text) =>
  askHost(scene, 'git', {
    status: 200,
    type: 'application/x-git-upload-pack-advertisement',
    body: `001e# service=git-upload-pack\n0000${Math.min(text.length + 8, 65_000)
      .toString(16)
      .padStart(4, '0')}ERR ${text}`,
  });
sources['model answers the text'] = (scene, text) => askModel(scene, () => ({ text }));
sources['model calls a tool with the text'] = (scene, text) =>
  askModel(scene, (index) =>
    index === 0 ? { calls: [{ name: 'read_file', input: { path: text } }] } : { text: 'done' },
  );
sources['model sends the text as input'] = (scene, text) =>
  askModel(scene, (index) =>
    index === 0 ? { calls: [{ name: 'read_file', input: {} }], rawInput: text } : { text: 'done' },
  );
sources['model refuses with the text'] = (scene, text) =>
  askModel(scene, () => ({ status: 400, body: text }));

async function request(scene: Scene, method: string, path: string, body?: object): Promise<Response> {
  return fetch(`http://127.0.0.1:${scene.server.port}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${scene.place.token}`,
      'git-provider-access-token': 'a-token',
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(120_000),
  });
}

async function askHost(scene: Scene, provider: string, answer: HostAnswer): Promise<number> {
  const { host, place } = scene;
  host.answer = answer;
  await request(scene, 'DELETE', `${place.path}/repositories`);
  const made = await request(scene, 'POST', `${place.path}/repositories`, {
    provider,
    repositoryName: 'pipelines',
    cloneUrl: `${host.address}/acme/pipelines/_git/pipelines.git`,
    ...(provider === 'github' && { providerParameters: { ownerName: 'acme' } }),
  });
  if (made.status !== 201) throw new Error(`no repository: ${await made.text()}`);
  await finish(await request(scene, 'GET', `${place.path}/repositories/branches`));
  const migration = {
    mode: 'MIRROR_PUSH',
    targetCloneUrl: `${host.address}/acme/pipelines/_git/other.git`,
    targetProvider: provider === 'git' ? 'github' : provider,
    targetName: 'acme/other',
    providerParameters: { organization: 'acme', repositoryId: '7', tenantId: 'acme' },
  };
  return finish(await request(scene, 'POST', `${place.path}/repository-migration?dryRun=true`, migration));
}

async function askModel(scene: Scene, script: (index: number) => ScriptedAnswer): Promise<number> {
  scene.model.play((_, index) => script(index));
  const tasks = '/dpc/v1/ai/agents/tasks';
  const made = await request(scene, 'POST', tasks, {
    agentConfig: { name: 'data_engineer_agent', projectId: scene.place.projectId, environmentName: 'dev' },
    message: 'Read the file.',
  });
  const { taskId } = (await made.json()) as { taskId: string };
  for (;;) {
    const task = await request(scene, 'GET', `${tasks}/${taskId}`);
    const { status } = (await task.json()) as { status: string };
    if (status !== 'RUNNING' || scene.signal?.aborted) return made.status;
    await delay(pollMilliseconds);
  }
}

async function finish({ status, body }: Response): Promise<number> {
  await body?.cancel();
  return status;
}

/** Sends the chosen answers, one after the other. Returns how many there are in all. */
export async function fuzzAnswers({ chooses, onMeasured, signal }: AnswersOrder): Promise<number> {
  await using ending = new AsyncDisposableStack();
  const model = ending.adopt(await startModelServer('openai'), (started) => started.close());
  const answer: HostAnswer = { status: 200, type: 'text/plain', body: '' };
  const hostile = createServer((_, response) => {
    response.writeHead(scene.host.answer.status, { 'content-type': scene.host.answer.type });
    response.end(scene.host.answer.body);
  });
  await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve));
  ending.defer(() => {
    hostile.closeAllConnections();
    hostile.close();
  });
  const address = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
  const server = ending.adopt(
    await startTimeFuzzServer({ HEADGATE_EGRESS_ALLOW: '127.0.0.0/8', ...nameModel(model) }),
    (started) => started.stop(),
  );
  const scene: Scene = {
    server,
    place: await server.createPlace(),
    host: { address, answer },
    model,
    signal,
  };
  const began = performance.now();
  let number = 0;
  for (const [source, ask] of Object.entries(sources)) {
    for (const [shape, write] of Object.entries(shapes)) {
      const probe = { operationId: source, slot: 'answer', shape };
      if (!chooses(probe, number++) || signal?.aborted) continue;
      const text = write(mebibyte);
      await server.takeGap();
      const sentAt = performance.now();
      const status = await ask(scene, text);
      const milliseconds = performance.now() - sentAt;
      const gap = await server.takeGap();
      onMeasured({
        operationId: source,
        slot: 'answer',
        shape,
        characters: text.length,
        status,
        sentAfter: sentAt - began,
        milliseconds,
        gap,
      });
    }
  }
  return number;
}
