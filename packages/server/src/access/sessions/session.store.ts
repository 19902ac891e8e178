/** The table `sign_in_session`. */
import type { SignInMethod, SignInSession } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';

const sessionRow = {
  session_id: 'uuid',
  method: typed<SignInMethod>('text'),
  issuer_name: 'text?',
  created_at: 'timestamptz',
  last_used_at: 'timestamptz',
  idle_until: 'timestamptz',
  expires_at: 'timestamptz',
  address: 'text',
  user_agent: 'text',
  client_id: 'text?',
} satisfies ColumnTypes;
type SessionRow = RowOf<typeof sessionRow>;

const ofUser = `s.account_id = $account_id and s.user_id = $user_id and s.expires_at > $now and s.idle_until > $now`;

export const sessionPage = guardedPage(
  { parameters: { user_id: 'uuid', limit: 'bigint', offset: 'bigint' }, row: sessionRow },
  {
    rows: `
    select s.session_id, s.method, i.name as issuer_name, s.created_at, s.last_used_at, s.idle_until, s.expires_at,
      s.address, s.user_agent, s.client_id
    from sign_in_session s
    left join identity_issuer i on i.account_id = s.account_id and i.identity_issuer_id = s.identity_issuer_id
    where ${ofUser} order by s.session_id desc limit $limit offset $offset`,
    total: `select count(*)::bigint as total from sign_in_session s where ${ofUser}`,
  },
);

export function presentSession(row: SessionRow, currentId: string | undefined): SignInSession {
  const { issuer_name: issuerName, client_id: program } = row;
  return {
    sessionId: row.session_id,
    method: row.method,
    ...(issuerName === null ? {} : { issuerName }),
    ...(program === null ? {} : { program }),
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.last_used_at.toISOString(),
    idleUntil: row.idle_until.toISOString(),
    expiresAt: row.expires_at.toISOString(),
    address: row.address,
    userAgent: row.user_agent,
    isCurrent: row.session_id === currentId,
  };
}

const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      session_id: 'uuid',
      user_id: 'uuid',
      secret_digest: 'bytea',
      method: 'text',
      identity_issuer_id: 'uuid?',
      issuer_session: 'text?',
      address: 'text',
      user_agent: 'text',
      created_at: 'timestamptz',
      idle_until: 'timestamptz',
      expires_at: 'timestamptz',
    },
  },
  `
  with signed_in as (
    update directory_user set last_signed_in_at = $created_at where account_id = $account_id and user_id = $user_id)
  insert into sign_in_session (account_id, session_id, user_id, secret_digest, method, identity_issuer_id, issuer_session,
    address, user_agent, created_at, last_used_at, idle_until, expires_at)
  values ($account_id, $session_id, $user_id, $secret_digest, $method, $identity_issuer_id, $issuer_session,
    $address, $user_agent, $created_at, $created_at, $idle_until, $expires_at)`,
);

export interface NewSession {
  account_id: string;
  session_id: string;
  user_id: string;
  secret_digest: Buffer;
  method: SignInMethod;
  identity_issuer_id: string | null;
  issuer_session: string | null;
  address: string;
  user_agent: string;
  created_at: Date;
  idle_until: Date;
  expires_at: Date;
}

export function insertSession(tx: Transaction, made: NewSession): void {
  tx.send(insertOne, made);
}

const endedRow = {
  account_id: 'uuid',
  session_id: 'uuid',
  user_id: 'uuid',
  user_name: 'text',
  method: typed<SignInMethod>('text'),
  identity_issuer_id: 'uuid?',
} satisfies ColumnTypes;
export type EndedSession = RowOf<typeof endedRow>;

const endWhere = (condition: string) => `
  delete from sign_in_session s using directory_user u
  where ${condition} and u.account_id = s.account_id and u.user_id = s.user_id
  returning s.account_id, s.session_id, s.user_id, u.user_name, s.method, s.identity_issuer_id`;

const endOfUser = statement(
  {
    parameters: { account_id: 'uuid', user_id: 'uuid', only: 'uuid?', but: 'uuid?' },
    row: endedRow,
  },
  endWhere(`s.account_id = $account_id and s.user_id = $user_id
    and ($only::uuid is null or s.session_id = $only) and s.session_id is distinct from $but::uuid`),
);
const endBySecret = statement(
  { parameters: { secret_digest: 'bytea' }, row: endedRow },
  endWhere('s.secret_digest = $secret_digest'),
);
const endOfIssuer = statement(
  {
    parameters: {
      account_id: 'uuid',
      identity_issuer_id: 'uuid',
      user_id: 'uuid?',
      issuer_session: 'text?',
      before: 'timestamptz?',
    },
    row: endedRow,
  },
  endWhere(`s.account_id = $account_id and s.identity_issuer_id = $identity_issuer_id
    and ($user_id::uuid is null or s.user_id = $user_id)
    and ($issuer_session::text is null or s.issuer_session = $issuer_session)
    and ($before::timestamptz is null or s.created_at <= $before)`),
);

/** One session, or all `but` one. */
export function endSessionsOfUser(
  tx: Transaction,
  accountId: string,
  userId: string,
  { only, but }: { only?: string | undefined; but?: string | undefined } = {},
): Promise<EndedSession[]> {
  return tx.query(endOfUser, {
    account_id: accountId,
    user_id: userId,
    only: only ?? null,
    but: but ?? null,
  });
}

export async function endSessionBySecret(
  tx: Transaction,
  secretDigest: Buffer,
): Promise<EndedSession | undefined> {
  const [ended] = await tx.query(endBySecret, { secret_digest: secretDigest });
  return ended;
}

/** Those that began at an issuer: all, those of a user, those of one session there, or those that began before. */
export function endSessionsOfIssuer(
  tx: Transaction,
  of: { account_id: string; identity_issuer_id: string },
  only: { userId?: string | undefined; issuerSession?: string | undefined; before?: Date | undefined } = {},
): Promise<EndedSession[]> {
  const { userId = null, issuerSession = null, before = null } = only;
  return tx.query(endOfIssuer, { ...of, user_id: userId, issuer_session: issuerSession, before });
}

export type EndReason =
  | 'signed out'
  | 'ended by request'
  | 'revoked by the program'
  | 'code used twice'
  | 'refresh token used twice'
  | 'signed in again'
  | 'signed out at the issuer'
  | 'issuer deleted'
  | 'issuer disabled';

export function buildEndEvent(ended: EndedSession, reason: EndReason): AccountEvent {
  return {
    name: 'session-ended',
    subject: { type: 'user', id: ended.user_id, name: ended.user_name },
    before: { sessionId: ended.session_id, method: ended.method },
    after: { reason },
  };
}
