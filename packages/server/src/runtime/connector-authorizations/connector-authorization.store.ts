/** The table `connector_authorization`. */
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { insertIntoEvent } from '../../kernel/database/events.ts';
import {
  findRequiredRoles,
  findUserAccessId,
  type Scope,
  type Standing,
} from '../../kernel/security/permissions.ts';
import type { WorkMoment } from '../../kernel/work/work.ts';

const upsertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      connector_oauth_id: 'uuid',
      state_digest: 'bytea',
      sealed_grant: 'bytea',
      principal_id: 'uuid',
      user_credential_id: 'uuid?',
      expires_at: 'timestamptz',
    },
  },
  `
  insert into connector_authorization (account_id, project_id, connector_oauth_id, state_digest, sealed_grant,
    principal_id, user_credential_id, expires_at)
  values ($account_id, $project_id, $connector_oauth_id, $state_digest, $sealed_grant, $principal_id,
    $user_credential_id, $expires_at)
  on conflict on constraint connector_authorization_key do update set state_digest = excluded.state_digest,
    sealed_grant = excluded.sealed_grant, principal_id = excluded.principal_id,
    user_credential_id = excluded.user_credential_id, expires_at = excluded.expires_at, work_id = null`,
);

export interface NewAuthorization {
  projectId: string;
  connectorOauthId: string;
  stateDigest: Buffer;
  sealedGrant: Buffer;
  expiresAt: Date;
}

/** Replaces an earlier authorization of the configuration, whose address is then void. */
export function storeAuthorization(tx: Transaction, scope: Scope, input: NewAuthorization): void {
  tx.send(upsertOne, {
    account_id: scope.accountId,
    project_id: input.projectId,
    connector_oauth_id: input.connectorOauthId,
    state_digest: input.stateDigest,
    sealed_grant: input.sealedGrant,
    principal_id: scope.actorId,
    user_credential_id: findUserAccessId(scope),
    expires_at: input.expiresAt,
  });
}

const pendingRow = {
  account_id: 'uuid',
  project_id: 'uuid',
  connector_oauth_id: 'uuid',
  name: 'text',
  sealed_grant: 'bytea',
  expires_at: 'timestamptz',
  /** What the caller that began it may do now. */
  standing: typed<Standing>('text'),
  /** The agent that exchanges the code; null if none is set. */
  agent_id: 'uuid?',
} satisfies ColumnTypes;
export type PendingAuthorization = RowOf<typeof pendingRow>;

const roles = findRequiredRoles('project:configure');

/** One that no browser has come back for. */
const selectPending = statement(
  { parameters: { state_digest: 'bytea', now: 'timestamptz' }, row: pendingRow },
  `
  select a.account_id, a.project_id, a.connector_oauth_id, o.name, a.sealed_grant, a.expires_at, rights.standing,
    coalesce(o.agent_id, tokens.agent_id, client.agent_id, (select min(g.agent_id::text)::uuid from agent g
      where g.account_id = a.account_id having count(*) = 1)) as agent_id
  from connector_authorization a
  join connector_oauth o on o.account_id = a.account_id and o.project_id = a.project_id
    and o.connector_oauth_id = a.connector_oauth_id
  left join secret_reference tokens on tokens.account_id = o.account_id and tokens.project_id = o.project_id
    and tokens.name = o.token_secret_reference
  left join secret_reference client on client.account_id = o.account_id and client.project_id = o.project_id
    and client.name = o.client_secret_reference
  cross join lateral rights(a.account_id, a.principal_id, a.project_id, null::text, '${roles.account}'::text[],
    '${roles.project}'::text[], '${roles.environment}'::text[], $now::timestamptz, a.user_credential_id) rights
  where a.state_digest = $state_digest and a.work_id is null and a.expires_at > $now`,
);

export async function findPendingAuthorization(
  read: Read,
  stateDigest: Buffer,
  now: Date,
): Promise<PendingAuthorization | undefined> {
  const [row] = await read(selectPending, { state_digest: stateDigest, now });
  return row;
}

const beginExchange = statement(
  {
    parameters: {
      state_digest: 'bytea',
      sealed_grant: 'bytea',
      work_id: 'uuid',
      expires_at: 'timestamptz',
      now: 'timestamptz',
    },
    row: { taken: 'boolean' },
  },
  `
  update connector_authorization set work_id = $work_id, sealed_grant = $sealed_grant, expires_at = $expires_at
  where state_digest = $state_digest and work_id is null and expires_at > $now
  returning true as taken`,
);

/** Whether this was the first to come back with the state. */
export async function takeAuthorization(
  tx: Transaction,
  taken: { stateDigest: Buffer; sealedGrant: Buffer; workId: string; expiresAt: Date; now: Date },
): Promise<boolean> {
  const rows = await tx.query(beginExchange, {
    state_digest: taken.stateDigest,
    sealed_grant: taken.sealedGrant,
    work_id: taken.workId,
    expires_at: taken.expiresAt,
    now: taken.now,
  });
  return rows.length > 0;
}

/** Ends an authorization: its configuration is AUTHORIZED, or has a problem. */
const declareEnd = <const Type extends 'bytea' | 'uuid'>(condition: string, type: Type) =>
  statement(
    {
      parameters: {
        account_id: 'uuid',
        key: type,
        problem: 'text?',
        now: 'timestamptz',
        event_id: 'uuid',
        actor_id: 'uuid?',
        actor_kind: 'text',
        request_id: 'uuid?',
      },
    },
    `
    with ended as (
      delete from connector_authorization where account_id = $account_id and ${condition}
      returning account_id, project_id, connector_oauth_id
    ), changed as (
      update connector_oauth o set problem = $problem,
        state = case when $problem::text is null then 'AUTHORIZED' else o.state end,
        authorized_at = case when $problem::text is null then $now::timestamptz else o.authorized_at end
      from ended
      where o.account_id = ended.account_id and o.project_id = ended.project_id
        and o.connector_oauth_id = ended.connector_oauth_id
      returning o.project_id, o.connector_oauth_id, o.name, o.state
    )
    ${insertIntoEvent}
    select $account_id, $now, $event_id, 'connector-authorization-ended', $actor_id, $actor_kind, $request_id,
      project_id, null, 'connector-oauth', connector_oauth_id::text, name, null,
      jsonb_strip_nulls(jsonb_build_object('state', state, 'problem', $problem::text))
    from changed`,
  );

const endByWork = declareEnd('work_id = $key', 'uuid');
const endByState = declareEnd('state_digest = $key and work_id is null', 'bytea');

/** `key`: the digest of the state, or the work of the exchange. */
export function endAuthorization(
  { tx, source, now, newId }: Pick<WorkMoment, 'tx' | 'source' | 'now' | 'newId'>,
  key: { stateDigest: Buffer } | { workId: string },
  problem: string | null,
): void {
  const rest = {
    account_id: source.accountId,
    problem,
    now,
    event_id: newId(),
    actor_id: source.actorId,
    actor_kind: source.actorKind,
    request_id: source.requestId,
  };
  if ('workId' in key) tx.send(endByWork, { ...rest, key: key.workId });
  else tx.send(endByState, { ...rest, key: key.stateDigest });
}

const selectWaiting = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', connector_oauth_id: 'uuid', work_id: 'uuid' },
    row: { waits: 'boolean', problem: 'text?', is_authorized: 'boolean' },
  },
  `
  select exists (select from connector_authorization
      where account_id = $account_id and work_id = $work_id) as waits, problem, state = 'AUTHORIZED' as is_authorized
  from connector_oauth
  where account_id = $account_id and project_id = $project_id and connector_oauth_id = $connector_oauth_id`,
);

export async function readOutcome(
  read: Read,
  { account_id, project_id, connector_oauth_id }: PendingAuthorization,
  workId: string,
): Promise<{ waits: boolean; problem: string | null; is_authorized: boolean } | undefined> {
  const [row] = await read(selectWaiting, { account_id, project_id, connector_oauth_id, work_id: workId });
  return row;
}

export const authorizationBatch = 1_000;
const deleteExpired = statement(
  { parameters: { now: 'timestamptz' }, row: { removed: 'integer' }, alone: true },
  `
  with removed as (
    delete from connector_authorization where ctid = any (array(
      select ctid from connector_authorization where expires_at <= $now
      limit ${authorizationBatch} for update skip locked))
    returning 1
  )
  select count(*)::integer as removed from removed`,
);

/** Deletes one batch of expired authorizations; returns how many. */
export async function removeExpiredAuthorizations(read: Read, now: Date): Promise<number> {
  const [row] = await read(deleteExpired, { now });
  return row?.removed ?? 0;
}
