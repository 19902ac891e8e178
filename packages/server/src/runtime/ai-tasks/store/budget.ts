/** Budgets: of turns, tokens, money and minutes, for a task and for an account in one UTC day. */
import { countOf } from '../../../kernel/count-of.ts';
import { type RowOf, statement, type Transaction } from '../../../kernel/database/database.ts';
import { problem } from '../../../kernel/http/problems.ts';
import type { AiSettings, Budget, ModelSettings } from '../model/ai-settings.ts';

const usageRow = { turns: 'bigint', tokens: 'bigint', cost: 'bigint', milliseconds: 'bigint' } as const;
export type Usage = RowOf<typeof usageRow>;

const usedToday = statement(
  { parameters: { account_id: 'uuid', now: 'timestamptz' }, row: usageRow },
  `
  select turns, tokens, cost, milliseconds from ai_usage
  where account_id = $account_id and used_on = ($now at time zone 'UTC')::date`,
);

const addUsed = statement(
  {
    parameters: {
      account_id: 'uuid',
      now: 'timestamptz',
      turns: 'bigint',
      tokens: 'bigint',
      cost: 'bigint',
      milliseconds: 'bigint',
    },
  },
  `
  insert into ai_usage as u (account_id, used_on, turns, tokens, cost, milliseconds)
  values ($account_id, ($now at time zone 'UTC')::date, $turns, $tokens, $cost, $milliseconds)
  on conflict on constraint ai_usage_key do update set turns = u.turns + excluded.turns,
    tokens = u.tokens + excluded.tokens, cost = u.cost + excluded.cost, milliseconds = u.milliseconds + excluded.milliseconds`,
);

const nothing: Usage = { turns: 0, tokens: 0, cost: 0, milliseconds: 0 };

export function addUsage(tx: Transaction, accountId: string, usage: Usage, now: Date): void {
  tx.send(addUsed, { account_id: accountId, now, ...usage });
}

/** In millionths of the unit of the prices: the price of a million tokens is the millionths of one token. */
export function computeCost(
  model: ModelSettings | undefined,
  { input, output }: { input: number; output: number },
): number {
  if (model === undefined) return 0;
  return Math.ceil((input * model.inputPrice + output * model.outputPrice) / 100);
}

export interface UsedUp {
  of: 'TASK' | 'ACCOUNT';
  /** The budget with its unit, such as `4 turns`. */
  budget: string;
  setting: string;
}

const microsOfHundredth = 10_000;

/** The first budget that is used up. */
export function findUsedUp(used: Usage, budget: Budget, of: UsedUp['of']): UsedUp | undefined {
  const limits: [string, number, number | undefined, (limit: number) => string][] = [
    ['TURNS', used.turns, budget.turns, (limit) => countOf(limit, 'turn')],
    ['TOKENS', used.tokens, budget.tokens, (limit) => countOf(limit, 'token')],
    ['MINUTES', Math.floor(used.milliseconds / 60_000), budget.minutes, (limit) => countOf(limit, 'minute')],
    ['COST', Math.floor(used.cost / microsOfHundredth), budget.cost, describeMoney],
  ];
  for (const [word, value, limit, describe] of limits)
    if (limit !== undefined && value >= limit)
      return { of, budget: describe(limit), setting: `HEADGATE_AI_${of}_${word}` };
  return undefined;
}

const describeMoney = (hundredths: number) =>
  `${(hundredths / 100).toFixed(2)} in the currency of the prices`;

const lockTasks = statement(
  { parameters: { account_id: 'uuid' } },
  "select pg_advisory_xact_lock(hashtextextended('headgate ai tasks ' || $account_id::uuid, 0))",
);
const countRunning = statement(
  { parameters: { account_id: 'uuid' }, row: { count: 'bigint' } },
  "select count(*) as count from ai_task where account_id = $account_id and status in ('RUNNING', 'STOPPING')",
);

/** Also tasks that wait for a decision count. @throws `too-many-ai-tasks` */
export async function requireRoomForTask(
  tx: Transaction,
  { accountTasks: limit }: AiSettings,
  accountId: string,
): Promise<void> {
  tx.send(lockTasks, { account_id: accountId });
  const [running] = await tx.query(countRunning, { account_id: accountId });
  if (running !== undefined && running.count >= limit)
    throw problem('too-many-ai-tasks', { limit, setting: 'HEADGATE_AI_ACCOUNT_TASKS' });
}

/** What a row of `ai_task` has used. */
interface TaskUsage {
  turns: number;
  input_tokens: number;
  output_tokens: number;
  cost: number;
  milliseconds: number;
}

/** The first budget that the task has used up. */
export function findUsedUpOf(task: TaskUsage, settings: AiSettings): UsedUp | undefined {
  const { turns, cost, milliseconds } = task;
  const used = { turns, cost, milliseconds, tokens: task.input_tokens + task.output_tokens };
  return findUsedUp(used, settings.ofTask, 'TASK');
}

/** @throws `ai-task-budget` */
export function requireTaskBudget(task: TaskUsage, settings: AiSettings): void {
  const usedUp = findUsedUpOf(task, settings);
  if (usedUp !== undefined) throw problem('ai-task-budget', usedUp);
}

/** @throws `ai-task-budget` */
export async function requireAccountBudget(
  tx: Transaction,
  settings: AiSettings,
  accountId: string,
  now: Date,
): Promise<void> {
  const [used = nothing] = await tx.query(usedToday, { account_id: accountId, now });
  const usedUp = findUsedUp(used, settings.ofAccount, 'ACCOUNT');
  if (usedUp !== undefined) throw problem('ai-task-budget', usedUp);
}
