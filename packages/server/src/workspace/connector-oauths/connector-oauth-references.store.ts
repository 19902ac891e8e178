/** The secret references and the agent that an OAuth configuration names. */
import type { ConnectorGrantType } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { refuse, secretTypesOf } from './connector-oauth.ts';

const ofProject = 'account_id = $account_id and project_id = $project_id';

const selectKnown = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      client_secret: 'text?',
      tokens: 'text?',
      agent_id: 'uuid?',
      connector_oauth_id: 'uuid',
    },
    row: {
      client_secret_type: 'text?',
      tokens_type: 'text?',
      has_agent: 'boolean',
      /** Another configuration whose tokens are in the same secret. */
      tokens_of: 'text?',
    },
  },
  `
  select (select type from secret_reference where ${ofProject} and name = $client_secret) as client_secret_type,
    (select type from secret_reference where ${ofProject} and name = $tokens) as tokens_type,
    $agent_id::uuid is null or exists (
      select from agent where account_id = $account_id and agent_id = $agent_id) as has_agent,
    (select other.name
      from connector_oauth other
      join secret_reference its on its.account_id = other.account_id and its.project_id = other.project_id
        and its.name = other.token_secret_reference
      join secret_reference own on own.account_id = other.account_id and own.project_id = other.project_id
        and own.name = $tokens
      where other.account_id = $account_id and other.project_id = $project_id
        and other.connector_oauth_id <> $connector_oauth_id and other.grant_type = 'AUTHORIZATION_CODE'
        and (its.secret_name, its.secret_key, its.vault_name, its.agent_id)
          is not distinct from (own.secret_name, own.secret_key, own.vault_name, own.agent_id)
      order by other.name limit 1) as tokens_of`,
);

interface NamingRow {
  connector_oauth_id: string;
  grant_type: ConnectorGrantType;
  client_secret_reference: string | null;
  token_secret_reference: string | null;
  agent_id: string | null;
}

/** Throws `connector-oauth-invalid` and `unknown-agent`. */
export async function requireReferences(
  tx: Transaction,
  { accountId }: Pick<Scope, 'accountId'>,
  projectId: string,
  row: NamingRow,
): Promise<void> {
  const [known] = await tx.query(selectKnown, {
    account_id: accountId,
    project_id: projectId,
    client_secret: row.client_secret_reference,
    tokens: row.token_secret_reference,
    agent_id: row.agent_id,
    connector_oauth_id: row.connector_oauth_id,
  });
  if (known?.has_agent === false) throw problem('unknown-agent', { id: row.agent_id ?? '' });
  requireReference('clientSecretReference', row.client_secret_reference, known?.client_secret_type);
  requireReference('tokenSecretReference', row.token_secret_reference, known?.tokens_type);
  if (row.grant_type !== 'AUTHORIZATION_CODE' || known == null || known.tokens_of === null) return;
  throw refuse(
    'body.tokenSecretReference',
    `the OAuth configuration ${JSON.stringify(known.tokens_of)} stores its tokens in the same secret; name another secret`,
  );
}

/** Throws `connector-oauth-invalid`. */
function requireReference(
  member: keyof typeof secretTypesOf,
  name: string | null,
  type: string | null | undefined,
): void {
  if (name === null) return;
  const types: readonly string[] = secretTypesOf[member];
  if (type == null)
    throw refuse(
      `body.${member}`,
      `the project has no secret reference ${JSON.stringify(name)}; create it first`,
    );
  if (!types.includes(type))
    throw refuse(
      `body.${member}`,
      `the secret reference ${JSON.stringify(name)} has the type ${type}; use one of the type ${types.join(' or ')}`,
    );
}
