/** Invitations by link and by mail. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Invitation, Page } from '@headgate/contract';
import type { Account } from '../../../testing/account.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { doDueWork } from '../../../testing/server-work.ts';
import { createBrowserClient, sameOrigin } from '../../../testing/sign-in.ts';
import { startSmtpReceiver } from '../../../testing/smtp-receiver.ts';
import { createMailWork } from '../../runtime/alerts/alert-mail.work.ts';

const receiver = await startSmtpReceiver({ disabledCommands: ['AUTH', 'STARTTLS'] });
after(() => receiver.close());
const server = await startTestServer({
  settings: {
    HEADGATE_SMTP_URL: `smtp://127.0.0.1:${receiver.port}`,
    HEADGATE_SMTP_FROM: 'Headgate <hello@headgate.example.com>',
  },
});
const sendAll = () => doDueWork(server.deps, createMailWork(server.deps));
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const open = (url: string) => server.transport({ method: 'GET', url, headers: {}, body: undefined });
const accept = (url: string, headers: Record<string, string> = sameOrigin) =>
  server.transport({ method: 'POST', url, headers: { ...form, ...headers }, body: '' });

interface Made {
  invitationId: string;
  url: string;
}

let count = 0;
async function invite(
  { admin }: Pick<Account, 'admin'>,
  more: object = {},
): Promise<Made & { path: string; userName: string }> {
  count += 1;
  const userName = `person-${count}@example.com`;
  const made = await admin.post<Made>('/invitations', { userName, ...more });
  assert.equal(made.status, 201, made.text);
  return { ...made.body, path: new URL(made.body.url).pathname, userName };
}

const list = async ({ admin }: Account) => (await admin.get<Page<Invitation>>('/invitations')).body.results;

test('a person who accepts becomes a user with the groups and roles of the invitation, once', async () => {
  const account = await server.account();
  const { projectId } = await account.project();
  const group = (await account.admin.post<{ groupId: string }>('/groups', { displayName: 'Readers' })).body;
  const roles = [
    { projectId, role: 'viewer' },
    { projectId, environmentName: 'dev', role: 'Operator' },
  ];
  const invited = await invite(account, { displayName: 'Ada', groupIds: [group.groupId], roles });
  assert.deepEqual(
    (await list(account)).map(({ userName, mail, groupIds }) => [userName, mail, groupIds]),
    [[invited.userName, 'NOT_SENT', [group.groupId]]],
  );
  for (let scan = 0; scan < 3; scan += 1) {
    const page = await open(invited.path);
    assert.equal(page.status, 200);
    assert.ok(page.text.includes(invited.userName));
    assert.equal(page.headers['set-cookie'], undefined);
  }
  assert.equal((await accept(invited.path, {})).status, 403, 'from another site');
  const answers = await Promise.all([1, 2, 3, 4].map(() => accept(invited.path)));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [303, 404, 404, 404]);
  const accepted = answers.find(({ status }) => status === 303);
  const cookie = String(accepted?.headers['set-cookie']).split(';', 1)[0] ?? '';
  const client = createBrowserClient(server.transport, cookie);
  const me = (await client.get<{ name: string; roles: { projectId: string; role: string }[] }>('/me')).body;
  assert.equal(me.name, invited.userName);
  assert.deepEqual(me.roles.map(({ role }) => role).toSorted(), ['OPERATOR', 'VIEWER']);
  const { text } = await account.admin.get(`/groups/${group.groupId}/members`);
  assert.ok(text.includes(invited.userName));
  assert.deepEqual(await list(account), []);
  const { text: events } = await account.admin.get(
    '/events?after=oldest&limit=100&eventName=invitation-accepted',
  );
  assert.ok(events.includes(invited.invitationId) && !events.includes(invited.path.slice(-43)));
});

test('an invitation ends with its time, when it is withdrawn, and with the rights of the person who made it', async () => {
  const account = await server.account();
  const late = await invite(account, { validMinutes: 5 });
  server.clock.advance(301);
  assert.equal((await accept(late.path)).status, 404);
  assert.equal((await open(late.path)).status, 404);
  assert.deepEqual(await list(account), []);
  requireProblem(
    await account.admin.delete(`/invitations/${late.invitationId}`),
    404,
    'invitation-not-found',
  );
  // The name is free again.
  const again = await account.admin.post('/invitations', { userName: late.userName });
  assert.equal(again.status, 201, again.text);
  const withdrawn = await invite(account);
  assert.equal((await account.admin.delete(`/invitations/${withdrawn.invitationId}`)).status, 204);
  assert.equal((await accept(withdrawn.path)).status, 404);
  const inviter = await account.user('SUPER_ADMIN');
  const orphan = await invite({ admin: inviter });
  // Somebody must have the role.
  await account.user('SUPER_ADMIN');
  assert.equal((await account.admin.patch(`/users/${inviter.actorId}`, { active: false })).status, 200);
  const refused = await accept(orphan.path);
  assert.equal(refused.status, 409);
  assert.match(refused.text, /may no longer manage/);
  assert.ok(!(await account.admin.get('/users?size=100')).text.includes(orphan.userName));
});

test('users of a directory are not invited', async () => {
  const account = await server.account();
  const before = await invite(account);
  await account.admin.post('/credentials', { name: 'directory', role: 'DIRECTORY' });
  requireProblem(await account.admin.post('/invitations', { userName: 'x' }), 409, 'users-from-directory');
  const refused = await accept(before.path);
  assert.equal(refused.status, 409);
  assert.match(refused.text, /directory now/);
});

test('wrong invitations are refused, and change nothing', async () => {
  const account = await server.account();
  const other = await server.account();
  const foreign = await other.project();
  const ada = await account.user('MEMBER');
  const invited = await invite(account);
  const post = (body: object) => account.admin.post('/invitations', { userName: 'new@example.com', ...body });
  const unknown = '00000000-0000-4000-8000-000000000000';
  requireProblem(await post({ userName: ada.userName.toUpperCase() }), 409, 'user-name-taken');
  requireProblem(await post({ userName: invited.userName.toUpperCase() }), 409, 'invitation-taken');
  requireProblem(await post({ groupIds: [unknown, 'x'] }), 422, 'unknown-group');
  requireProblem(
    await post({ roles: [{ projectId: foreign.projectId, role: 'OWNER' }] }),
    422,
    'unknown-project',
  );
  requireProblem(
    await post({ roles: [{ projectId: foreign.projectId, role: 'SUPER_ADMIN' }] }),
    422,
    'unknown-role',
  );
  const { projectId } = await account.project();
  const away = [{ projectId, environmentName: 'moon', role: 'OPERATOR' }];
  requireProblem(await post({ roles: away }), 422, 'unknown-environment');
  assert.deepEqual(
    (await list(account)).map(({ userName }) => userName),
    [invited.userName],
  );
  await account.admin.post('/users', { userName: invited.userName });
  const late = await accept(invited.path);
  assert.equal(late.status, 409);
  assert.match(late.text, /by now/);
  // What is deleted meanwhile is left out.
  const roles = [{ projectId, role: 'VIEWER' }];
  const named = await invite(account, { roles });
  await account.admin.delete(`/projects/${projectId}`);
  assert.deepEqual(
    (await list(account)).find(({ invitationId }) => invitationId === named.invitationId)?.roles,
    [],
  );
  assert.equal((await accept(named.path)).status, 303);
});

test('a custom role of an open invitation is not deleted, and is given to who accepts', async () => {
  const account = await server.account();
  const { projectId } = await account.project();
  const role = { name: 'RELEASER', level: 'PROJECT', permissions: ['project:configure'] };
  const made = await account.admin.post('/custom-roles', role);
  assert.equal(made.status, 201, made.text);
  const invited = await invite(account, { roles: [{ projectId, role: 'RELEASER' }] });
  requireProblem(await account.admin.delete('/custom-roles/RELEASER'), 409, 'custom-role-in-use');
  assert.equal((await accept(invited.path)).status, 303);
  const { text } = await account.admin.get(`/projects/${projectId}/access`);
  assert.match(text, /RELEASER/);
});

test('the link goes out by mail, and the owner of the address can refuse mails', async () => {
  const account = await server.account();
  const email = `ada-${count}@people.example.org`;
  const invited = await invite(account, { email });
  assert.equal((await list(account))[0]?.mail, 'PENDING');
  await sendAll();
  assert.equal((await list(account))[0]?.mail, 'SENT');
  const [mail] = receiver.received.splice(0);
  const source = mail?.source.replaceAll('=\r\n', '').replaceAll('=3D', '=') ?? '';
  assert.deepEqual(mail?.recipients, [email]);
  assert.ok(source.includes(invited.url), source);
  const refusal = /List-Unsubscribe:\s+<(\S+)>/.exec(source)?.[1] ?? assert.fail(source);
  const refuse = await server.transport({
    method: 'POST',
    url: new URL(refusal).pathname,
    headers: form,
    body: 'List-Unsubscribe=One-Click',
  });
  assert.ok(refuse.status < 300, refuse.text);
  const refused = await account.admin.post('/invitations', { userName: 'other@example.com', email });
  requireProblem(refused, 409, 'invitation-mail-refused');
  // A withdrawn invitation is not sent.
  const withdrawn = await invite(account, { email: 'bob@people.example.org' });
  await account.admin.delete(`/invitations/${withdrawn.invitationId}`);
  await sendAll();
  assert.equal(receiver.received.length, 0);
});

test('an address gets few mails that it did not ask for, whatever accounts send them', async () => {
  const email = 'carol@people.example.org';
  for (let sent = 0; sent < 10; sent += 1) await invite(await server.account(), { email });
  const account = await server.account();
  const refused = await account.admin.post('/invitations', { userName: 'carol', email });
  requireProblem(refused, 409, 'invitation-mail-refused');
  assert.match(refused.text, /Too many mails/);
});

test('an invitation to Super Admins is void once the inviter is one only for a time', async () => {
  const account = await server.account();
  await account.user('SUPER_ADMIN');
  const inviter = await account.user('SUPER_ADMIN');
  const [groupId = ''] = inviter.groupIds;
  const invited = await invite({ admin: inviter }, { groupIds: [groupId] });
  const expiresAt = new Date(server.clock.now().getTime() + 3_600_000).toISOString();
  await account.admin.post(`/groups/${groupId}/members`, { userIds: [inviter.actorId], expiresAt });
  const answer = await accept(invited.path);
  assert.equal(answer.status, 409, answer.text);
});
