/** The table `program_authorization`, and the sessions of programs in `sign_in_session`. */
import type { SignInMethod } from '@headgate/contract';
import { type ColumnTypes, statement, typed } from '../../kernel/database/database.ts';

const authorizationRow = {
  authorization_id: 'uuid',
  client_id: 'text',
  status: typed<'PENDING' | 'APPROVED' | 'DENIED' | 'USED'>('text'),
  redirect_uri: 'text?',
  code_challenge: 'text?',
  address: 'text',
  user_agent: 'text',
  interval_seconds: 'integer',
  last_polled_at: 'timestamptz?',
  account_id: 'uuid?',
  user_id: 'uuid?',
  browser_session_id: 'uuid?',
  session_id: 'uuid?',
  expires_at: 'timestamptz',
} satisfies ColumnTypes;

const columns = Object.keys(authorizationRow).join(', ');

export const insertAuthorization = statement(
  {
    parameters: {
      authorization_id: 'uuid',
      kind: typed<'DEVICE' | 'CODE'>('text'),
      client_id: 'text',
      status: typed<'PENDING' | 'APPROVED'>('text'),
      code_digest: 'bytea',
      user_code_digest: 'bytea?',
      redirect_uri: 'text?',
      code_challenge: 'text?',
      address: 'text',
      user_agent: 'text',
      interval_seconds: 'integer',
      account_id: 'uuid?',
      user_id: 'uuid?',
      browser_session_id: 'uuid?',
      created_at: 'timestamptz',
      expires_at: 'timestamptz',
    },
  },
  `
  insert into program_authorization (authorization_id, kind, client_id, status, code_digest, user_code_digest, redirect_uri,
    code_challenge, address, user_agent, interval_seconds, account_id, user_id, browser_session_id, created_at, expires_at)
  values ($authorization_id, $kind, $client_id, $status, $code_digest, $user_code_digest, $redirect_uri, $code_challenge,
    $address, $user_agent, $interval_seconds, $account_id, $user_id, $browser_session_id, $created_at, $expires_at)`,
);

export const countWaiting = statement(
  { parameters: { address: 'text', now: 'timestamptz' }, row: { count: 'integer' } },
  `select count(*)::integer as count from program_authorization
  where address = $address and status = 'PENDING' and expires_at > $now`,
);

export const lockByCode = statement(
  { parameters: { code_digest: 'bytea', kind: typed<'DEVICE' | 'CODE'>('text') }, row: authorizationRow },
  `select ${columns} from program_authorization where code_digest = $code_digest and kind = $kind for update`,
);

const isWaiting = "user_code_digest = $user_code_digest and status = 'PENDING' and expires_at > $now";

export const selectByUserCode = statement(
  { parameters: { user_code_digest: 'bytea', now: 'timestamptz' }, row: authorizationRow },
  `select ${columns} from program_authorization where ${isWaiting}`,
);

export const decideByUserCode = statement(
  {
    parameters: {
      user_code_digest: 'bytea',
      status: typed<'APPROVED' | 'DENIED'>('text'),
      account_id: 'uuid',
      user_id: 'uuid',
      browser_session_id: 'uuid',
      now: 'timestamptz',
    },
    row: { client_id: 'text', address: 'text' },
  },
  `
  update program_authorization set status = $status, account_id = $account_id, user_id = $user_id,
    browser_session_id = $browser_session_id
  where ${isWaiting} returning client_id, address`,
);

export const recordPoll = statement(
  { parameters: { authorization_id: 'uuid', interval_seconds: 'integer', now: 'timestamptz' } },
  `update program_authorization set last_polled_at = $now, interval_seconds = $interval_seconds
  where authorization_id = $authorization_id`,
);

export const markUsed = statement(
  { parameters: { authorization_id: 'uuid', session_id: 'uuid' } },
  "update program_authorization set status = 'USED', session_id = $session_id where authorization_id = $authorization_id",
);

/** The session of the program begins as that of the browser did: it ends with its issuer too. */
export const insertSession = statement(
  {
    parameters: {
      account_id: 'uuid',
      session_id: 'uuid',
      user_id: 'uuid',
      browser_session_id: 'uuid',
      client_id: 'text',
      secret_digest: 'bytea',
      address: 'text',
      user_agent: 'text',
      now: 'timestamptz',
      idle_until: 'timestamptz',
      expires_at: 'timestamptz',
    },
    row: { user_name: 'text', method: typed<SignInMethod>('text') },
  },
  `
  with made as (
    insert into sign_in_session (account_id, session_id, user_id, secret_digest, method, identity_issuer_id,
      issuer_session, address, user_agent, created_at, last_used_at, idle_until, expires_at, client_id)
    select b.account_id, $session_id, b.user_id, $secret_digest, b.method, b.identity_issuer_id, b.issuer_session,
      $address, $user_agent, $now, $now, $idle_until, $expires_at, $client_id
    from sign_in_session b
    join directory_user u on u.account_id = b.account_id and u.user_id = b.user_id and u.active
    where b.account_id = $account_id and b.session_id = $browser_session_id and b.user_id = $user_id
      and b.client_id is null and b.expires_at > $now and b.idle_until > $now
    returning account_id, user_id, method)
  select u.user_name, m.method from made m
  join directory_user u on u.account_id = m.account_id and u.user_id = m.user_id`,
);

const programSession = {
  account_id: 'uuid',
  session_id: 'uuid',
  user_id: 'uuid',
  client_id: 'text',
} satisfies ColumnTypes;

/** Only one of two requests with one refresh token gets the row. */
export const rotateRefreshToken = statement(
  {
    parameters: {
      secret_digest: 'bytea',
      next_digest: 'bytea',
      client_id: 'text',
      now: 'timestamptz',
      idle_until: 'timestamptz',
    },
    row: programSession,
  },
  `
  update sign_in_session s set secret_digest = $next_digest, last_used_at = $now,
    idle_until = least(s.expires_at, $idle_until)
  from directory_user u
  where s.secret_digest = $secret_digest and s.client_id = $client_id and s.expires_at > $now and s.idle_until > $now
    and u.account_id = s.account_id and u.user_id = s.user_id and u.active
  returning s.account_id, s.session_id, s.user_id, s.client_id`,
);

export const endProgramSession = statement(
  {
    parameters: { session_id: 'uuid' },
    row: {
      account_id: 'uuid',
      session_id: 'uuid',
      user_id: 'uuid',
      user_name: 'text',
      method: typed<SignInMethod>('text'),
      identity_issuer_id: 'uuid?',
    },
  },
  `
  delete from sign_in_session s using directory_user u
  where s.session_id = $session_id and s.client_id is not null and u.account_id = s.account_id and u.user_id = s.user_id
  returning s.account_id, s.session_id, s.user_id, u.user_name, s.method, s.identity_issuer_id`,
);

/** Who is signed in in a browser. */
export const selectPerson = statement(
  {
    parameters: { account_id: 'uuid', session_id: 'uuid', now: 'timestamptz' },
    row: {
      account_id: 'uuid',
      user_id: 'uuid',
      session_id: 'uuid',
      user_name: 'text',
      account_name: 'text',
      roles: typed<string[]>('text[]'),
    },
  },
  `
  select s.account_id, s.user_id, s.session_id, u.user_name, a.name as account_name, array(
      select distinct r.role from account_role r where r.account_id = s.account_id and r.principal_id = s.user_id
        and (r.expires_at is null or r.expires_at > $now) order by 1)
    as roles
  from sign_in_session s
  join directory_user u on u.account_id = s.account_id and u.user_id = s.user_id and u.active
  join account a on a.account_id = s.account_id
  where s.account_id = $account_id and s.session_id = $session_id and s.client_id is null
    and s.expires_at > $now and s.idle_until > $now`,
);
