/** A request of a user in 50 groups, against the same request of a credential, in a large directory. */
import pg from 'pg';
import { compare, type Side } from './comparison.ts';
import { median, spread, verdictAtMost } from './finding.ts';
import { startLoadGenerator } from './load.ts';
import { requestText } from './request.ts';
import { type MeasuredServer, startServer, tokenFor } from './server-process.ts';
import { projectWithVariables } from './variables.ts';
import type { Work } from './work.ts';

const connections = 16;

export const userWithGroups: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(settings.profileFolder), (started) => started.stop());
  const load = ending.adopt(await startLoadGenerator(), (generator) => generator.stop());
  const { projectId } = await projectWithVariables(server, 100);
  await fillDirectory(server);
  const side = (name: string, token: string): Side => ({
    name,
    port: server.port,
    pid: server.pid,
    requests: [requestText('GET', `/dpc/v1/projects/${projectId}/variables`, { token })],
  });
  const sides = [
    side('a credential, Viewer', await tokenOfCredential(server, projectId)),
    side('a user, Viewer by one of 50 groups', await tokenOfUser(server, projectId)),
  ] as const;
  const { dataDirectory } = server;
  const ratios = await compare(load, sides, { ...settings, connections, dataDirectory });
  return [
    {
      work: 'GET page of 25 variables by a user with 50 groups, against a credential',
      measured: `${spread(ratios)} × the time`,
      limit: '≤ 1.15 ×',
      verdict: verdictAtMost(median(ratios), 1.15),
      rounds: ratios,
    },
  ];
};

async function tokenOfCredential(server: MeasuredServer, projectId: string): Promise<string> {
  const credential = { name: 'viewer', role: 'MEMBER', roles: [{ projectId, role: 'VIEWER' }] };
  const { clientId, clientSecret } = await server.call('POST', '/credentials', credential);
  return tokenFor(server.port, String(clientId), String(clientSecret));
}

/** One group gives the project, 24 an environment of it, 5 the account; 20 give nothing. */
async function tokenOfUser(server: MeasuredServer, projectId: string): Promise<string> {
  const { userId } = await server.call('POST', '/users', { userName: 'ada@example.com' });
  for (let index = 0; index < 50; index += 1) {
    const name = `env ${index}`;
    const isOfEnvironment = index > 0 && index < 25;
    if (isOfEnvironment) await server.call('POST', `/projects/${projectId}/environments`, { name });
    const ofEnvironment = { role: 'OPERATOR', projectId, environmentName: name };
    const ofOther = index < 30 ? { role: 'MEMBER' } : {};
    const scope = isOfEnvironment ? ofEnvironment : ofOther;
    const role = index === 0 ? { role: 'VIEWER', projectId } : scope;
    const group = await server.call('POST', '/groups', { displayName: `of ada ${index}`, ...role });
    await server.call('POST', `/groups/${String(group.groupId)}/members`, { userIds: [userId] });
  }
  const issued = await server.call('POST', `/users/${String(userId)}/credentials`, { name: 'bench' });
  return tokenFor(server.port, String(issued.clientId), String(issued.clientSecret));
}

/** 100,000 users in 1,000 groups, each of which gives a role in the account. */
async function fillDirectory({ connection }: MeasuredServer): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    await client.query(`
      insert into directory_user (account_id, user_id, user_name, user_name_key, active, attributes, version, created_at, updated_at)
      select account_id, md5('u' || n)::uuid, 'user ' || n, 'user ' || n, true, '{}', 1, now(), now()
      from account, generate_series(1, 100000) n`);
    await client.query(`
      insert into directory_group (account_id, group_id, display_name, display_name_key, role, attributes, version, created_at, updated_at)
      select account_id, md5('g' || n)::uuid, 'group ' || n, 'group ' || n, 'MEMBER', '{}', 1, now(), now()
      from account, generate_series(1, 1000) n`);
    // Without statistics, each check of a foreign key below would read the whole table.
    await client.query('analyze directory_user, directory_group');
    await client.query(`
      insert into directory_role (account_id, group_id, role)
      select account_id, md5('g' || n)::uuid, 'MEMBER' from account, generate_series(1, 1000) n`);
    await client.query(`
      insert into directory_member (account_id, group_id, user_id)
      select account_id, md5('g' || n % 1000 + 1)::uuid, md5('u' || n)::uuid from account, generate_series(1, 100000) n`);
    await client.query('analyze');
  } finally {
    await client.end();
  }
}
