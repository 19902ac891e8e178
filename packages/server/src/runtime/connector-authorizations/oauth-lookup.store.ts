/** OAuth configurations, for instances that hold work of their project. */
import type {
  ConnectorGrantType,
  ConnectorOauthState,
  SecretProvider,
  SecretReference,
} from '@headgate/contract';
import { type Read, type RowOf, statement, typed } from '../../kernel/database/database.ts';
import { insertIntoEvent } from '../../kernel/database/events.ts';
import type { WorkMoment } from '../../kernel/work/work.ts';

export interface NamedSecret {
  name: string;
  secretName: string;
  secretKey: string | null;
  vaultName: string | null;
  vaultType: NonNullable<SecretReference['vaultType']> | null;
  provider: SecretProvider | null;
  agent_id: string | null;
  agent_name: string | null;
  is_granted: boolean;
}

interface FoundOauth {
  connectorOauthId: string;
  projectId: string;
  grantType: ConnectorGrantType;
  tokenUrl: string;
  scopes: string[];
  additionalParameters: Record<string, string> | null;
  state: ConnectorOauthState;
  authorizedAt: string | null;
  problem: string | null;
}

const heldWork = {
  account_id: 'uuid',
  agent_id: 'uuid',
  work_id: 'uuid',
  epoch: 'integer',
  instance_id: 'uuid',
} as const;
export interface HeldWork {
  account_id: string;
  agent_id: string;
  work_id: string;
  epoch: number;
  instance_id: string;
}

const isHeld = `w.account_id = $account_id and w.agent_id = $agent_id and w.work_id = $work_id and w.epoch = $epoch
    and w.instance_id = $instance_id and w.state in ('held', 'silent')`;

const referenceOf = (column: string) => `(
    select json_build_object('name', r.name, 'secretName', r.secret_name, 'secretKey', r.secret_key, 'vaultName', r.vault_name,
      'vaultType', r.vault_type, 'provider', r.provider, 'agent_id', r.agent_id, 'agent_name', a.name,
      'is_granted', may_use_vault_name(w.account_id, w.project_id, w.agent_id, r.secret_name))
    from secret_reference r
    left join agent a on a.account_id = r.account_id and a.agent_id = r.agent_id
    where r.account_id = o.account_id and r.project_id = o.project_id and r.name = o.${column})`;

const lookedUpRow = {
  oauth: typed<FoundOauth | null>('json'),
  client_secret: typed<NamedSecret | null>('json'),
  tokens: typed<NamedSecret | null>('json'),
  /** Only of the work that exchanges its code. */
  sealed_grant: 'bytea?',
} as const;
export type LookedUpOauth = RowOf<typeof lookedUpRow>;

/** One row if this instance holds the work with this epoch. */
const selectOne = statement(
  { parameters: { ...heldWork, name: 'text' }, row: lookedUpRow },
  `
  select case when o.name is not null then json_build_object('connectorOauthId', o.connector_oauth_id,
      'projectId', o.project_id, 'authorizedAt', o.authorized_at, 'problem', o.problem, 'grantType', o.grant_type, 'tokenUrl', o.token_url, 'scopes', o.scopes,
      'additionalParameters', o.additional_parameters, 'state', o.state) end as oauth,
    ${referenceOf('client_secret_reference')} as client_secret, ${referenceOf('token_secret_reference')} as tokens,
    (select g.sealed_grant from connector_authorization g
      where g.account_id = w.account_id and g.work_id = w.work_id and g.project_id = o.project_id
        and g.connector_oauth_id = o.connector_oauth_id) as sealed_grant
  from work w
  left join connector_oauth o on o.account_id = w.account_id and o.project_id = w.project_id and o.name = $name
  where ${isHeld}`,
);

export async function lookUpOauth(
  read: Read,
  held: HeldWork,
  name: string,
): Promise<LookedUpOauth | undefined> {
  const [row] = await read(selectOne, { ...held, name });
  return row;
}

/** Writes nothing, and no event, if nothing changes. */
const updateProblem = statement(
  {
    parameters: {
      ...heldWork,
      connector_oauth_id: 'uuid',
      problem: 'text?',
      now: 'timestamptz',
      event_id: 'uuid',
      actor_id: 'uuid?',
      actor_kind: 'text',
      request_id: 'uuid?',
    },
    row: { is_held: 'boolean', is_found: 'boolean' },
  },
  `
  with held as (
    select w.project_id from work w where ${isHeld}
  ), found as (
    select o.project_id, o.name, o.problem from connector_oauth o join held on held.project_id = o.project_id
    where o.account_id = $account_id and o.connector_oauth_id = $connector_oauth_id for update of o
  ), changed as (
    update connector_oauth o set problem = $problem from found
    where o.account_id = $account_id and o.project_id = found.project_id
      and o.connector_oauth_id = $connector_oauth_id and o.problem is distinct from $problem::text
    returning o.project_id, o.name, found.problem as before
  ), noted as (
    ${insertIntoEvent}
    select $account_id, $now, $event_id, 'connector-oauth-problem-changed', $actor_id, $actor_kind, $request_id,
      project_id, null, 'connector-oauth', $connector_oauth_id::uuid::text, name,
      jsonb_strip_nulls(jsonb_build_object('problem', before)),
      jsonb_strip_nulls(jsonb_build_object('problem', $problem::text))
    from changed
  )
  select exists (select from held) as is_held, exists (select from found) as is_found`,
);

export async function reportOauthProblem(
  { tx, source, now, newId }: Pick<WorkMoment, 'tx' | 'source' | 'now' | 'newId'>,
  held: HeldWork,
  id: string,
  problem: string | null,
): Promise<'done' | 'not-held' | 'not-found'> {
  const [row] = await tx.query(updateProblem, {
    ...held,
    connector_oauth_id: id,
    problem,
    now,
    event_id: newId(),
    actor_id: source.actorId,
    actor_kind: source.actorKind,
    request_id: source.requestId,
  });
  if (row?.is_held !== true) return 'not-held';
  return row.is_found ? 'done' : 'not-found';
}
