/** The table `ai_message`: messages are only ever added, in an order without gaps. */
import type { AiMessageData } from '@headgate/contract';
import { type RowOf, statement, type Transaction, typed } from '../../../kernel/database/database.ts';
import { guardedRead } from '../../../kernel/security/guarded-read.ts';
import { encodeJson } from './stored-text.ts';

const messageRow = {
  position: 'bigint',
  group_id: 'uuid',
  written_at: 'timestamptz',
  data: typed<AiMessageData>('jsonb'),
} as const;

export type ShownMessageRow = RowOf<typeof messageRow>;

/** The task must exist. `limit` is one more than what is shown, to see whether there are more. */
export const messagesAfter = guardedRead(
  { parameters: { task_id: 'uuid', after: 'bigint', limit: 'bigint' }, row: messageRow },
  `
  select m.position, m.group_id, m.written_at, m.data from ai_message m
  where m.account_id = $account_id and m.task_id = $task_id and m.position > $after
  order by m.position limit $limit`,
);

const append = statement(
  {
    parameters: {
      account_id: 'uuid',
      task_id: 'uuid',
      now: 'timestamptz',
      count: 'bigint',
      messages: 'jsonb',
    },
  },
  `
  with task as (
    update ai_task set last_position = last_position + $count, modified_at = $now
    where account_id = $account_id and task_id = $task_id
    returning last_position - $count as position
  )
  insert into ai_message (account_id, task_id, position, group_id, written_at, data)
  select $account_id, $task_id, task.position + m.number, (m.message ->> 'groupId')::uuid, $now, m.message -> 'data'
  from task, jsonb_array_elements($messages) with ordinality as m (message, number)`,
);

export interface NewMessage {
  groupId: string;
  data: AiMessageData;
}

/** Adds messages. The caller has locked the task, or has just inserted it. */
export function appendMessages(
  tx: Transaction,
  { account_id, task_id }: { account_id: string; task_id: string },
  messages: readonly NewMessage[],
  now: Date,
): void {
  if (messages.length === 0) return;
  tx.send(append, { account_id, task_id, now, count: messages.length, messages: encodeJson(messages) });
}
