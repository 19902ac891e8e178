/** A server whose runner works on AI tasks with the tools and the model of a test. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { AiMessageData, AiTask, AiTaskMessage } from '@headgate/contract';
import { Type } from 'typebox';
import {
  createServerWorker,
  type ServerWorker,
  type WorkerServices,
} from '../src/kernel/work/server-worker.ts';
import { createTaskWork } from '../src/runtime/ai-tasks/ai-task.work.ts';
import type { Tool, ToolContext, ToolInput, ToolResult } from '../src/runtime/ai-tools/index.ts';
import type { Account, Actor } from './account.ts';
import { type ModelServer, nameModel, startModelServer } from './model-server.ts';
import type { TestServer } from './open-server.ts';
import type { TestProject } from './project.ts';
import { startTestServer } from './server.ts';

export const tasksPath = '/ai/agents/tasks';

export interface AiScene {
  server: TestServer;
  runner: ServerWorker;
  model: ModelServer;
  account: Account;
  admin: Actor;
  project: TestProject;
  tools: TestTools;
  /** Creates a task and returns its path. */
  create(message: string, more?: { config?: object; grants?: readonly object[] }): Promise<string>;
  /** Works until nothing is due. */
  settle(): Promise<void>;
  /** Works until nothing is due, and returns the task. */
  settled(path: string): Promise<AiTask>;
}

export interface Made {
  toolName: string;
  input: ToolInput;
  context: ToolContext;
}

/** Tools that note their calls. `change` has an effect, once for each call id, as the operations of the API have. */
export interface TestTools {
  list: readonly Tool[];
  /** Each time that a tool ran. */
  runs: Made[];
  /** The effects, by the id of the call. */
  effects: Map<string, ToolInput>;
  /** Called while a tool says what a person is asked. */
  beforeQuestion: () => Promise<void> | void;
  /** Called while a tool runs. */
  during: (made: Made) => Promise<void> | void;
}

const noteSchema = Type.Object(
  { text: Type.String({ maxLength: 100 }), environmentName: Type.Optional(Type.String({ maxLength: 255 })) },
  { additionalProperties: false },
);

export function createTestTools(): TestTools {
  const tools: TestTools = {
    list: [],
    runs: [],
    effects: new Map(),
    beforeQuestion: () => undefined,
    during: () => undefined,
  };
  const createTool = (name: string, changes: boolean, answer: (input: ToolInput) => string): Tool => ({
    name,
    description: `The tool ${name} of a test.`,
    inputSchema: name === 'list_pipelines' ? Type.Object({}, { additionalProperties: false }) : noteSchema,
    changes,
    async ask(_, input) {
      await tools.beforeQuestion();
      return { title: `Use ${name}`, body: `With ${JSON.stringify(input)}` };
    },
    async run(context, input): Promise<ToolResult> {
      const made = { toolName: name, input, context };
      tools.runs.push(made);
      if (changes) tools.effects.set(context.callId, input);
      await tools.during(made);
      return { outcome: 'DONE', text: answer(input) };
    },
  });
  tools.list = [
    createTool('list_pipelines', false, () => 'main.orch.yaml\ndaily/load.orch.yaml'),
    { ...createTool('query_rows', false, ({ text }) => `rows of ${text}`), returnsRows: true },
    createTool('look', false, ({ text }) => `seen ${text}`),
    createTool('change', true, ({ text }) => `changed ${text}`),
  ];
  return tools;
}

export interface SceneOptions {
  provider?: 'openai' | 'anthropic';
  /** Without a model the rule-based assistant answers. */
  hasModel?: boolean;
  /** The tools of the platform in place of those of the test. */
  hasPlatformTools?: boolean;
  settings?: Record<string, string>;
}

/** A worker of a server with its own services. */
export function createRunner(services: WorkerServices & Parameters<typeof createTaskWork>[0]): ServerWorker {
  return createServerWorker(services, createTaskWork(services));
}

/** Starts everything, and closes it after the tests of the file. */
export async function startAiScene({
  provider = 'openai',
  hasModel = true,
  hasPlatformTools = false,
  settings = {},
}: SceneOptions = {}): Promise<AiScene> {
  const model = await startModelServer(provider);
  after(() => model.close());
  const tools = createTestTools();
  const server = await startTestServer({
    ...(hasPlatformTools ? {} : { aiTools: tools.list }),
    settings: { ...(hasModel ? nameModel(model, provider) : {}), ...settings },
  });
  const account = await server.account();
  const project = await account.project();
  const { admin } = account;
  const runner = createRunner({ ...server.deps, ...server.deps.ai });
  const scene: AiScene = {
    server,
    runner,
    model,
    account,
    admin,
    project,
    tools,
    async create(message, { config = {}, grants = [] } = {}) {
      const agentConfig = { name: 'data_engineer_agent', projectId: project.projectId, ...config };
      const body = { agentConfig, message, grantedPermissions: grants };
      const answer = await admin.post<{ taskId: string }>(tasksPath, body);
      assert.equal(answer.status, 201, answer.text);
      return `${tasksPath}/${answer.body.taskId}`;
    },
    async settle() {
      do {
        await runner.look();
        await runner.wait();
      } while (await isDue(server));
    },
    async settled(path) {
      await scene.settle();
      return (await admin.get<AiTask>(path)).body;
    },
  };
  return scene;
}

async function isDue({ database, clock }: TestServer): Promise<boolean> {
  const rows = await database.query("select from server_work where kind = 'ai-task' and claimable_at <= $1", [
    clock.now(),
  ]);
  return rows.length > 0;
}

export async function listMessages(actor: Pick<Actor, 'get'>, path: string): Promise<AiMessageData[]> {
  const page = await actor.get<{ results: AiTaskMessage[] }>(`${path}/messages?limit=1000`);
  assert.equal(page.status, 200, page.text);
  return page.body.results.map(({ data }) => data);
}

/** The kinds of messages in their order, without the usage. */
export function listKinds(messages: readonly AiMessageData[]): string[] {
  return messages.map(({ type }) => type).filter((type) => type !== 'usage');
}
