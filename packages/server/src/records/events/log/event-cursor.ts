/** Cursors of the log: a position as opaque text. */
import { logPlaces } from '@headgate/contract';
import type { Database } from '../../../kernel/database/database.ts';
import { makePagingToken, readPagingToken } from '../../../kernel/http/paging.ts';
import { invalidRequest, type Problem, problem } from '../../../kernel/http/problems.ts';
import { type LogPart, readLogBounds } from './event-log.ts';

/** A cursor of a request, and where the request has it. */
export interface GivenCursor {
  text: string;
  field: 'query.after' | 'headers.Last-Event-ID';
}

export const renderCursor = (position: number): string => makePagingToken(String(position));

/** The position of a cursor, or of the words `oldest` and `latest`. Throws `invalid-request`. */
export async function resolveCursor(
  database: Pick<Database, 'read'>,
  accountId: string,
  input: GivenCursor,
): Promise<number> {
  const [oldest, latest] = logPlaces;
  if (input.text === oldest) return (await readLogBounds(database, accountId)).removed;
  if (input.text === latest) return (await readLogBounds(database, accountId)).last;
  const digits = readPagingToken(input.text);
  if (digits === undefined || !/^\d{1,15}$/.test(digits))
    throw createCursorProblem(
      input,
      `is not a cursor: send the \`cursor\` of a response, the \`id\` of a streamed event, or one of ${logPlaces.join(', ')}`,
    );
  return Number(digits);
}

/** Throws if the part does not follow the cursor: the log ends before it, or events in between were removed. */
export function requireFollowing(input: GivenCursor | undefined, after: number, part: LogPart): void {
  if (after < part.removed) throw problem('events-removed');
  if (after > part.last && input !== undefined)
    throw createCursorProblem(
      input,
      'is after the end of the log. If the server was restored from a backup, begin again with oldest or latest',
    );
}

function createCursorProblem({ field }: GivenCursor, detail: string): Problem {
  return invalidRequest([{ field, pointer: `/${field.replace('.', '/')}`, detail }]);
}
