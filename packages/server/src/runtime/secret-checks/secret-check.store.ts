/** The table `secret_check`: what an answer is composed of, beside what the agents find (agent-request.ts). */
import { type Read, statement, type Transaction, typed } from '../../kernel/database/database.ts';
import type { Planned } from './secret-check.ts';

/** The results but for what the agents find. */
export interface CheckPlan {
  planned: readonly Planned[];
  unchecked: number;
}

const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      check_id: 'uuid',
      project_id: 'uuid',
      planned: 'jsonb',
      created_at: 'timestamptz',
    },
  },
  `
  insert into secret_check (account_id, check_id, project_id, planned, created_at) values ($account_id,
    $check_id, $project_id, $planned, $created_at)`,
);

export function insertCheck(
  tx: Transaction,
  of: { accountId: string; checkId: string; projectId: string },
  { planned, unchecked }: CheckPlan,
  now: Date,
): void {
  tx.send(insertOne, {
    account_id: of.accountId,
    check_id: of.checkId,
    project_id: of.projectId,
    planned: JSON.stringify({ planned, unchecked }),
    created_at: now,
  });
}

const selectPlan = statement(
  { parameters: { account_id: 'uuid', check_id: 'uuid' }, row: { plan: typed<CheckPlan>('jsonb') } },
  'select planned as plan from secret_check where account_id = $account_id and check_id = $check_id',
);

export async function readPlanOf(
  read: Read,
  accountId: string,
  checkId: string,
): Promise<CheckPlan | undefined> {
  const [row] = await read(selectPlan, { account_id: accountId, check_id: checkId });
  return row?.plan;
}

export const secretCheckBatch = 1_000;
const deleteOld = statement(
  { parameters: { before: 'timestamptz' }, row: { removed: 'integer' }, alone: true },
  `
  with removed as (
    delete from secret_check where ctid = any (array(
      select ctid from secret_check where created_at < $before limit ${secretCheckBatch} for update skip locked))
    returning 1
  )
  select count(*)::integer as removed from removed`,
);

/** Longer than an Idempotency-Key is valid. */
export const keptHours = 48;

/** Deletes one batch of old checks; returns how many. */
export async function removeOldSecretChecks(read: Read, now: Date): Promise<number> {
  const [row] = await read(deleteOld, { before: new Date(now.getTime() - keptHours * 3_600_000) });
  return row?.removed ?? 0;
}
