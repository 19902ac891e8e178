/** The table `ai_task`, as requests see it. What the holder reads and writes is in held-task.store.ts. */
import type {
  AiAgentConfig,
  AiGrantedPermission,
  AiPendingDecision,
  AiTask,
  AiTaskItem,
  AiTaskMode,
  AiTaskStatus,
} from '@headgate/contract';
import {
  type ColumnTypes,
  insertStatement,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';
import { problem } from '../../../kernel/http/problems.ts';
import { callerSeesAll, guardedPage, guardedRead, inEffect } from '../../../kernel/security/guarded-read.ts';
import { findUserAccessId, type Scope } from '../../../kernel/security/permissions.ts';
import { insertWork } from '../../../kernel/work/server-work.ts';
import { taskKind } from './task-state.ts';

interface PendingColumn extends Omit<AiPendingDecision, 'type'> {
  expiresAt: string;
}

interface GrantColumn {
  written: AiGrantedPermission;
  usesLeft: number | null;
}

/** SQL: the calls of the task `t` that wait for a decision, in the order in which the model made them. */
const pendingOf = `(
    select coalesce(jsonb_agg(jsonb_build_object('toolId', c.call_id, 'toolName', c.tool_name, 'toolInput', c.input::jsonb,
        'permissionMessage', c.permission_message, 'expiresAt', c.expires_at) order by c.turn, c.number), '[]')
    from ai_call c where c.account_id = t.account_id and c.task_id = t.task_id and c.status = 'WAITING')`;
const grantsOf = `(
    select coalesce(jsonb_agg(jsonb_build_object('written', g.grant_as_written, 'usesLeft', g.uses_left) order by g.number), '[]')
    from ai_grant g where g.account_id = t.account_id and g.task_id = t.task_id)`;

const taskRow = {
  task_id: 'uuid',
  status: typed<AiTaskStatus>('text'),
  description: 'text',
  created_at: 'timestamptz',
  modified_at: 'timestamptz',
  creator_id: 'uuid',
  agent_config: typed<AiAgentConfig>('jsonb'),
  turns: 'integer',
  input_tokens: 'bigint',
  output_tokens: 'bigint',
  cost: 'bigint',
  milliseconds: 'bigint',
  pending: typed<PendingColumn[]>('jsonb'),
  grants: typed<GrantColumn[]>('jsonb'),
} satisfies ColumnTypes;
export type TaskRow = RowOf<typeof taskRow>;

const taskColumns = `t.task_id, t.status, t.description, t.created_at, t.modified_at, t.creator_id, t.agent_config, t.turns,
    t.input_tokens, t.output_tokens, t.cost, t.milliseconds, ${pendingOf} as pending, ${grantsOf} as grants`;

export const taskById = guardedRead(
  { parameters: { task_id: 'uuid' }, row: taskRow },
  `select ${taskColumns} from ai_task t where t.account_id = $account_id and t.task_id = $task_id`,
);

/** The project of a task. The caller's rights there are checked next. */
export const projectOfTask = statement(
  { parameters: { account_id: 'uuid', task_id: 'uuid' }, row: { project_id: 'uuid' } },
  'select project_id from ai_task where account_id = $account_id and task_id = $task_id',
);

const itemRow = {
  task_id: 'uuid',
  status: typed<AiTaskStatus>('text'),
  agent_config: typed<AiAgentConfig>('jsonb'),
  description: 'text',
  modified_at: 'timestamptz',
  project_id: 'uuid',
  branch_name: 'text?',
} satisfies ColumnTypes;

/** SQL: what the caller may read and asks for, of the projects `p` and their tasks `t`. */
const isProjectListed = `p.account_id = $account_id and (${callerSeesAll} or p.project_id in (
      select g.project_id from granted_role g
      where g.account_id = $account_id and g.principal_id = $principal_id and g.environment_name is null
        and ${inEffect('g')}))
    and ($in_project_id::uuid is null or p.project_id = $in_project_id)`;
const isTaskListed = `t.account_id = p.account_id and t.project_id = p.project_id
    and ($branch_name::text is null or t.branch_name = $branch_name) and ($status::text is null or t.status = $status)`;

// The last tasks of each project, of which an account has few, by the index of the project.
export const taskPage = guardedPage(
  {
    parameters: {
      in_project_id: 'uuid?',
      branch_name: 'text?',
      status: 'text?',
      limit: 'bigint',
      offset: 'bigint',
    },
    row: itemRow,
    alone: true,
  },
  {
    rows: `
      select last.task_id, last.status, last.agent_config, last.description, last.modified_at, last.project_id, last.branch_name
      from project p cross join lateral (
        select t.task_id, t.status, t.agent_config, t.description, t.modified_at, t.project_id, t.branch_name
        from ai_task t where ${isTaskListed}
        order by t.modified_at desc, t.task_id desc limit $limit::bigint + $offset::bigint) last
      where ${isProjectListed}
      order by last.modified_at desc, last.task_id desc limit $limit offset $offset`,
    total: `select count(*) from project p join ai_task t on ${isTaskListed} where ${isProjectListed}`,
  },
);

const insertOne = insertStatement('ai_task', {
  account_id: 'uuid',
  project_id: 'uuid',
  task_id: 'uuid',
  status: 'text',
  agent_config: 'jsonb',
  description: 'text',
  environment_name: 'text?',
  branch_name: 'text?',
  creator_id: 'uuid',
  creator_credential_id: 'uuid?',
  sender_id: 'uuid',
  sender_credential_id: 'uuid?',
  wants_turn: 'boolean',
  created_at: 'timestamptz',
  modified_at: 'timestamptz',
});

export interface NewTask {
  taskId: string;
  config: AiAgentConfig;
  description: string;
}

/** @throws `environment-not-found` */
export function insertTask(tx: Transaction, scope: Scope, made: NewTask, now: Date): void {
  const { config } = made;
  refuseUnknownEnvironment(tx, config);
  const credentialId = findUserAccessId(scope);
  tx.send(insertOne, {
    account_id: scope.accountId,
    project_id: config.projectId,
    task_id: made.taskId,
    status: 'RUNNING',
    agent_config: JSON.stringify(config),
    description: made.description,
    environment_name: config.environmentName ?? null,
    branch_name: config.sourceBranchName ?? null,
    creator_id: scope.actorId,
    creator_credential_id: credentialId,
    sender_id: scope.actorId,
    sender_credential_id: credentialId,
    wants_turn: true,
    created_at: now,
    modified_at: now,
  });
  const work = { account_id: scope.accountId, work_id: made.taskId };
  tx.send(insertWork, { ...work, kind: taskKind, due_at: now });
}

export function refuseUnknownEnvironment(
  tx: Transaction,
  { environmentName }: Pick<AiAgentConfig, 'environmentName'>,
): void {
  tx.onConstraint('ai_task_environment', () =>
    problem('environment-not-found', { name: environmentName ?? '' }),
  );
}

const keyTypes = { account_id: 'uuid', task_id: 'uuid', now: 'timestamptz' } as const;
/** SQL: lets the server that has the task see the change, or another one take the task. */
const announce = (changes: string) => `
  with changed as (
    update ai_task set ${changes}news = news + 1, modified_at = $now
    where account_id = $account_id and task_id = $task_id returning account_id, task_id, status
  )
  update server_work w set due_at = $now from changed
  where w.account_id = changed.account_id and w.work_id = changed.task_id and changed.status in ('RUNNING', 'STOPPING')`;

export const requestStop = statement(
  { parameters: keyTypes },
  announce(`status = 'STOPPING', stop_at = $now, `),
);

export const resumeTask = statement(
  {
    parameters: {
      ...keyTypes,
      sender_id: 'uuid',
      sender_credential_id: 'uuid?',
      agent_config: 'jsonb',
      environment_name: 'text?',
      branch_name: 'text?',
    },
  },
  announce(`status = 'RUNNING', stop_at = null, wants_turn = true, sender_id = $sender_id,
    sender_credential_id = $sender_credential_id, agent_config = $agent_config, environment_name = $environment_name,
    branch_name = $branch_name, `),
);

/** For a task that runs: it keeps its configuration. */
export const addMessageToRun = statement(
  { parameters: { ...keyTypes, sender_id: 'uuid', sender_credential_id: 'uuid?' } },
  announce('wants_turn = true, sender_id = $sender_id, sender_credential_id = $sender_credential_id, '),
);

export const announceChange = statement({ parameters: keyTypes }, announce(''));

export const deleteTask = statement(
  { parameters: { account_id: 'uuid', task_id: 'uuid' } },
  'delete from ai_task where account_id = $account_id and task_id = $task_id',
);

const microsOfUnit = 1_000_000;

export function presentTask(row: TaskRow, assistant: string, now: Date): AiTask {
  return {
    taskId: row.task_id,
    status: row.status,
    description: row.description,
    createdAt: row.created_at.toISOString(),
    modifiedAt: row.modified_at.toISOString(),
    createdBy: row.creator_id,
    assistant,
    agentConfig: row.agent_config,
    grantedPermissions: row.grants.flatMap((grant) => presentGrant(grant, now)),
    pendingDecisions: row.pending.map(presentPending),
    usage: {
      turns: row.turns,
      inputTokens: row.input_tokens,
      outputTokens: row.output_tokens,
      cost: row.cost / microsOfUnit,
      seconds: row.milliseconds / 1_000,
    },
  };
}

function presentPending({ expiresAt, ...pending }: PendingColumn): AiPendingDecision {
  return { type: 'tool', ...pending, expiresAt: new Date(expiresAt).toISOString() };
}

/** Without grants that are used up or have expired. */
function presentGrant({ written, usesLeft }: GrantColumn, now: Date): AiGrantedPermission[] {
  if (usesLeft === 0) return [];
  if (written.expiresAt !== undefined && new Date(written.expiresAt) <= now) return [];
  return [usesLeft === null ? written : { ...written, uses: usesLeft }];
}

export function presentItem(row: RowOf<typeof itemRow>): AiTaskItem {
  const mode: AiTaskMode = row.agent_config.mode ?? 'ACT';
  return {
    taskId: row.task_id,
    status: row.status,
    agentName: row.agent_config.name,
    mode,
    description: row.description,
    modifiedAt: row.modified_at.toISOString(),
    projectId: row.project_id,
    ...(row.branch_name === null ? {} : { branchId: row.branch_name }),
  };
}
