/** Messages as the API shows them, and the tokens to go on with. */
import type { AiTaskMessage } from '@headgate/contract';
import { readPagingToken } from '../../kernel/http/paging.ts';
import { invalidRequest } from '../../kernel/http/problems.ts';
import type { ShownMessageRow } from './store/message.store.ts';

export function presentMessage(row: ShownMessageRow): AiTaskMessage {
  return { groupId: row.group_id, timestamp: row.written_at.toISOString(), data: row.data };
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
