/** The table `connector_oauth`. */
import { createHash } from 'node:crypto';
import {
  type ConnectorGrantType,
  type ConnectorOauth,
  type ConnectorOauthState,
  connectorOauthLimit,
  type SecretReference,
} from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { requireReferences } from './connector-oauth-references.store.ts';

/** What a replacement changes. */
const changingRow = {
  grant_type: typed<ConnectorGrantType>('text'),
  authorization_url: 'text?',
  token_url: 'text',
  scopes: 'text[]',
  client_id: 'text?',
  client_secret_reference: 'text?',
  token_secret_reference: 'text?',
  agent_id: 'uuid?',
  additional_parameters: typed<Record<string, string> | null>('jsonb'),
  state: typed<ConnectorOauthState>('text'),
  authorized_at: 'timestamptz?',
  problem: 'text?',
} satisfies ColumnTypes;
const connectorOauthRow = {
  connector_oauth_id: 'uuid',
  name: 'text',
  ...changingRow,
  created_by: 'uuid',
  created_at: 'timestamptz',
} satisfies ColumnTypes;
export type ConnectorOauthRow = RowOf<typeof connectorOauthRow>;

const columns = Object.keys(connectorOauthRow).join(', ');
const ofProject = 'account_id = $account_id and project_id = $project_id';

export const connectorOauthsOfProject = guardedRead(
  { row: connectorOauthRow },
  `select ${columns} from connector_oauth where ${ofProject} order by connector_oauth_id`,
);

export const connectorOauthById = guardedRead(
  { parameters: { connector_oauth_id: 'uuid' }, row: connectorOauthRow },
  `select ${columns} from connector_oauth where ${ofProject} and connector_oauth_id = $connector_oauth_id`,
);

const oauthKey = { account_id: 'uuid', project_id: 'uuid', connector_oauth_id: 'uuid' } as const;

const lockOne = statement(
  { parameters: oauthKey, row: connectorOauthRow },
  `select ${columns} from connector_oauth where ${ofProject} and connector_oauth_id = $connector_oauth_id for update`,
);

/** Throws `connector-oauth-not-found`. */
export async function lockConnectorOauth(
  tx: Transaction,
  scope: Pick<Scope, 'accountId'>,
  projectId: string,
  id: string,
): Promise<ConnectorOauthRow> {
  const found = await tx.query(lockOne, {
    account_id: scope.accountId,
    project_id: projectId,
    connector_oauth_id: toUuid(id),
  });
  return requireRow(found, () => problem('connector-oauth-not-found', { id }));
}

const lockCount = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' } },
  "select pg_advisory_xact_lock(hashtextextended('headgate connector oauths ' || $account_id::uuid || $project_id::uuid, 0))",
);
const countAll = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' }, row: { count: 'bigint' } },
  `select count(*)::bigint as count from connector_oauth where ${ofProject}`,
);
const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      ...connectorOauthRow,
      additional_parameters: 'jsonb?',
    },
  },
  `
  insert into connector_oauth (account_id, project_id, ${columns})
  values ($account_id, $project_id, ${Object.keys(connectorOauthRow)
    .map((name) => `$${name}`)
    .join(', ')})`,
);

/** Throws `connector-oauth-taken`, `connector-oauth-invalid`, `unknown-agent` and `too-many-connector-oauths`. */
export async function insertConnectorOauth(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  row: ConnectorOauthRow,
): Promise<void> {
  const project = { account_id: scope.accountId, project_id: projectId };
  tx.onConstraint('connector_oauth_taken', () => problem('connector-oauth-taken', { name: row.name }));
  tx.send(lockCount, project);
  const [counted] = await tx.query(countAll, project);
  if ((counted?.count ?? 0) >= connectorOauthLimit)
    throw problem('too-many-connector-oauths', { limit: connectorOauthLimit });
  await requireReferences(tx, scope, projectId, row);
  const { additional_parameters: more } = row;
  tx.send(insertOne, {
    ...project,
    ...row,
    additional_parameters: more === null ? null : JSON.stringify(more),
  });
}

const updateOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      ...changingRow,
      connector_oauth_id: 'uuid',
      additional_parameters: 'jsonb?',
    },
  },
  `
  update connector_oauth set ${Object.keys(changingRow)
    .map((name) => `${name} = $${name}`)
    .join(', ')}
  where ${ofProject} and connector_oauth_id = $connector_oauth_id`,
);
// The code of an authorization that began before would go to the new address.
const voidAuthorization = statement(
  { parameters: oauthKey },
  `delete from connector_authorization where ${ofProject} and connector_oauth_id = $connector_oauth_id`,
);

/** The caller has locked the row. Throws `connector-oauth-invalid` and `unknown-agent`. */
export async function updateConnectorOauthRow(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  { row, keepsAuthorization }: { row: ConnectorOauthRow; keepsAuthorization: boolean },
): Promise<void> {
  await requireReferences(tx, scope, projectId, row);
  const { name: _name, created_by: _by, created_at: _at, ...changing } = row;
  const project = { account_id: scope.accountId, project_id: projectId };
  const { additional_parameters: more } = row;
  tx.send(updateOne, {
    ...project,
    ...changing,
    additional_parameters: more === null ? null : JSON.stringify(more),
  });
  if (!keepsAuthorization)
    tx.send(voidAuthorization, { ...project, connector_oauth_id: row.connector_oauth_id });
}

const selectUses = statement(
  {
    parameters: { account_id: 'uuid', name: 'text', limit: 'bigint' },
    row: { name: 'text', total: 'bigint' },
  },
  `
  select name, count(*) over () as total from connector_profile
  where account_id = $account_id and deleted_at is null and $name = any (oauth_names)
  order by name limit $limit`,
);
const shownProfiles = 10;
const deleteOne = statement(
  { parameters: oauthKey },
  `delete from connector_oauth where ${ofProject} and connector_oauth_id = $connector_oauth_id`,
);

/** The caller has locked the row. Throws `connector-oauth-in-use`. */
export async function deleteConnectorOauthRow(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  row: ConnectorOauthRow,
  confirmed: boolean,
): Promise<void> {
  const { name } = row;
  if (!confirmed) {
    const uses = await tx.query(selectUses, { account_id: scope.accountId, name, limit: shownProfiles });
    const [first] = uses;
    if (first !== undefined)
      throw problem('connector-oauth-in-use', {
        name,
        profiles: uses.map((each) => each.name),
        total: first.total,
      });
  }
  tx.send(deleteOne, {
    account_id: scope.accountId,
    project_id: projectId,
    connector_oauth_id: row.connector_oauth_id,
  });
}

const naming = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', name: 'text', limit: 'bigint' },
    row: { name: 'text' },
  },
  `
  select name from connector_oauth
  where ${ofProject} and $name in (client_secret_reference, token_secret_reference)
  order by name limit $limit`,
);

/** Returns descriptions for messages, at most `limit`. */
export async function listConnectorOauthsNaming(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  reference: Pick<SecretReference, 'name'>,
  limit: number,
): Promise<string[]> {
  const rows = await tx.query(naming, {
    account_id: scope.accountId,
    project_id: projectId,
    name: reference.name,
    limit,
  });
  return rows.map(({ name }) => `the OAuth configuration ${JSON.stringify(name)}`);
}

export function presentConnectorOauth(row: ConnectorOauthRow, projectId: string): ConnectorOauth {
  const shown: ConnectorOauth = {
    connectorOauthId: row.connector_oauth_id,
    projectId,
    name: row.name,
    grantType: row.grant_type,
    tokenUrl: row.token_url,
    scopes: row.scopes,
    state: row.state,
    createdBy: row.created_by,
    createdAt: row.created_at.toISOString(),
  };
  if (row.authorization_url !== null) shown.authorizationUrl = row.authorization_url;
  if (row.client_id !== null) shown.clientId = row.client_id;
  if (row.client_secret_reference !== null) shown.clientSecretReference = row.client_secret_reference;
  if (row.token_secret_reference !== null) shown.tokenSecretReference = row.token_secret_reference;
  if (row.agent_id !== null) shown.agentId = row.agent_id;
  if (row.additional_parameters !== null) shown.additionalParameters = row.additional_parameters;
  if (row.problem !== null) shown.problem = row.problem;
  if (row.authorized_at !== null) shown.authorizedAt = row.authorized_at.toISOString();
  return shown;
}

export function renderConnectorOauthEtag(row: ConnectorOauthRow): string {
  const state = createHash('sha256')
    .update(JSON.stringify(presentConnectorOauth(row, '')))
    .digest('hex');
  return makeEntityTag(row.connector_oauth_id, state.slice(0, 16));
}
