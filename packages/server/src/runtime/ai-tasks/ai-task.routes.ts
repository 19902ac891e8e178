import {
  type AiAgentConfig,
  createAiTask,
  decideAiTask,
  deleteAiTask,
  getAiTask,
  listAiTaskMessages,
  listAiTasks,
  messagePageLimit,
  replaceAiTaskPermissions,
  sendAiTaskMessage,
  stopAiTask,
  streamAiTaskMessages,
} from '@headgate/contract';
import { type Database, requireRow, type Transaction } from '../../kernel/database/database.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints, FindPlace } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds, makePagingToken } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { findUserAccessId } from '../../kernel/security/permissions.ts';
import { requireBudgetOf } from '../../records/budgets/index.ts';
import { writeDecisions } from './call/decisions.ts';
import { presentMessage, readPosition } from './message-page.ts';
import { followMessages } from './message-stream.ts';
import { type AiSettings, mostMessages, nameAssistant } from './model/ai-settings.ts';
import type { Tools } from './model/tool-set.ts';
import {
  addMessageToRun,
  announceChange,
  deleteTask,
  insertTask,
  presentItem,
  presentTask,
  projectOfTask,
  refuseUnknownEnvironment,
  requestStop,
  resumeTask,
  taskById,
  taskPage,
} from './store/ai-task.store.ts';
import { requireAccountBudget, requireRoomForTask, requireTaskBudget } from './store/budget.ts';
import { addGrants, replaceGrants } from './store/grant.store.ts';
import type { LiveTexts } from './store/live-text.ts';
import { appendMessages, messagesAfter } from './store/message.store.ts';
import { toStoredText } from './store/stored-text.ts';
import { buildTaskEvent } from './store/task-event.ts';
import { type LockedTask, lockTask } from './store/task-lock.store.ts';
import { keyOfTask, stopKeyOf, tasksKey } from './store/task-state.ts';

/** Members that say which files the task works on. They are chosen when it first looks at a file. */
const ofFiles = ['sourceBranchName', 'targetBranchName', 'generateBranch'] as const;

/** @throws `ai-task-stopping`, `ai-task-config-running`, `ai-task-project`, `ai-task-config-fixed` */
function requireConfig(task: LockedTask, input: AiAgentConfig | undefined, id: string): AiAgentConfig {
  if (task.status === 'STOPPING') throw problem('ai-task-stopping', { id });
  if (input === undefined) return task.agent_config;
  if (task.status === 'RUNNING') throw problem('ai-task-config-running', { id });
  if (input.projectId !== task.project_id) throw problem('ai-task-project', { projectId: task.project_id });
  const { agent_config: held, copy_of: copyOf } = task;
  if (copyOf === null) return input;
  const fixed = copyOf === 'branch' ? ofFiles : (['environmentName'] as const);
  const member = fixed.find((name) => input[name] !== held[name]);
  if (member !== undefined) throw problem('ai-task-config-fixed', { member, held: held[member] });
  return input;
}

export interface RouteServices {
  database: Database;
  wakes: Wakes;
  settings: AiSettings;
  tools: Tools;
  live: LiveTexts;
  stopping: AbortSignal;
}

const descriptionLength = 200;

export function aiTaskRoutes(endpoints: Endpoints, services: RouteServices): void {
  const { settings, tools } = services;
  const ofTask = endpoints.within(createPlaceFinder(services.database));
  /** After the commit: the servers look for the task, and its followers for messages. */
  const announce = (tx: Transaction, taskId: string) =>
    tx.afterCommit(() => {
      services.wakes.wake(tasksKey, 'all');
      services.wakes.wake(keyOfTask(taskId), 'all');
    });

  endpoints.write(createAiTask, async ({ tx, scope, body, now, newId }) => {
    const { agentConfig: config, message, grantedPermissions: grants = [] } = body;
    const { accountId } = scope;
    await requireBudgetOf(tx.query, { accountId, projectId: config.projectId }, now);
    await requireAccountBudget(tx, settings, accountId, now);
    await requireRoomForTask(tx, settings, scope.accountId);
    const taskId = newId();
    const description = toStoredText(message, descriptionLength);
    insertTask(tx, scope, { taskId, config, description }, now);
    const data = { type: 'user', text: message, senderId: scope.actorId } as const;
    appendMessages(tx, { account_id: accountId, task_id: taskId }, [{ groupId: newId(), data }], now);
    addGrants(tx, { scope, taskId, grants, tools, now });
    announce(tx, taskId);
    const after = { agentConfig: config, grantedPermissions: grants };
    return {
      body: { taskId, status: 'RUNNING' as const, agentName: config.name, createdAt: now.toISOString() },
      location: `/v1/ai/agents/tasks/${taskId}`,
      events: [buildTaskEvent('ai-task-created', taskId, { agent_config: config, description }, { after })],
    };
  });

  endpoints.read(listAiTasks, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(taskPage, {
      in_project_id: query.projectId ?? null,
      branch_name: query.branchId ?? null,
      status: query.status ?? null,
      limit,
      offset,
    });
    return { body: { tasks: rows.map(presentItem), page: query.page, size: limit, total } };
  });

  ofTask.read(getAiTask, async ({ params, rows, now }) => {
    const row = requireRow(await rows(taskById, { task_id: toUuid(params.taskId) }), () =>
      problem('ai-task-not-found', { id: params.taskId }),
    );
    return { body: presentTask(row, nameAssistant(settings), now) };
  });

  ofTask.write(stopAiTask, async ({ tx, scope, params, now }) => {
    const taskId = toUuid(params.taskId);
    const task = await lockTask(tx, scope, taskId);
    if (task.status !== 'RUNNING')
      throw problem('ai-task-not-running', { id: params.taskId, status: task.status });
    tx.send(requestStop, { account_id: scope.accountId, task_id: taskId, now });
    announce(tx, taskId);
    tx.afterCommit(() => services.wakes.wake(stopKeyOf(taskId), 'all'));
    const states = { before: { status: task.status }, after: { status: 'STOPPING' } };
    const events = [buildTaskEvent('ai-task-stop-requested', taskId, task, states)];
    return { body: { taskId, status: 'STOPPING' as const }, events };
  });

  ofTask.write(replaceAiTaskPermissions, async ({ tx, scope, params, body, now }) => {
    const taskId = toUuid(params.taskId);
    const task = await lockTask(tx, scope, taskId);
    const { grantedPermissions: grants } = body;
    replaceGrants(tx, { scope, taskId, grants, tools, now });
    tx.send(announceChange, { account_id: scope.accountId, task_id: taskId, now });
    announce(tx, taskId);
    const after = { grantedPermissions: grants };
    return {
      body: { grantedPermissions: grants },
      events: [buildTaskEvent('ai-task-permissions-replaced', taskId, task, { after })],
    };
  });

  ofTask.write(deleteAiTask, async ({ tx, scope, params }) => {
    const taskId = toUuid(params.taskId);
    const task = await lockTask(tx, scope, taskId);
    if (task.is_at_work) throw problem('ai-task-running', { id: params.taskId });
    tx.send(deleteTask, { account_id: scope.accountId, task_id: taskId });
    announce(tx, taskId);
    const before = { status: task.status };
    return { events: [buildTaskEvent('ai-task-deleted', taskId, task, { before })] };
  });

  ofTask.read(listAiTaskMessages, async ({ params, query, rows }) => {
    const limit = Math.min(query.limit, messagePageLimit);
    const after = readPosition(query.paginationToken, 'query.paginationToken');
    const found = await rows(messagesAfter, { task_id: toUuid(params.taskId), after, limit: limit + 1 });
    const results = found.slice(0, limit);
    const last = results.at(-1);
    const hasMore = found.length > limit && last !== undefined;
    return {
      body: {
        results: results.map(presentMessage),
        ...(hasMore ? { more: makePagingToken(String(last.position)) } : {}),
      },
    };
  });

  ofTask.stream(streamAiTaskMessages, (call) => followMessages(call, services));

  ofTask.write(sendAiTaskMessage, async ({ tx, scope, params, body, now, newId }) => {
    const taskId = toUuid(params.taskId);
    const task = await lockTask(tx, scope, taskId);
    const config = requireConfig(task, body.agentConfig, params.taskId);
    if (task.last_position >= mostMessages) throw problem('ai-task-full', { limit: mostMessages });
    await requireBudgetOf(tx.query, { accountId: scope.accountId, projectId: task.project_id }, now);
    requireTaskBudget(task, settings);
    await requireAccountBudget(tx, settings, scope.accountId, now);
    const key = { account_id: scope.accountId, task_id: taskId, now };
    const sender = { sender_id: scope.actorId, sender_credential_id: findUserAccessId(scope) };
    if (task.status === 'RUNNING') tx.send(addMessageToRun, { ...key, ...sender });
    else {
      await requireRoomForTask(tx, settings, scope.accountId);
      refuseUnknownEnvironment(tx, config);
      tx.send(resumeTask, {
        ...key,
        ...sender,
        agent_config: JSON.stringify(config),
        environment_name: config.environmentName ?? null,
        branch_name: config.sourceBranchName ?? null,
      });
    }
    const data = { type: 'user', text: body.message, senderId: scope.actorId } as const;
    appendMessages(tx, key, [{ groupId: newId(), data }], now);
    const { grantedPermissions: grants } = body;
    if (grants !== undefined) replaceGrants(tx, { scope, taskId, grants, tools, now });
    announce(tx, taskId);
    const states = { before: { status: task.status }, after: { status: 'RUNNING' } };
    const events = [
      buildTaskEvent('ai-task-message-sent', taskId, { ...task, agent_config: config }, states),
    ];
    return { body: { taskId }, events };
  });

  ofTask.write(decideAiTask, async ({ tx, scope, params, body, now }) => {
    const taskId = toUuid(params.taskId);
    const task = await lockTask(tx, scope, taskId);
    const { messages, granted, pending } = await writeDecisions(tx, {
      scope,
      taskId,
      decisions: body.decisions,
      now,
    });
    const key = { account_id: scope.accountId, task_id: taskId };
    appendMessages(tx, key, messages, now);
    const { environmentName } = task.agent_config;
    // Allowed for the environment that the person saw.
    const grants = [...new Set(granted)].map((toolName) => ({
      toolName,
      ...(environmentName === undefined ? {} : { environmentName }),
    }));
    addGrants(tx, { scope, taskId, grants, tools, now });
    tx.send(announceChange, { ...key, now });
    announce(tx, taskId);
    const after = { decisions: body.decisions.map(({ id, type }) => ({ id, type })) };
    return {
      body: { pendingDecisions: pending },
      events: [buildTaskEvent('ai-task-decided', taskId, task, { after })],
    };
  });
}

/** A task in a project where the caller has no role is as unknown as one that does not exist. */
export function createPlaceFinder(database: Database): FindPlace {
  return async ({ scope, params }) => {
    const { taskId } = params as { taskId: string };
    const unknown = () => problem('ai-task-not-found', { id: taskId });
    const [row] = await database.read(projectOfTask, {
      account_id: scope.accountId,
      task_id: toUuid(taskId),
    });
    if (row === undefined) throw unknown();
    return { projectId: row.project_id, environmentName: null, unknown };
  };
}
