/** A project with an AI task, whose tools a test calls. */
import { randomUUID } from 'node:crypto';
import {
  createPlatformTools,
  type Question,
  type Tool,
  type ToolContext,
  type ToolResult,
} from '../src/runtime/ai-tools/index.ts';
import type { Account, Actor } from './account.ts';
import { associateHosted } from './hosted-project.ts';
import type { TestServer } from './open-server.ts';
import { type Part, type TestProject, upload } from './project.ts';

export interface ToolScene {
  account: Account;
  project: TestProject;
  taskId: string;
  tools: ReadonlyMap<string, Tool>;
  /** Calls a tool, by default for the admin. The same `callId` repeats a call. */
  call(name: string, input?: object, source?: Partial<CallGiven>): Promise<ToolResult>;
  /** What a person is asked before the call. */
  ask(name: string, input?: object): Promise<Question>;
}

interface CallGiven {
  callId: string;
  creator: Actor;
  sender: Actor;
  task: Partial<ToolContext['task']>;
  shownDigest: string | undefined;
  signal: AbortSignal;
}

interface SceneGiven {
  files: Readonly<Record<string, string>>;
  /** Without it, the files are those of a version in dev. */
  hosted?: boolean;
  task?: Partial<ToolContext['task']>;
}

export async function createToolScene(
  server: TestServer,
  { files, hosted = false, task = {} }: SceneGiven,
): Promise<ToolScene> {
  const account = await server.account();
  const project = await account.project();
  if (hosted) {
    await associateHosted(server, account, project.projectId);
    const written = Object.entries(files).map(([path, content]) => ({ path, content }));
    const body = { branch: 'main', message: 'first', files: written };
    if (written.length > 0) await account.admin.post(`${project.path}/repositories/commits`, body);
  } else {
    const parts = Object.entries(files).map(([name, content]): Part => ({ name, content }));
    await upload(account.admin, project, parts);
  }
  const taskId = await insertTask(server, account, project);
  const tools = new Map(createPlatformTools(server.deps).map((tool) => [tool.name, tool]));
  const ofTask: ToolContext['task'] = {
    accountId: account.accountId,
    projectId: project.projectId,
    taskId,
    mode: 'ACT',
    environmentName: 'dev',
    sourceBranchName: undefined,
    targetBranchName: undefined,
    generateBranch: true,
    workingDirectory: undefined,
    ...task,
  };
  return {
    account,
    project,
    taskId,
    tools,
    call: (name, input = {}, source = {}) => findTool(name).run(makeContext(source), { ...input }),
    ask: async (name, input = {}) => findTool(name).ask(makeContext({}), { ...input }),
  };

  function findTool(name: string): Tool {
    const tool = tools.get(name);
    if (tool === undefined) throw new Error(`there is no tool ${name}`);
    return tool;
  }

  function makeContext(source: Partial<CallGiven>): ToolContext {
    const creator = source.creator ?? account.admin;
    return {
      task: { ...ofTask, ...source.task },
      callId: source.callId ?? randomUUID(),
      actors: {
        creator: { accountId: account.accountId, actorId: creator.actorId },
        behindIds: [(source.sender ?? creator).actorId],
      },
      signal: source.signal ?? new AbortController().signal,
      now: server.clock.now(),
      shownDigest: source.shownDigest,
    };
  }
}

async function insertTask(server: TestServer, account: Account, { projectId }: TestProject): Promise<string> {
  const taskId = randomUUID();
  await server.database.query(
    `insert into ai_task (account_id, project_id, task_id, status, agent_config, description, environment_name,
       creator_id, sender_id, wants_turn, created_at, modified_at)
     values ($1, $2, $3, 'STOPPED', '{}', 'a task', 'dev', $4, $4, false, now(), now())`,
    [account.accountId, projectId, taskId, account.admin.actorId],
  );
  return taskId;
}
