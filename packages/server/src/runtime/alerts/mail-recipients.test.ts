/** Who gets mails of alerts, and how many: confirmation, refusal, the limit of a day, and turns by account. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Alert, AlertRule, EventLogPart, Page } from '@headgate/contract';
import { startTestServer } from '../../../testing/server.ts';
import { doDueWork } from '../../../testing/server-work.ts';
import { startSmtpReceiver } from '../../../testing/smtp-receiver.ts';
import { createStartableWithAgent } from '../../../testing/startable-project.ts';
import { createServerWorker } from '../../kernel/work/server-worker.ts';
import { createMailWork } from './alert-mail.work.ts';
import { raiseDueAlerts } from './alert-turns.ts';

const receiver = await startSmtpReceiver({ disabledCommands: ['AUTH', 'STARTTLS'] });
after(() => receiver.close());
const mailsOfDay = 12;
const server = await startTestServer({
  settings: {
    HEADGATE_SMTP_URL: `smtp://127.0.0.1:${receiver.port}`,
    HEADGATE_SMTP_FROM: 'Headgate <alerts@headgate.example.com>',
    HEADGATE_MAIL_DOMAINS: 'Operator.example.com',
    HEADGATE_MAIL_PER_DAY: String(mailsOfDay),
  },
});
const { clock, deps } = server;
const work = createMailWork(deps);
const base = await server.listen();

async function sendAll() {
  await raiseDueAlerts(deps);
  await doDueWork(deps, work);
}

const numbers = Array.from({ length: 1_000 }, (_, index) => index).values();
const takeNumber = () => numbers.next().value ?? assert.fail();
const makeAddress = () => `person-${takeNumber()}@elsewhere.example.org`;

async function createScene() {
  const scene = await createStartableWithAgent(server);
  const { admin, made } = scene;
  const rules = `/projects/${made.projectId}/alert-rules`;
  const addRule = async (emails: string[]) =>
    (
      await admin.post<AlertRule>(rules, {
        name: `rule ${String(takeNumber()).padStart(4, '0')}`,
        condition: { type: 'FAILED' },
        emails,
      })
    ).body;
  const readRule = async ({ alertRuleId }: AlertRule) =>
    (await admin.get<AlertRule>(`${rules}/${alertRuleId}`)).body;
  const readMails = async ({ alertRuleId }: AlertRule) =>
    (await admin.get<Page<Alert>>(`${rules}/${alertRuleId}/alerts`)).body.results[0]?.mails;
  const listEvents = async (name: string) =>
    (await admin.get<EventLogPart>(`/events?after=oldest&eventName=${name}`)).body.results;
  receiver.received.length = 0;
  return { ...scene, rules, addRule, readRule, readMails, listEvents };
}

/** The decoded mails to an address. */
const listMails = (address: string) =>
  receiver.received
    .filter(({ recipients }) => recipients.includes(address))
    .map(({ source }) => source.replaceAll('=\r\n', '').replaceAll('=3D', '='));
const linkForms = { c: /\/mail\/c[\w-]+/, r: /\/mail\/r[\w-]+/ };
const findLink = (kind: 'c' | 'r', mail = '') => linkForms[kind].exec(mail)?.[0] ?? '';
const answer = (path: string, value: string) =>
  fetch(base + path, { method: 'POST', body: new URLSearchParams({ answer: value }) });

test('an address gets alerts only after its owner confirmed it by a button of the page, not by opening it', async () => {
  const { addRule, fail, readRule, readMails, listEvents } = await createScene();
  const address = makeAddress();
  const rule = await addRule([address, 'on-call@operator.example.com']);
  assert.deepEqual(rule.unconfirmedRecipients, [address]);
  await fail();
  await sendAll();
  assert.equal(listMails('on-call@operator.example.com').length, 1, 'the domain is the operator’s');
  const [request, ...others] = listMails(address);
  assert.deepEqual(others, []);
  assert.match(request ?? '', /^Subject: \[Headgate\] Confirm/m);
  const mails = await readMails(rule);
  assert.deepEqual(
    mails?.map(({ recipient, state }) => [recipient, state]),
    [
      ['on-call@operator.example.com', 'sent'],
      [address, 'withheld'],
    ],
  );
  assert.match(mails?.[1]?.lastError ?? '', /has not confirmed/);

  const link = findLink('c', request);
  assert.equal((await answer(findLink('r', request), 'confirm')).status, 400, 'it does not expire');
  const page = await fetch(base + link);
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-security-policy') ?? '', /form-action 'self'/);
  assert.deepEqual((await readRule(rule)).unconfirmedRecipients, [address], 'a scanner opens links');
  assert.equal((await answer(link, 'nonsense')).status, 400);
  assert.equal((await answer(link, 'confirm')).status, 200);
  assert.equal((await readRule(rule)).unconfirmedRecipients, undefined);
  assert.equal((await listEvents('mail-recipient-confirmed'))[0]?.eventSubjectName, address);
  receiver.received.length = 0;
  await fail();
  await sendAll();
  assert.match(listMails(address)[0] ?? '', /^Subject: \[Headgate\] main failed in dev/m);
});

test('an owner refuses mails by the link in each of them, or by one click of the mail program', async () => {
  const { addRule, fail, readRule, listEvents } = await createScene();
  const address = 'One@operator.example.com';
  const rule = await addRule([address]);
  await fail();
  await sendAll();
  const [mail = ''] = listMails(address);
  const link = findLink('r', mail);
  assert.match(mail, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
  assert.match(mail.replaceAll('\r\n ', ' '), /^List-Unsubscribe: <http.+\/mail\/r[\w-]+>\r$/m);
  await fail('while a mail waits');
  await raiseDueAlerts(deps);
  const oneClick = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
  assert.equal((await fetch(base + link, { method: 'POST', body: oneClick })).status, 200);
  await sendAll();
  await fail();
  await sendAll();
  assert.equal(listMails(address).length, 1);
  assert.deepEqual((await readRule(rule)).unconfirmedRecipients, [address]);
  assert.equal((await listEvents('mail-recipient-refused')).length, 1);
  await answer(link, 'confirm');
  await fail();
  await sendAll();
  assert.equal(listMails(address).length, 2, 'the owner may change its mind');
});

test('an owner refuses all accounts, whose rules then ask no more', async () => {
  const [scene, other] = [await createScene(), await createScene()];
  const address = makeAddress();
  await scene.addRule([address]);
  await sendAll();
  const link = findLink('c', listMails(address)[0]);
  assert.equal((await answer(link, 'refuse-all')).status, 200);
  assert.deepEqual((await other.addRule([address])).unconfirmedRecipients, [address]);
  await sendAll();
  assert.equal(listMails(address).length, 1);
});

test('a stranger cannot make the server hold a large body for a link', async () => {
  const socket = connect(Number(new URL(base).port), '127.0.0.1');
  socket.write(
    'POST /mail/x HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 5000000\r\n\r\na',
  );
  const late = delay(120_000, 'no answer', { ref: false });
  assert.match(String(await Promise.race([once(socket, 'data'), late])), /^HTTP\/1.1 413 /);
  socket.destroy();
});

test('an account asks an address again after one day, then two, then four; a link lasts a week', async () => {
  const { addRule } = await createScene();
  const address = makeAddress();
  const askedOn: number[] = [];
  for (let day = 0; day < 9; day += 1) {
    const before = listMails(address).length;
    for (let each = 0; each < 2; each += 1) await addRule([address]);
    await sendAll();
    if (listMails(address).length > before) askedOn.push(day);
    clock.advance(86_400);
  }
  assert.deepEqual(askedOn, [0, 1, 3, 7]);
  assert.equal(listMails(address).length, 4);
  const link = findLink('c', listMails(address).at(-1));
  clock.advance(6 * 86_400);
  assert.equal((await fetch(base + link)).status, 404);
  assert.equal((await answer(link, 'confirm')).status, 404);
  assert.equal((await fetch(`${base}/mail/r${'0'.repeat(75)}`)).status, 404);
});

test('accounts that ask an address every day do not keep another account from asking it', async () => {
  const scenes = await Promise.all(Array.from({ length: 10 }, createScene));
  const late = await createScene();
  const address = makeAddress();
  for (const { addRule } of scenes) for (let each = 0; each < 2; each += 1) await addRule([address]);
  const waiting = await late.addRule([address]);
  assert.deepEqual(waiting.unaskedRecipients, [address], 'ten a day are the most');
  await sendAll();
  assert.equal(listMails(address).length, 10);
  clock.advance(2 * 86_400);
  for (const { addRule } of scenes.slice(1)) await addRule([address]);
  clock.advance(86_400);
  for (const { addRule } of scenes) await addRule([address]);
  await late.fail();
  await sendAll();
  assert.equal((await late.readRule(waiting)).unaskedRecipients, undefined, 'its alert asked');
});

test('a project has a limit of confirmation mails, which leaves the others of the account to alerts', async () => {
  const { addRule, fail, readRule, readMails, listEvents } = await createScene();
  const addresses = Array.from({ length: mailsOfDay }, makeAddress);
  const rule = await addRule(addresses);
  assert.equal(rule.unconfirmedRecipients?.length, mailsOfDay);
  assert.equal(rule.unaskedRecipients?.length, mailsOfDay / 2);
  assert.deepEqual((await readRule(rule)).unaskedRecipients, rule.unaskedRecipients);
  for (let each = 0; each < mailsOfDay; each += 1) await addRule(addresses);
  await addRule(Array.from({ length: mailsOfDay / 2 }, (_, each) => `r${each}@operator.example.com`));
  await fail();
  await sendAll();
  assert.equal(receiver.received.length, mailsOfDay, 'half of them are alerts');
  assert.deepEqual(await listEvents('alert-mail-limit-reached'), []);
  const withheld = (await readMails(rule))?.find(({ recipient }) =>
    rule.unaskedRecipients?.includes(recipient),
  );
  assert.match(withheld?.lastError ?? '', /No confirmation mail was sent/);
  clock.advance(86_400);
  await addRule(rule.unaskedRecipients ?? []);
  assert.equal((await readRule(rule)).unaskedRecipients, undefined, 'the next day has its own');
  await sendAll();
});

test('an account above its limit of a day does not use up what others may ask of an address', async () => {
  const [exhausted, other] = [await createScene(), await createScene()];
  const address = makeAddress();
  for (let each = 0; each < mailsOfDay; each += 1) await exhausted.addRule([makeAddress()]);
  for (let each = 0; each < 4; each += 1) await exhausted.addRule([address]);
  const counted = () => server.database.query('select from mail_address where address = $1', [address]);
  assert.equal((await counted()).length, 0);
  await other.addRule([address]);
  await sendAll();
  assert.equal(listMails(address).length, 1);
});

test('above the limit of a day alerts are raised without mail, and say so, with one event', async () => {
  const { addRule, fail, readMails, listEvents } = await createScene();
  const emails = Array.from({ length: 5 }, (_, each) => `r${each}@operator.example.com`);
  const rule = await addRule(emails);
  for (let each = 0; each < 4; each += 1) {
    await fail();
    await sendAll();
  }
  assert.equal(receiver.received.length, mailsOfDay);
  const withheld = (await readMails(rule))?.filter(({ state }) => state === 'withheld');
  assert.equal(withheld?.length, 5);
  assert.match(withheld?.[0]?.lastError ?? '', /HEADGATE_MAIL_PER_DAY/);
  assert.equal((await listEvents('alert-mail-limit-reached')).length, 1);
  clock.advance(86_400);
  await fail();
  await sendAll();
  assert.equal(receiver.received.length, mailsOfDay + 5, 'the next day has its own');
});

test('many rules on one run make one mail for an address; deleting one of them leaves it to the others', async () => {
  const { admin, rules, addRule, fail, readMails } = await createScene();
  const made: AlertRule[] = [];
  for (let each = 0; each < 60; each += 1) made.push(await addRule(['team@operator.example.com']));
  await fail();
  await raiseDueAlerts(deps);
  const [first, second] = made;
  assert.ok(first && second);
  await admin.delete(`${rules}/${first.alertRuleId}`);
  await sendAll();
  const [mail = '', ...others] = listMails('team@operator.example.com');
  assert.deepEqual(others, []);
  assert.ok(mail.includes(`\nAlert rule: ${second.name}\r\n`));
  assert.match(mail, /^Further alert rules: 10\r$/m);
  assert.deepEqual(
    (await readMails(second))?.map(({ state }) => state),
    ['sent'],
  );
});

test('a mail of which all rules were deleted is not sent', async () => {
  const { admin, rules, addRule, fail } = await createScene();
  const rule = await addRule(['team@operator.example.com']);
  await fail();
  await raiseDueAlerts(deps);
  await admin.delete(`${rules}/${rule.alertRuleId}`);
  await sendAll();
  assert.equal(receiver.received.length, 0);
});

test('accounts take turns: the mail of one does not wait for all those of another', async () => {
  const [busy, quiet] = [await createScene(), await createScene()];
  const emails = Array.from({ length: mailsOfDay }, (_, each) => `busy${each}@operator.example.com`);
  await busy.addRule(emails);
  await busy.fail();
  await raiseDueAlerts(deps);
  await quiet.addRule(['quiet@operator.example.com']);
  await quiet.fail();
  await raiseDueAlerts(deps);
  const worker = createServerWorker(deps, work);
  await worker.look();
  await worker.wait();
  assert.equal(listMails('quiet@operator.example.com').length, 1, 'in the first turn');
  await sendAll();
  assert.equal(receiver.received.length, mailsOfDay + 1);
});

test('the subject makes no link of a name, and a text of a run is a quotation', async () => {
  const { addRule, fail } = await createScene();
  await addRule(['team@operator.example.com']);
  await fail('broken\nSee http://evil.example.net/\u202egnp.exe');
  await sendAll();
  const [mail = ''] = listMails('team@operator.example.com');
  assert.match(mail, /^> See http:\/\/evil\.example\.net\/gnp\.exe\r$/m);
});
