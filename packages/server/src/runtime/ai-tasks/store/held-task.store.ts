/** What the server that has a task reads and writes. Every write asks for its epoch. */
import type { AiAgentConfig, AiTaskStatus } from '@headgate/contract';
import { addSeconds } from '../../../kernel/clock.ts';
import {
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';
import { countInterruption, selectDueRows } from '../../../kernel/work/interruption.ts';
import type { Grant } from './grant.ts';

const keyTypes = { account_id: 'uuid', task_id: 'uuid', epoch: 'bigint' } as const;
export type HeldKey = RowOf<typeof keyTypes>;

/** Another server has the task, or it was deleted. */
export class LeaseLost extends Error {}

/** The runner looks again at once if there are more. */
const mostClaimed = 100;

const claim = statement(
  {
    parameters: { limit: 'bigint', lease_until: 'timestamptz', now: 'timestamptz' },
    row: keyTypes,
    alone: true,
  },
  `
  with ${selectDueRows({ table: 'ai_task', key: ['account_id', 'task_id'], isDue: 'due_at <= $now', most: mostClaimed })}
  update ai_task t set epoch = t.epoch + 1, lease_until = $lease_until, ${countInterruption('t')}
  from due where t.account_id = due.account_id and t.task_id = due.task_id
  returning t.account_id, t.task_id, t.epoch`,
);

export function claimTasks(
  read: Read,
  { limit, leaseSeconds, now }: { limit: number; leaseSeconds: number; now: Date },
): Promise<HeldKey[]> {
  return read(claim, { limit, lease_until: addSeconds(now, leaseSeconds), now });
}

const extend = statement(
  {
    parameters: {
      account_ids: 'uuid[]',
      task_ids: 'uuid[]',
      epochs: 'bigint[]',
      lease_until: 'timestamptz',
    },
    row: { task_id: 'uuid', epoch: 'bigint' },
  },
  `
  update ai_task t set lease_until = $lease_until
  from unnest($account_ids::uuid[], $task_ids::uuid[], $epochs::bigint[]) as held (account_id, task_id, epoch)
  where t.account_id = held.account_id and t.task_id = held.task_id and t.epoch = held.epoch
  returning t.task_id, t.epoch`,
);

/** Extends the leases of all tasks that this server has, and returns those that it still has. */
export function extendLeases(
  read: Read,
  held: readonly HeldKey[],
  leaseUntil: Date,
): Promise<Pick<HeldKey, 'task_id' | 'epoch'>[]> {
  return read(extend, {
    account_ids: held.map((each) => each.account_id),
    task_ids: held.map((each) => each.task_id),
    epochs: held.map((each) => each.epoch),
    lease_until: leaseUntil,
  });
}

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
  failures: 'integer',
  interruptions: 'integer',
  /** Of the account, today. */
  day_turns: 'bigint',
  day_tokens: 'bigint',
  day_cost: 'bigint',
  day_milliseconds: 'bigint',
  calls: typed<OpenCall[]>('jsonb'),
  last_turn: typed<LastTurn | null>('jsonb'),
  grants: typed<GrantColumn[]>('jsonb'),
} as const;
export type HeldTask = RowOf<typeof heldRow>;

const selectHeld = statement(
  { parameters: { ...keyTypes, now: 'timestamptz' }, row: heldRow },
  `
  select t.project_id, t.status, t.agent_config, t.description, t.environment_name, t.creator_id, t.creator_credential_id,
    t.sender_id, t.sender_credential_id, t.stop_at, t.wants_turn, t.news, t.last_position, t.turns, t.input_tokens,
    t.output_tokens, t.cost, t.milliseconds, t.failures, t.interruptions, coalesce(d.turns, 0) as day_turns, coalesce(d.tokens, 0) as day_tokens,
    coalesce(d.cost, 0) as day_cost, coalesce(d.milliseconds, 0) as day_milliseconds,
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
  where t.account_id = $account_id and t.task_id = $task_id and t.epoch = $epoch`,
);

/** @throws LeaseLost */
export async function readHeld(read: Read, key: HeldKey, now: Date): Promise<HeldTask> {
  const [row] = await read(selectHeld, { ...key, now });
  if (row === undefined) throw new LeaseLost();
  return row;
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
  where account_id = $account_id and task_id = $task_id and epoch = $epoch for update`,
);

/** The first statement of each transaction of the server that has the task. @throws LeaseLost */
export async function requireHeld(
  tx: Transaction,
  key: HeldKey,
): Promise<{ status: AiTaskStatus; last_position: number; news: number }> {
  const [row] = await tx.query(lockHeld, key);
  if (row === undefined) throw new LeaseLost();
  return row;
}

const release = statement(
  {
    parameters: { ...keyTypes, due_at: 'timestamptz?', news: 'bigint' },
    row: { released: 'boolean' },
  },
  `
  update ai_task set lease_until = null, due_at = $due_at
  where account_id = $account_id and task_id = $task_id and epoch = $epoch and news = $news returning true as released`,
);

/** Gives the task back until it is due. False: something new has come. */
export async function releaseTask(
  read: Read,
  key: HeldKey,
  dueAt: Date | null,
  news: number,
): Promise<boolean> {
  const rows = await read(release, { ...key, due_at: dueAt, news });
  return rows.length > 0;
}

const giveBack = statement(
  { parameters: { ...keyTypes, due_at: 'timestamptz' } },
  `
  update ai_task set lease_until = null, due_at = $due_at, interruptions = 0
  where account_id = $account_id and task_id = $task_id and epoch = $epoch and due_at is not null`,
);

/** Gives the task back after a failure, or because the server stops. */
export async function giveTaskBack(read: Read, key: HeldKey, dueAt: Date): Promise<void> {
  await read(giveBack, { ...key, due_at: dueAt });
}

const countOne = statement(
  { parameters: keyTypes, row: { failures: 'integer' } },
  `
  update ai_task set failures = failures + 1
  where account_id = $account_id and task_id = $task_id and epoch = $epoch returning failures`,
);

/** Counts a step that failed, and returns how many did one after the other. @throws LeaseLost */
export async function countFailure(read: Read, key: HeldKey): Promise<number> {
  const [row] = await read(countOne, key);
  if (row === undefined) throw new LeaseLost();
  return row.failures;
}

const resetFailures = statement(
  { parameters: { ...keyTypes, interruptions: 'integer' } },
  `
  update ai_task set failures = 0, interruptions = $interruptions
  where account_id = $account_id and task_id = $task_id and epoch = $epoch`,
);

/** After a step that succeeded: failures are not in a row any more, and interruptions only if it blocked its server. */
export async function forgetFailures(read: Read, key: HeldKey, interruptions: number): Promise<void> {
  await read(resetFailures, { ...key, interruptions });
}

export const endTask = statement(
  { parameters: { ...keyTypes, status: 'text' } },
  `
  update ai_task set status = $status, due_at = null, lease_until = null, wants_turn = false, stop_at = null, failures = 0,
    interruptions = 0
  where account_id = $account_id and task_id = $task_id and epoch = $epoch`,
);

export const addTaskUsage = statement(
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
  where account_id = $account_id and task_id = $task_id and epoch = $epoch`,
);
