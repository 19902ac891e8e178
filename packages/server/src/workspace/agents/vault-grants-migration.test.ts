/** What existed before vault names were bound to projects keeps its names, and an event lists them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after as afterAll, test } from 'node:test';
import { createTestDatabase } from '../../../testing/database.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());
const migrations = join(import.meta.dirname, '../../../migrations');
const ofGrants = '0070_vault_grants.sql';

test('the names of references, connections, overrides and definitions are granted to their projects', async () => {
  await database.query('drop schema public cascade');
  await database.query('create schema public');
  const names = (await readdir(migrations)).filter((name) => name.endsWith('.sql')).sort();
  const apply = async (name: string) => database.query(await readFile(join(migrations, name), 'utf8'));
  for (const name of names.filter((each) => each < ofGrants)) await apply(name);
  const [account, a, b, agent] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  await database.query("insert into account values ($1, 'an account', now())", [account]);
  for (const [project, name] of [
    [a, 'A'],
    [b, 'B'],
  ])
    await database.query(
      `insert into project (account_id, project_id, name, warehouse, agent_deployment_type, version, created_at)
       values ($1, $2, $3, 'DUCKDB', 'HYBRID', 1, now())`,
      [account, project, name],
    );
  await database.query(
    `insert into agent (account_id, agent_id, name, description, agent_type, cloud_provider, deployment, status, client_id, secret_digest,
       restricted_access, created_at)
     values ($1, $2, 'a', '', 'HYBRID', 'AWS', 'FARGATE', 'unknown', 'a', '', true, now())`,
    [account, agent],
  );
  const reference = (project: string, name: string, secretName: string, agentId: string | null) =>
    database.query(
      `insert into secret_reference (account_id, project_id, name, type, secret_name, agent_id, created_at)
       values ($1, $2, $3, 'PASSWORD', $4, $5, now())`,
      [account, project, name, secretName, agentId],
    );
  await reference(a, 'r', 'of-reference', null);
  await reference(a, 'r2', 'of-agent', agent);
  await reference(b, 'r', `${b}/own`, null);
  const connection = (name: string, type: string, properties: object | null) =>
    database.query(
      `insert into connection (account_id, project_id, connection_id, name, platform_connection_type, auth_provider, auth_type, details,
         version, created_by, created_at)
       values ($1, $2, $3, $4, $5, 'NONE', 'GENERIC_SECRET', $6, 1, $7, now())`,
      [
        ...[account, a, randomUUID(), name, type],
        ...[properties && JSON.stringify({ connectionProperties: properties }), randomUUID()],
      ],
    );
  await connection('c', 'COMPONENT_BASIC', { secretName: 'of-connection' });
  await connection('by reference', 'COMPONENT_BASIC', { secretName: 'r' });
  await connection('without', 'COMPONENT_BASIC', null);
  await connection('w', 'DWH', { host: { value: 'h' }, password: { secretName: 'of-warehouse' } });
  await database.query(
    `insert into streaming_pipeline (account_id, project_id, streaming_pipeline_id, name, source, target, status, version, created_at)
     values ($1, $2, $3, 's', $4, '{}', 'stopped', 1, now())`,
    [
      ...[account, a, randomUUID()],
      JSON.stringify({ connection: { password: { secretName: 'of-definition' } } }),
    ],
  );
  await apply(ofGrants);

  const granted = await database.query<{ project_id: string; agent_id: string | null; name: string }>(
    'select project_id, agent_id, name from vault_grant order by name',
  );
  const all = ['of-agent', 'of-connection', 'of-definition', 'of-reference', 'of-warehouse'];
  assert.deepEqual(
    granted,
    all.map((name) => ({ project_id: a, agent_id: name === 'of-agent' ? agent : null, name })),
  );
  const events = await database.query('select project_id, actor_kind, state_after from event');
  assert.deepEqual(events, [
    { project_id: a, actor_kind: 'system', state_after: { names: all, existing: true } },
  ]);
});
