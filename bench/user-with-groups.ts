/** A request of a user in 50 groups, by a token and by a cookie, against others, in a large directory. */
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
  const side = (name: string, by: { token: string } | { headers: Record<string, string> }): Side => ({
    name,
    port: server.port,
    pid: server.pid,
    requests: [requestText('GET', `/dpc/v1/projects/${projectId}/variables`, by)],
  });
  const userId = await createUserInGroups(server, projectId);
  const byToken = side('a user, Viewer by one of 50 groups', { token: await tokenOfUser(server, userId) });
  const byCredential = side('a credential, Viewer', { token: await tokenOfCredential(server, projectId) });
  const byCookie = side('the user in a session', { headers: { cookie: await signIn(server, userId) } });
  const { dataDirectory } = server;
  const load16 = { ...settings, connections, dataDirectory };
  const ratios = await compare(load, [byCredential, byToken], load16);
  const ofCookie = await compare(load, [byToken, byCookie], load16);
  return [
    {
      work: 'the same request in a session, by its cookie, against by a token',
      measured: `${spread(ofCookie)} × the time`,
      limit: '≤ 1.1 ×',
      verdict: verdictAtMost(median(ofCookie), 1.1),
      rounds: ofCookie,
    },
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
async function createUserInGroups(server: MeasuredServer, projectId: string): Promise<string> {
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
  return String(userId);
}

/** The Cookie header of a session. */
async function signIn(server: MeasuredServer, userId: string): Promise<string> {
  const { url } = await server.call('POST', `/users/${userId}/sign-in-links`, {});
  const link = `http://127.0.0.1:${server.port}${new URL(String(url)).pathname}`;
  const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await fetch(link, { method: 'POST', headers, body: '', redirect: 'manual' });
  const [cookie] = answer.headers.getSetCookie();
  if (cookie === undefined) throw new Error(`The link answered ${answer.status}: ${await answer.text()}`);
  return cookie.slice(0, cookie.indexOf(';'));
}

async function tokenOfUser(server: MeasuredServer, userId: string): Promise<string> {
  const issued = await server.call('POST', `/users/${userId}/credentials`, { name: 'bench' });
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
