/** The tables `secret_check` and `secret_check_part`. */
import type { CheckedSecrets } from '@headgate/contract';
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { insertIntoEvent } from '../../kernel/database/events.ts';
import type { WorkMoment } from '../../kernel/work/work.ts';
import type { Part, PartEnd, Planned } from './secret-check.ts';

/** The subject's name in events. */
export const subjectName = 'secrets';

export interface Check {
  accountId: string;
  checkId: string;
  projectId: string;
  planned: readonly Planned[];
  unchecked: number;
  parts: readonly Part[];
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
const insertPart = statement(
  {
    parameters: { account_id: 'uuid', work_id: 'uuid', check_id: 'uuid', agent_id: 'uuid', secrets: 'jsonb' },
  },
  `
  insert into secret_check_part (account_id, work_id, check_id, agent_id, secrets, state) values ($account_id,
    $work_id, $check_id, $agent_id, $secrets, 'PENDING')`,
);

export function insertCheck(tx: Transaction, check: Check, now: Date): void {
  const { accountId, checkId, projectId, planned, unchecked, parts } = check;
  tx.send(insertOne, {
    account_id: accountId,
    check_id: checkId,
    project_id: projectId,
    planned: JSON.stringify({ planned, unchecked }),
    created_at: now,
  });
  for (const { workId, agentId, secrets } of parts)
    tx.send(insertPart, {
      account_id: accountId,
      work_id: workId,
      check_id: checkId,
      agent_id: agentId,
      secrets: JSON.stringify(secrets),
    });
}

interface PartRow extends PartEnd {
  work_id: string;
}

const checkRow = {
  kept: typed<{ planned: Planned[]; unchecked: number }>('jsonb'),
  parts: typed<PartRow[]>('json'),
} satisfies ColumnTypes;
export type CheckRow = RowOf<typeof checkRow>;

const selectOne = statement(
  { parameters: { account_id: 'uuid', check_id: 'uuid' }, row: checkRow },
  `
  select c.planned as kept, coalesce((
    select json_agg(json_build_object('work_id', p.work_id, 'state', p.state, 'findings', p.findings, 'message', p.message) order by p.work_id)
    from secret_check_part p where p.account_id = c.account_id and p.check_id = c.check_id), '[]') as parts
  from secret_check c where c.account_id = $account_id and c.check_id = $check_id`,
);

export async function readCheck(
  read: Read,
  accountId: string,
  checkId: string,
): Promise<CheckRow | undefined> {
  const [row] = await read(selectOne, { account_id: accountId, check_id: checkId });
  return row;
}

// Writes the events too, which need the project.
const endParts = statement(
  {
    parameters: {
      account_id: 'uuid',
      work_ids: 'uuid[]',
      states: 'text[]',
      findings: 'text[]',
      messages: 'text[]',
      now: 'timestamptz',
      event_ids: 'uuid[]',
      actor_id: 'uuid?',
      actor_kind: 'text',
      request_id: 'uuid?',
    },
  },
  `
  with ended as (
    update secret_check_part p set state = ($states::text[])[array_position($work_ids::uuid[], p.work_id)],
      findings = (($findings::text[])[array_position($work_ids::uuid[], p.work_id)])::jsonb,
        message = ($messages::text[])[array_position($work_ids::uuid[], p.work_id)]
    from secret_check c
    where p.account_id = $account_id and p.work_id = any ($work_ids::uuid[]) and p.state = 'PENDING'
      and c.account_id = p.account_id and c.check_id = p.check_id
    returning p.work_id, c.project_id, p.state, p.message
  )
  ${insertIntoEvent}
  select $account_id, $now, ($event_ids::uuid[])[row_number() over ()], 'secret-check-ended', $actor_id,
    $actor_kind, $request_id, project_id, null, 'secret-check', work_id::text, '${subjectName}',
    null, jsonb_strip_nulls(jsonb_build_object('state', state, 'message', message))
  from ended`,
);

export function endCheckParts(
  { tx, accountId, source, now, newId }: WorkMoment,
  ends: readonly (PartEnd & { id: string })[],
): void {
  const json = (findings: CheckedSecrets | null) => (findings === null ? null : JSON.stringify(findings));
  tx.send(endParts, {
    account_id: accountId,
    work_ids: ends.map(({ id }) => id),
    states: ends.map(({ state }) => state),
    findings: ends.map(({ findings }) => json(findings)) as string[],
    messages: ends.map(({ message }) => message) as string[],
    now,
    event_ids: ends.map(newId),
    actor_id: source.actorId,
    actor_kind: source.actorKind,
    request_id: source.requestId,
  });
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
const keptHours = 48;

/** Deletes one batch of old checks; returns how many. */
export async function removeOldSecretChecks(read: Read, now: Date): Promise<number> {
  const [row] = await read(deleteOld, { before: new Date(now.getTime() - keptHours * 3_600_000) });
  return row?.removed ?? 0;
}
