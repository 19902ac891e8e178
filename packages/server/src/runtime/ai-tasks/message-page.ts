/** Messages as the API shows them, and the tokens to go on with. */
import { type AiMessageData, type AiTaskMessage, queryWarehouse } from '@headgate/contract';
import { readPagingToken } from '../../kernel/http/paging.ts';
import { invalidRequest } from '../../kernel/http/problems.ts';
import type { ShownMessageRow } from './message.store.ts';

export function presentMessage(row: ShownMessageRow): AiTaskMessage {
  const { group_id: groupId, written_at: at, data, is_hidden: isHidden } = row;
  return { groupId, timestamp: at.toISOString(), data: isHidden ? leaveOut(data) : data };
}

function leaveOut(data: AiMessageData): AiMessageData {
  if (data.type !== 'tool-result') return data;
  const where =
    data.environmentName === undefined
      ? 'its environment'
      : `the environment ${JSON.stringify(data.environmentName)}`;
  const text = `Left out: the result of a query is shown to callers with the permission ${queryWarehouse.permission} in ${where}.`;
  return { ...data, text, isLeftOut: true };
}

/** The position in a token; 0, before the first message, without one. */
export function readPosition(
  token: string | undefined,
  field: 'query.paginationToken' | 'headers.Last-Event-ID',
): number {
  if (token === undefined || token === '') return 0;
  const position = Number(readPagingToken(token) ?? Number.NaN);
  if (Number.isSafeInteger(position) && position >= 0) return position;
  const detail = 'is not a token of this list; send the one of the previous response';
  throw invalidRequest([{ field, pointer: `/${field.replace('.', '/')}`, detail }]);
}
