/**
 * The cost of the permission check of a read: the same statement with rights(), and with a rights() that
 * allows all.
 */
import pg from 'pg';
import { compare, type Side } from './comparison.ts';
import { median, spread, verdictAtMost } from './finding.ts';
import { startLoadGenerator } from './load.ts';
import { requestText } from './request.ts';
import { type MeasuredServer, startServer, tokenFor } from './server-process.ts';
import { projectWithVariables } from './variables.ts';
import type { Work } from './work.ts';

const connections = 16;
const withoutRights = `
  create or replace function rights(
    for_account uuid, for_principal uuid, in_project uuid, in_environment text,
    account_roles text[], project_roles text[], environment_roles text[], at timestamptz, by_credential uuid default null,
    other_principals uuid[] default null,
    out standing text
  )
  language sql stable as $$ select 'permitted'::text $$`;

export const permissionCheck: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const load = ending.adopt(await startLoadGenerator(), (generator) => generator.stop());
  const { projectId } = await projectWithVariables(server, 100);
  const token = await tokenOfViewer(server, projectId);
  const client = new pg.Client(server.connection);
  await client.connect();
  ending.defer(() => client.end());
  const { rows } = await client.query<{ text: string }>(
    "select pg_get_functiondef(oid) as text from pg_proc where proname = 'rights'",
  );
  const withRights = rows[0]?.text ?? '';
  const side = (name: string, definition: string): Side => ({
    name,
    port: server.port,
    pid: server.pid,
    requests: [requestText('GET', `/dpc/v1/projects/${projectId}/variables`, { token })],
    before: async () => void (await client.query(definition)),
  });
  const sides = [
    side('the page as a Viewer', withRights),
    side('the page without the check', withoutRights),
  ] as const;
  const ratios = await compare(load, sides, {
    ...settings,
    connections,
    dataDirectory: server.dataDirectory,
  });
  const added = ratios.map((ratio) => (1 / ratio - 1) * 100);
  return [
    {
      work: 'what the permission check adds to GET page of 25 variables',
      measured: `${spread(added, 1)} % of the time`,
      limit: '≤ 15 %',
      verdict: verdictAtMost(median(added), 15),
      rounds: added,
    },
  ];
};

/** A caller with a role in the project only, which is the longest path through the check. */
async function tokenOfViewer(server: MeasuredServer, projectId: string): Promise<string> {
  const credential = { name: 'viewer', role: 'MEMBER', roles: [{ projectId, role: 'VIEWER' }] };
  const { clientId, clientSecret } = await server.call('POST', '/credentials', credential);
  return tokenFor(server.port, String(clientId), String(clientSecret));
}
