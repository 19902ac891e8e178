/** The tables `ai_turn` and `ai_call`, as the server that has the task writes them. */
import type { AiCallOutcome } from '@headgate/contract';
import {
  insertStatement,
  type Read,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';
import type { Grant } from './grant.ts';
import type { HeldKey } from './held-task.store.ts';

const keyTypes = { account_id: 'uuid', task_id: 'uuid' } as const;
const keyOf = ({ account_id, task_id }: HeldKey) => ({ account_id, task_id });

/**
 * SQL: all that said something since the last answer without calls, which the turn answers too. A reason or an answer
 * of a decision is such a text; a permission without a reason is not, as it is for one call.
 */
const otherSenders = `array(
      select distinct (m.data ->> 'senderId')::uuid from ai_message m
      where m.account_id = $account_id and m.task_id = $task_id and m.position <= $through_position
        and (m.data ->> 'type' = 'user' or m.data ->> 'type' = 'decision'
          and (m.data ->> 'decision' in ('DENY', 'ANSWER') or m.data ->> 'reason' is not null))
        and (m.data ->> 'senderId')::uuid <> $sender_id
        and m.position > coalesce((
          select max(e.through_position) from ai_turn e
          where e.account_id = $account_id and e.task_id = $task_id and e.status = 'ANSWERED' and not exists (
            select from ai_call c
            where c.account_id = e.account_id and c.task_id = e.task_id and c.turn = e.turn)), 0))`;

const beginTurn = statement(
  {
    parameters: {
      ...keyTypes,
      turn: 'integer',
      group_id: 'uuid',
      through_position: 'bigint',
      sender_id: 'uuid',
      sender_credential_id: 'uuid?',
      now: 'timestamptz',
    },
  },
  `
  insert into ai_turn as u (account_id, task_id, turn, group_id, status, through_position, sender_id, sender_credential_id,
    other_principal_ids, attempts, started_at)
  values ($account_id, $task_id, $turn, $group_id, 'ASKED', $through_position, $sender_id, $sender_credential_id,
    ${otherSenders}, 1, $now)
  on conflict on constraint ai_turn_key do update set attempts = u.attempts + 1, group_id = excluded.group_id,
    through_position = excluded.through_position, sender_id = excluded.sender_id,
    sender_credential_id = excluded.sender_credential_id, other_principal_ids = excluded.other_principal_ids,
    text_so_far = null, started_at = excluded.started_at`,
);

export interface NewTurn {
  turn: number;
  groupId: string;
  throughPosition: number;
  sender: { sender_id: string; sender_credential_id: string | null };
}

/** Writes the turn before the model is asked. One that had no answer is asked again. */
export function writeTurn(tx: Transaction, key: HeldKey, made: NewTurn, now: Date): void {
  tx.send(beginTurn, {
    ...keyOf(key),
    turn: made.turn,
    group_id: made.groupId,
    through_position: made.throughPosition,
    ...made.sender,
    now,
  });
}

const endTurn = statement(
  { parameters: { ...keyTypes, turn: 'integer', status: 'text', now: 'timestamptz' } },
  `
  update ai_turn set status = $status, ended_at = $now, text_so_far = null
  where account_id = $account_id and task_id = $task_id and turn = $turn`,
);

export function writeTurnEnd(
  tx: Transaction,
  key: HeldKey,
  { turn, status }: { turn: number; status: 'ANSWERED' | 'FAILED' },
  now: Date,
): void {
  tx.send(endTurn, { ...keyOf(key), turn, status, now });
}

const showText = statement(
  { parameters: { ...keyTypes, turn: 'integer', text_so_far: 'text' } },
  `
  update ai_turn set text_so_far = $text_so_far
  where account_id = $account_id and task_id = $task_id and turn = $turn and status = 'ASKED'`,
);

/** For readers on other servers. */
export async function writeTextSoFar(read: Read, key: HeldKey, turn: number, text: string): Promise<void> {
  await read(showText, { ...keyOf(key), turn, text_so_far: text });
}

const insertTypes = {
  ...keyTypes,
  call_id: 'uuid',
  turn: 'integer',
  number: 'integer',
  group_id: 'uuid',
  tool_name: 'text',
  input: 'text',
  input_digest: 'bytea',
  schema_digest: 'bytea?',
  status: 'text',
  outcome: 'text?',
  sender_id: 'uuid',
  sender_credential_id: 'uuid?',
  ended_at: 'timestamptz?',
} as const;
const ofTurn = `(
  select other_principal_ids from ai_turn where account_id = given.account_id and task_id = given.task_id and turn = given.turn)`;
const insertCall = insertStatement('ai_call', insertTypes, { derived: { other_principal_ids: ofTurn } });

export interface NewCall {
  call_id: string;
  turn: number;
  number: number;
  group_id: string;
  tool_name: string;
  input: string;
  input_digest: Buffer;
  schema_digest: Buffer | null;
  status: 'PROPOSED' | 'ENDED';
  outcome: AiCallOutcome | null;
  sender_id: string;
  sender_credential_id: string | null;
  ended_at: Date | null;
}

export function writeCall(tx: Transaction, key: HeldKey, call: NewCall): void {
  tx.send(insertCall, { ...keyOf(key), ...call });
}

const callKey = { ...keyTypes, call_id: 'uuid' } as const;
const askForDecision = statement(
  {
    parameters: {
      ...callKey,
      permission_message: 'jsonb',
      shown_digest: 'bytea?',
      expires_at: 'timestamptz',
    },
  },
  `
  update ai_call set status = 'WAITING', permission_message = $permission_message, shown_digest = $shown_digest,
    expires_at = $expires_at
  where account_id = $account_id and task_id = $task_id and call_id = $call_id and status = 'PROPOSED'`,
);

export function writeWait(
  tx: Transaction,
  key: HeldKey,
  wait: { call_id: string; permission_message: string; shown_digest: Buffer | null; expires_at: Date },
): void {
  tx.send(askForDecision, { ...keyOf(key), ...wait });
}

// The call needs the rights of the giver of its grant too.
const startCall = statement(
  { parameters: { ...callKey, granted_by: 'uuid?', now: 'timestamptz' } },
  `
  update ai_call set status = 'RUNNING', attempts = attempts + 1, started_at = coalesce(started_at, $now), expires_at = null,
    other_principal_ids = other_principal_ids || array_remove(array[$granted_by::uuid], null),
    shown_digest = case when $granted_by::uuid is null then shown_digest end
  where account_id = $account_id and task_id = $task_id and call_id = $call_id and status <> 'ENDED'`,
);
const useGrant = statement(
  { parameters: { ...keyTypes, number: 'integer' } },
  `
  update ai_grant set uses_left = uses_left - 1
  where account_id = $account_id and task_id = $task_id and number = $number and uses_left > 0`,
);

/** Writes that the tool runs, before it does; the grant that allows it is used once. */
export function writeCallStart(
  tx: Transaction,
  key: HeldKey,
  { callId, grant }: { callId: string; grant: Pick<Grant, 'number' | 'grantedBy'> | undefined },
  now: Date,
): void {
  tx.send(startCall, { ...keyOf(key), call_id: callId, granted_by: grant?.grantedBy ?? null, now });
  if (grant !== undefined) tx.send(useGrant, { ...keyOf(key), number: grant.number });
}

const endCall = statement(
  { parameters: { ...callKey, outcome: typed<AiCallOutcome>('text'), now: 'timestamptz' } },
  `
  update ai_call set status = 'ENDED', outcome = $outcome, ended_at = $now, expires_at = null
  where account_id = $account_id and task_id = $task_id and call_id = $call_id`,
);

export function writeCallEnd(
  tx: Transaction,
  key: HeldKey,
  { callId, outcome }: { callId: string; outcome: AiCallOutcome },
  now: Date,
): void {
  tx.send(endCall, { ...keyOf(key), call_id: callId, outcome, now });
}
