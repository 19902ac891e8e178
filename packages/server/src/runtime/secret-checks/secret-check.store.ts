/** The tables `secret_check` and `secret_check_part`. */
import type { CheckedSecrets } from '@headgate/contract';
import { type Read, statement, type Transaction } from '../../kernel/database/database.ts';
import { insertIntoEvent } from '../../kernel/database/events.ts';
import type { WorkMoment } from '../../kernel/work/work.ts';
import type { Part, PartEnd, Planned } from './secret-check.ts';

/** How events name what is checked. */
export const subjectName = 'secrets';

export interface Check {
  accountId: string;
  checkId: string;
  projectId: string;
  planned: readonly Planned[];
  unchecked: number;
  parts: readonly Part[];
}

const insertOne = statement(`
  insert into secret_check (account_id, check_id, project_id, planned, created_at) values ($1, $2, $3, $4, $5)`);
const insertPart = statement(`
  insert into secret_check_part (account_id, work_id, check_id, agent_id, secrets, state) values ($1, $2, $3, $4, $5, 'PENDING')`);

export function insertCheck(tx: Transaction, check: Check, now: Date): void {
  const { accountId, checkId, projectId, planned, unchecked, parts } = check;
  tx.send(insertOne, [accountId, checkId, projectId, JSON.stringify({ planned, unchecked }), now]);
  for (const { workId, agentId, secrets } of parts)
    tx.send(insertPart, [accountId, workId, checkId, agentId, JSON.stringify(secrets)]);
}

interface PartRow extends PartEnd {
  work_id: string;
}

export interface CheckRow {
  kept: { planned: Planned[]; unchecked: number };
  parts: PartRow[];
}

const selectOne = statement<CheckRow>(`
  select c.planned as kept, coalesce((
    select json_agg(json_build_object('work_id', p.work_id, 'state', p.state, 'findings', p.findings, 'message', p.message) order by p.work_id)
    from secret_check_part p where p.account_id = c.account_id and p.check_id = c.check_id), '[]') as parts
  from secret_check c where c.account_id = $1 and c.check_id = $2`);

export async function readCheck(
  read: Read,
  accountId: string,
  checkId: string,
): Promise<CheckRow | undefined> {
  const [row] = await read(selectOne, [accountId, checkId]);
  return row;
}

// With the events, which name the project.
const endParts = statement(`
  with ended as (
    update secret_check_part p set state = ($3::text[])[array_position($2::uuid[], p.work_id)],
      findings = (($4::text[])[array_position($2::uuid[], p.work_id)])::jsonb, message = ($5::text[])[array_position($2::uuid[], p.work_id)]
    from secret_check c
    where p.account_id = $1 and p.work_id = any ($2::uuid[]) and p.state = 'PENDING'
      and c.account_id = p.account_id and c.check_id = p.check_id
    returning p.work_id, c.project_id, p.state, p.message
  )
  ${insertIntoEvent}
  select $1, $6, ($7::uuid[])[row_number() over ()], 'secret-check-ended', $8, $9, $10, project_id, 'secret-check', work_id::text, '${subjectName}',
    null, jsonb_strip_nulls(jsonb_build_object('state', state, 'message', message))
  from ended`);

export function endCheckParts(
  { tx, accountId, source, now, newId }: WorkMoment,
  ends: readonly (PartEnd & { id: string })[],
): void {
  const json = (findings: CheckedSecrets | null) => (findings === null ? null : JSON.stringify(findings));
  tx.send(endParts, [
    accountId,
    ends.map(({ id }) => id),
    ends.map(({ state }) => state),
    ends.map(({ findings }) => json(findings)) as string[],
    ends.map(({ message }) => message) as string[],
    ...[now, ends.map(newId), source.actorId, source.actorKind, source.requestId],
  ]);
}

export const secretCheckBatch = 1_000;
const deleteOld = statement<{ removed: number }>(
  `
  with removed as (
    delete from secret_check where ctid = any (array(
      select ctid from secret_check where created_at < $1 limit ${secretCheckBatch} for update skip locked))
    returning 1
  )
  select count(*)::integer as removed from removed`,
  { alone: true },
);

/** As long as an Idempotency-Key may ask for it. */
const keptHours = 48;

/** Removes checks that nobody asks for any more, a batch at a time; answers how many. */
export async function removeOldSecretChecks(read: Read, now: Date): Promise<number> {
  const [row] = await read(deleteOld, [new Date(now.getTime() - keptHours * 3_600_000)]);
  return row?.removed ?? 0;
}
