/** The tables `environment_default_connection` and `environment_connection_override`. */
import type { EnvironmentConnectionOverride } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import type { DefaultConnection } from './environment-connection.ts';

interface At {
  scope: Scope;
  projectId: string;
  environmentName: string;
}

const deleteDefaults = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', environment_name: 'text' } },
  'delete from environment_default_connection where account_id = $account_id and project_id = $project_id and environment_name = $environment_name',
);
const insertDefaults = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      environment_name: 'text',
      auth_providers: 'text[]',
      connection_names: 'text[]',
    },
    row: { auth_provider: 'text' },
  },
  `
  insert into environment_default_connection (account_id, project_id, environment_name, platform_connection_type, auth_provider, connection_name)
  select $account_id, $project_id, $environment_name, c.platform_connection_type, c.auth_provider, c.name
  from unnest($auth_providers::text[], $connection_names::text[]) as wanted (provider, name)
  join connection c on c.account_id = $account_id and c.project_id = $project_id and c.name = wanted.name
    and c.platform_connection_type = 'DWH' and c.auth_provider = wanted.provider
  returning auth_provider`,
);

/** Throws `unknown-connection` if the project has no such connection with this provider. */
export async function insertDefaultConnections(
  tx: Transaction,
  { scope, projectId, environmentName }: At,
  expected: readonly DefaultConnection[],
): Promise<void> {
  if (expected.length === 0) return;
  const rows = await tx.query(insertDefaults, {
    account_id: scope.accountId,
    project_id: projectId,
    environment_name: environmentName,
    auth_providers: expected.map((each) => each.provider),
    connection_names: expected.map((each) => each.connectionName),
  });
  const missing = expected.find((each) => !rows.some((row) => row.auth_provider === each.provider));
  if (missing !== undefined) {
    const { field, connectionName: name, provider } = missing;
    throw problem('unknown-connection', { field, name, kind: `data warehouse connection to ${provider}` });
  }
}

/** Replaces the existing ones; throws the same. */
export async function replaceDefaultConnections(
  tx: Transaction,
  at: At,
  expected: readonly DefaultConnection[],
): Promise<void> {
  tx.send(deleteDefaults, {
    account_id: at.scope.accountId,
    project_id: at.projectId,
    environment_name: at.environmentName,
  });
  await insertDefaultConnections(tx, at, expected);
}

const deleteOverrides = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', environment_name: 'text' } },
  'delete from environment_connection_override where account_id = $account_id and project_id = $project_id and environment_name = $environment_name',
);
const insertOverrides = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', environment_name: 'text', overrides: 'jsonb' },
    row: { connection_name: 'text' },
  },
  `
  insert into environment_connection_override (account_id, project_id, environment_name, connection_name, properties)
  select $account_id, $project_id, $environment_name, c.name, wanted."connectionProperties"
  from jsonb_to_recordset($overrides) as wanted ("connectionName" text, "connectionProperties" jsonb)
  join connection c on c.account_id = $account_id and c.project_id = $project_id and c.name = wanted."connectionName"
  returning connection_name`,
);

/** Throws `unknown-connection`. */
export async function insertConnectionOverrides(
  tx: Transaction,
  { scope, projectId, environmentName }: At,
  expected: readonly EnvironmentConnectionOverride[],
): Promise<void> {
  if (expected.length === 0) return;
  const rows = await tx.query(insertOverrides, {
    account_id: scope.accountId,
    project_id: projectId,
    environment_name: environmentName,
    overrides: JSON.stringify(expected),
  });
  const index = expected.findIndex(
    (each) => !rows.some((row) => row.connection_name === each.connectionName),
  );
  const missing = expected[index];
  if (missing === undefined) return;
  const field = `body.connectionOverrides[${index}].connectionName`;
  throw problem('unknown-connection', { field, name: missing.connectionName, kind: 'connection' });
}

/** Replaces the existing ones; throws the same. */
export async function replaceConnectionOverrides(
  tx: Transaction,
  at: At,
  expected: readonly EnvironmentConnectionOverride[],
): Promise<void> {
  tx.send(deleteOverrides, {
    account_id: at.scope.accountId,
    project_id: at.projectId,
    environment_name: at.environmentName,
  });
  await insertConnectionOverrides(tx, at, expected);
}
