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
  'delete from environment_default_connection where account_id = $1 and project_id = $2 and environment_name = $3',
);
const insertDefaults = statement<{ auth_provider: string }>(`
  insert into environment_default_connection (account_id, project_id, environment_name, platform_connection_type, auth_provider, connection_name)
  select $1, $2, $3, c.platform_connection_type, c.auth_provider, c.name
  from unnest($4::text[], $5::text[]) as wanted (provider, name)
  join connection c on c.account_id = $1 and c.project_id = $2 and c.name = wanted.name
    and c.platform_connection_type = 'DWH' and c.auth_provider = wanted.provider
  returning auth_provider`);

/** Throws `unknown-connection` for one that the project does not have, or has with another provider. */
export async function insertDefaultConnections(
  tx: Transaction,
  { scope, projectId, environmentName }: At,
  wanted: readonly DefaultConnection[],
): Promise<void> {
  if (wanted.length === 0) return;
  const columns = [wanted.map((each) => each.provider), wanted.map((each) => each.connectionName)];
  const rows = await tx.query(insertDefaults, [scope.accountId, projectId, environmentName, ...columns]);
  const missing = wanted.find((each) => !rows.some((row) => row.auth_provider === each.provider));
  if (missing !== undefined) {
    const { field, connectionName: name, provider } = missing;
    throw problem('unknown-connection', { field, name, kind: `data warehouse connection to ${provider}` });
  }
}

/** The same in place of those that were there. */
export async function replaceDefaultConnections(
  tx: Transaction,
  at: At,
  wanted: readonly DefaultConnection[],
): Promise<void> {
  tx.send(deleteDefaults, [at.scope.accountId, at.projectId, at.environmentName]);
  await insertDefaultConnections(tx, at, wanted);
}

const deleteOverrides = statement(
  'delete from environment_connection_override where account_id = $1 and project_id = $2 and environment_name = $3',
);
const insertOverrides = statement<{ connection_name: string }>(`
  insert into environment_connection_override (account_id, project_id, environment_name, connection_name, properties)
  select $1, $2, $3, c.name, wanted."connectionProperties"
  from jsonb_to_recordset($4) as wanted ("connectionName" text, "connectionProperties" jsonb)
  join connection c on c.account_id = $1 and c.project_id = $2 and c.name = wanted."connectionName"
  returning connection_name`);

/** Throws `unknown-connection`. */
export async function insertConnectionOverrides(
  tx: Transaction,
  { scope, projectId, environmentName }: At,
  wanted: readonly EnvironmentConnectionOverride[],
): Promise<void> {
  if (wanted.length === 0) return;
  const parameters = [scope.accountId, projectId, environmentName, JSON.stringify(wanted)];
  const rows = await tx.query(insertOverrides, parameters);
  const index = wanted.findIndex((each) => !rows.some((row) => row.connection_name === each.connectionName));
  const missing = wanted[index];
  if (missing === undefined) return;
  const field = `body.connectionOverrides[${index}].connectionName`;
  throw problem('unknown-connection', { field, name: missing.connectionName, kind: 'connection' });
}

/** The same in place of those that were there. */
export async function replaceConnectionOverrides(
  tx: Transaction,
  at: At,
  wanted: readonly EnvironmentConnectionOverride[],
): Promise<void> {
  tx.send(deleteOverrides, [at.scope.accountId, at.projectId, at.environmentName]);
  await insertConnectionOverrides(tx, at, wanted);
}
