/** Who is signed in in a browser, for pages. Operations of the API learn it from rights(). */
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../../kernel/clock.ts';
import { type Database, statement } from '../../kernel/database/database.ts';
import { Problem } from '../../kernel/http/problems.ts';
import type { Sessions } from '../../kernel/security/sessions.ts';
import type { TokenOwner } from '../../kernel/security/tokens.ts';

const signedInRow = {
  account_id: 'uuid',
  session_id: 'uuid',
  user_id: 'uuid',
  user_name: 'text',
  account_name: 'text',
} as const;
const selectUser = statement(
  {
    parameters: { account_id: 'uuid', session_id: 'uuid', now: 'timestamptz' },
    row: signedInRow,
  },
  `
  select s.account_id, s.session_id, u.user_id, u.user_name, a.name as account_name from sign_in_session s
  join directory_user u on u.account_id = s.account_id and u.user_id = s.user_id and u.active
  join account a on a.account_id = s.account_id
  where s.account_id = $account_id and s.session_id = $session_id and s.expires_at > $now and s.idle_until > $now`,
);

/** Undefined: nobody. */
export async function findSignedIn(
  { database, sessions, clock }: { database: Database; sessions: Sessions; clock: Clock },
  { headers }: FastifyRequest,
) {
  const secret = sessions.readCookie(headers.cookie);
  if (secret === undefined) return undefined;
  let owner: TokenOwner;
  try {
    owner = await sessions.findOwner(secret);
  } catch (failure) {
    if (failure instanceof Problem && failure.code === 'session-invalid') return undefined;
    throw failure;
  }
  const of = { account_id: owner.accountId, session_id: owner.sessionId ?? '', now: clock.now() };
  const [user] = await database.read(selectUser, of);
  return user;
}

/** A name that PostgreSQL can store. */
export const isStorableName = (text: string) =>
  text.length <= 255 && !text.includes('\0') && text.isWellFormed();
