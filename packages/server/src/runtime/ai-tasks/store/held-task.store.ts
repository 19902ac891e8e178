/** What the server that has a task reads and writes. Every transaction begins with `requireTask`. */
import type { AiAgentConfig, AiTaskStatus } from '@headgate/contract';
import {
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';
import { type HeldWork, LeaseLost, requireHeld } from '../../../kernel/work/server-work.ts';
import { budgetStopType, selectBudgetStop } from '../../../records/budgets/index.ts';
import { addUsage } from './budget.ts';
import type { Grant } from './grant.ts';

const keyTypes = { account_id: 'uuid', task_id: 'uuid' } as const;
/** The id of a task is that of its work. */
export interface HeldKey extends Pick<HeldWork, 'account_id' | 'work_id' | 'epoch'> {
  task_id: string;
}
const pickTask = ({ account_id, task_id }: HeldKey) => ({ account_id, task_id });

export interface OpenCall {
  callId: string;
  turn: number;
  groupId: string;
  toolName: string;
  input: string;
  inputDigest: string;
  schemaDigest: string | null;
  status: 'PROPOSED' | 'WAITING' | 'ALLOWED' | 'RUNNING';
  senderId: string;
  senderCredentialId: string | null;
  otherPrincipalIds: string[];
  shownDigest: string | null;
  attempts: number;
  expiresAt: string | null;
}

export interface LastTurn {
  turn: number;
  groupId: string;
  status: 'ASKED' | 'ANSWERED' | 'FAILED';
  attempts: number;
}

interface GrantColumn extends Omit<Grant, 'argumentsDigest' | 'schemaDigest'> {
  arguments: string | null;
  schema: string | null;
}

const heldRow = {
  project_id: 'uuid',
  status: typed<AiTaskStatus>('text'),
  agent_config: typed<AiAgentConfig>('jsonb'),
  description: 'text',
  environment_name: 'text?',
  creator_id: 'uuid',
  creator_credential_id: 'uuid?',
  sender_id: 'uuid',
  sender_credential_id: 'uuid?',
  stop_at: 'timestamptz?',
  wants_turn: 'boolean',
  news: 'bigint',
  last_position: 'bigint',
  turns: 'integer',
  input_tokens: 'bigint',
  output_tokens: 'bigint',
  cost: 'bigint',
  milliseconds: 'bigint',
  attempts: 'integer',
  interruptions: 'integer',
  /** Of the account, today. */
  day_turns: 'bigint',
  day_tokens: 'bigint',
  day_cost: 'bigint',
  day_milliseconds: 'bigint',
  /** Null if the budget of the project stops nothing. */
  budget_stop: budgetStopType,
  calls: typed<OpenCall[]>('jsonb'),
  last_turn: typed<LastTurn | null>('jsonb'),
  grants: typed<GrantColumn[]>('jsonb'),
} as const;
export type HeldTask = RowOf<typeof heldRow> & HeldKey;

const selectHeld = statement(
  { parameters: { ...keyTypes, epoch: 'bigint', now: 'timestamptz' }, row: heldRow },
  `
  select t.project_id, t.status, t.agent_config, t.description, t.environment_name, t.creator_id, t.creator_credential_id,
    t.sender_id, t.sender_credential_id, t.stop_at, t.wants_turn, t.news, t.last_position, t.turns, t.input_tokens,
    t.output_tokens, t.cost, t.milliseconds, s.attempts, s.interruptions, coalesce(d.turns, 0) as day_turns, coalesce(d.tokens, 0) as day_tokens,
    coalesce(d.cost, 0) as day_cost, coalesce(d.milliseconds, 0) as day_milliseconds,
    ${selectBudgetStop('t.account_id', 't.project_id', '$now')} as budget_stop,
    (select coalesce(jsonb_agg(jsonb_build_object('callId', c.call_id, 'turn', c.turn, 'groupId', c.group_id,
        'toolName', c.tool_name, 'input', c.input, 'inputDigest', encode(c.input_digest, 'base64'),
        'schemaDigest', encode(c.schema_digest, 'base64'), 'status', c.status, 'senderId', c.sender_id,
        'senderCredentialId', c.sender_credential_id, 'otherPrincipalIds', c.other_principal_ids,
        'shownDigest', encode(c.shown_digest, 'base64'), 'attempts', c.attempts, 'expiresAt', c.expires_at)
        order by c.turn, c.number), '[]')
      from ai_call c where c.account_id = t.account_id and c.task_id = t.task_id and c.status <> 'ENDED') as calls,
    (select jsonb_build_object('turn', u.turn, 'groupId', u.group_id, 'status', u.status, 'attempts', u.attempts)
      from ai_turn u where u.account_id = t.account_id and u.task_id = t.task_id order by u.turn desc limit 1) as last_turn,
    (select coalesce(jsonb_agg(jsonb_build_object('number', g.number, 'written', g.grant_as_written,
        'arguments', encode(g.arguments_digest, 'base64'), 'schema', encode(g.schema_digest, 'base64'),
        'usesLeft', g.uses_left, 'grantedBy', g.granted_by) order by g.number), '[]')
      from ai_grant g where g.account_id = t.account_id and g.task_id = t.task_id) as grants
  from ai_task t
  left join ai_usage d on d.account_id = t.account_id and d.used_on = ($now at time zone 'UTC')::date
  join server_work s on s.account_id = t.account_id and s.work_id = t.task_id
  where t.account_id = $account_id and t.task_id = $task_id and s.epoch = $epoch`,
);

/** @throws LeaseLost */
export async function readHeld(read: Read, key: HeldKey, now: Date): Promise<HeldTask> {
  const [row] = await read(selectHeld, { ...pickTask(key), epoch: key.epoch, now });
  if (row === undefined) throw new LeaseLost();
  return { ...row, account_id: key.account_id, task_id: key.task_id, work_id: key.work_id, epoch: key.epoch };
}

export function readGrants({ grants }: HeldTask): Grant[] {
  const decode = (text: string | null) => (text === null ? null : Buffer.from(text, 'base64'));
  return grants.map(({ arguments: values, schema, ...grant }) => ({
    ...grant,
    argumentsDigest: decode(values),
    schemaDigest: decode(schema),
  }));
}

const lockHeld = statement(
  {
    parameters: keyTypes,
    row: { status: typed<AiTaskStatus>('text'), last_position: 'bigint', news: 'bigint' },
  },
  `
  select status, last_position, news from ai_task
  where account_id = $account_id and task_id = $task_id for update`,
);

/** The first statement of each transaction of the server that has the task. @throws LeaseLost */
export async function requireTask(
  tx: Transaction,
  key: HeldKey,
): Promise<{ status: AiTaskStatus; last_position: number; news: number }> {
  const [[row]] = await Promise.all([tx.query(lockHeld, pickTask(key)), requireHeld(tx, key)]);
  if (row === undefined) throw new LeaseLost();
  return row;
}

const selectAttempts = statement(
  { parameters: { ...keyTypes, epoch: 'bigint' }, row: { attempts: 'integer' } },
  'select attempts from server_work where account_id = $account_id and work_id = $task_id and epoch = $epoch',
);

/** How many steps failed one after the other, if this one has. @throws LeaseLost */
export async function countFailures(read: Read, key: HeldKey): Promise<number> {
  const [row] = await read(selectAttempts, { ...pickTask(key), epoch: key.epoch });
  if (row === undefined) throw new LeaseLost();
  return row.attempts;
}

export const endTask = statement(
  { parameters: { ...keyTypes, status: 'text' } },
  `
  update ai_task set status = $status, wants_turn = false, stop_at = null
  where account_id = $account_id and task_id = $task_id`,
);

const addUsed = statement(
  {
    parameters: {
      ...keyTypes,
      turns: 'integer',
      input_tokens: 'bigint',
      output_tokens: 'bigint',
      cost: 'bigint',
      milliseconds: 'bigint',
    },
  },
  `
  update ai_task set turns = turns + $turns, input_tokens = input_tokens + $input_tokens,
    output_tokens = output_tokens + $output_tokens, cost = cost + $cost, milliseconds = milliseconds + $milliseconds
  where account_id = $account_id and task_id = $task_id`,
);

/** Counts what was used in the budgets of the task and of the account. */
export function addTaskUsage(
  tx: Transaction,
  key: HeldKey,
  used: { turns: number; input: number; output: number; cost: number; milliseconds: number },
  now: Date,
): void {
  const { turns, input, output, cost, milliseconds } = used;
  const tokens = { input_tokens: input, output_tokens: output };
  tx.send(addUsed, { ...pickTask(key), turns, ...tokens, cost, milliseconds });
  addUsage(tx, key.account_id, { turns, tokens: input + output, cost, milliseconds }, now);
}
