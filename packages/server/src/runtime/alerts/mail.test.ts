/** Mails of alert rules, sent to a real SMTP server. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import tls from 'node:tls';
import type { Alert, AlertRule, EventLogPart, Page } from '@headgate/contract';
import { makeCertificate } from '../../../testing/certificate.ts';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { claimDue, doDueWork } from '../../../testing/server-work.ts';
import { startSmtpReceiver } from '../../../testing/smtp-receiver.ts';
import { createStartableWithAgent } from '../../../testing/startable-project.ts';
import { createLeases } from '../../kernel/work/lease.ts';
import { createServerWorker } from '../../kernel/work/server-worker.ts';
import { loadConfig } from '../../main/config.ts';
import { createMailWork } from './alert-mail.work.ts';
import { raiseDueAlerts } from './alert-turns.ts';
import { createMailTransport, type MailSettings } from './mail-transport.ts';

const receiver = await startSmtpReceiver({ disabledCommands: ['AUTH', 'STARTTLS'] });
after(() => receiver.close());
const HEADGATE_SMTP_FROM = 'Headgate <alerts@headgate.example.com>';
const server = await startTestServer({
  settings: {
    HEADGATE_SMTP_URL: `smtp://127.0.0.1:${receiver.port}`,
    HEADGATE_SMTP_FROM,
    HEADGATE_MAIL_DOMAINS: 'example.com, mail.example.com',
  },
});
const { clock, deps } = server;
const work = createMailWork(deps);
const sendAll = async () => {
  await raiseDueAlerts(deps);
  await doDueWork(deps, work);
};

async function createScene(emails: string[] = ['on-call@example.com']) {
  const scene = await createStartableWithAgent(server);
  const { admin, made } = scene;
  const rules = `/projects/${made.projectId}/alert-rules`;
  const expected = { name: 'failed', condition: { type: 'FAILED' }, emails };
  const rule = (await admin.post<AlertRule>(rules, expected)).body;
  const readAlert = async () =>
    (await admin.get<Page<Alert>>(`${rules}/${rule.alertRuleId}/alerts`)).body.results[0];
  const listFailures = async () =>
    (await admin.get<EventLogPart>('/events?after=oldest&eventName=alert-mail-failed')).body.results;
  receiver.received.length = 0;
  receiver.refuseWith = undefined;
  return { ...scene, rules, rule, readAlert, listFailures };
}

test('each recipient gets a mail of its own, once, that says what failed and where', async () => {
  const emails = ['on-call@example.com', 'a.b+c@mail.example.com'];
  const { rule, fail, readAlert } = await createScene(emails);
  assert.deepEqual(rule.emails, emails);
  const id = await fail();
  await sendAll();
  await sendAll();
  assert.deepEqual(receiver.received.map(({ recipients }) => recipients).toSorted(), [
    ['a.b+c@mail.example.com'],
    ['on-call@example.com'],
  ]);
  const source = receiver.received[0]?.source.replaceAll('=\r\n', '').replaceAll('=3D', '=') ?? '';
  assert.match(source, /^Subject: \[Headgate\] main failed in dev\r$/m);
  assert.match(source, /^From: Headgate <alerts@headgate\.example\.com>\r$/m);
  assert.match(source, /^Message-ID: <[0-9a-f-]{36}@headgate\.example\.com>\r$/m);
  assert.match(source, /failed: no such table/);
  assert.ok(source.includes(`/dpc/v1/projects/`) && source.includes(`/pipeline-executions/${id}`));
  assert.deepEqual(
    (await readAlert())?.mails?.map(({ state }) => state),
    ['sent', 'sent'],
  );
});

test('a mail that is refused temporarily is sent again', async () => {
  const { fail, readAlert } = await createScene();
  await fail();
  receiver.refuseWith = 451;
  await sendAll();
  const [pending] = (await readAlert())?.mails ?? [];
  assert.equal(pending?.state, 'pending');
  assert.match(pending?.lastError ?? '', /451/);
  receiver.refuseWith = undefined;
  await sendAll();
  assert.equal(receiver.received.length, 0, 'not before its time');
  clock.advance(10);
  await sendAll();
  assert.equal(receiver.received.length, 1);
  assert.deepEqual((await readAlert())?.mails, [{ recipient: 'on-call@example.com', state: 'sent' }]);
});

test('a mail that is refused for a day is given up, with an event', async () => {
  const { fail, readAlert, listFailures } = await createScene();
  await fail();
  receiver.refuseWith = 451;
  // Longer than each pause between its attempts.
  for (let attempt = 1; attempt <= 18; attempt += 1) {
    if (attempt < 18) assert.equal((await readAlert())?.mails?.[0]?.state ?? 'pending', 'pending');
    await sendAll();
    clock.advance(9_000);
  }
  assert.equal((await readAlert())?.mails?.[0]?.state, 'dead');
  assert.equal((await listFailures()).length, 1);
});

test('a mail that is refused for good is given up at once, with an event that names rule and reason', async () => {
  const { rule, fail, readAlert, listFailures } = await createScene();
  await fail();
  receiver.refuseWith = 550;
  await sendAll();
  assert.equal((await readAlert())?.mails?.[0]?.state, 'dead');
  const [event] = await listFailures();
  assert.equal(event?.eventSubjectName, rule.name);
  const state = event?.additionalInfo.after as { recipient: string; error: string };
  assert.equal(state.recipient, 'on-call@example.com');
  assert.match(state.error, /550/);
  clock.advance(86_400);
  receiver.refuseWith = undefined;
  await sendAll();
  assert.equal(receiver.received.length, 0);
});

test('a mail whose servers die at each attempt is given up, with an event', async () => {
  const { fail, readAlert, listFailures } = await createScene();
  await fail();
  await raiseDueAlerts(deps);
  for (let death = 0; death < 18; death += 1) {
    const taken = await claimDue(deps, work);
    assert.equal(taken.length, 1);
    clock.advance(121);
  }
  await sendAll();
  assert.equal(receiver.received.length, 0);
  assert.equal((await readAlert())?.mails?.[0]?.state, 'dead');
  assert.equal((await listFailures()).length, 1);
});

test('a server that lost its lease writes no result; the next one sends the mail, with the same Message-ID', async () => {
  const { fail, readAlert } = await createScene();
  await fail();
  await raiseDueAlerts(deps);
  // The first server hangs until its lease is lost; its result comes after that of the second one.
  const sent = Promise.withResolvers<void>();
  const late = Promise.withResolvers<void>();
  const send = createMailTransport(deps.config.mail ?? assert.fail());
  const slow = createServerWorker(
    deps,
    createMailWork(deps, async (mail) => {
      await send(mail);
      sent.resolve();
      await late.promise;
      return { result: 'failed', error: 'late', isFinal: true };
    }),
  );
  await slow.look();
  await sent.promise;
  assert.deepEqual(await claimDue(deps, work), [], 'held');
  clock.advance(121);
  const next = createServerWorker({ ...deps, leases: createLeases(deps) }, work);
  await next.look();
  late.resolve();
  await Promise.all([slow.wait(), next.wait()]);
  const ids = receiver.received.map(({ source }) => /^Message-ID: (.+)\r$/m.exec(source)?.[1]);
  assert.equal(ids.length, 2);
  assert.ok(ids[0] !== undefined && ids[0] === ids[1]);
  assert.equal((await readAlert())?.mails?.[0]?.state, 'sent');
});

test('servers that send at the same time send each mail once', async () => {
  const { fail } = await createScene(Array.from({ length: 20 }, (_, index) => `r${index}@example.com`));
  await fail();
  await raiseDueAlerts(deps);
  await Promise.all(
    Array.from({ length: 4 }, () => doDueWork({ ...deps, leases: createLeases(deps) }, work)),
  );
  await sendAll();
  const recipients = receiver.received.flatMap((mail) => mail.recipients);
  assert.equal(recipients.length, 20);
  assert.equal(new Set(recipients).size, 20);
});

test('a mail in flight when its server stops is left to the next one', async () => {
  const { fail, readAlert } = await createScene();
  await fail();
  await raiseDueAlerts(deps);
  const stopping = new AbortController();
  const begun = Promise.withResolvers<void>();
  const hang = () => {
    begun.resolve();
    return new Promise<never>(() => undefined);
  };
  const ending = createServerWorker({ ...deps, stopping: stopping.signal }, createMailWork(deps, hang));
  await ending.look();
  await begun.promise;
  stopping.abort();
  await ending.wait();
  assert.equal((await readAlert())?.mails?.[0]?.state, 'pending');
  await sendAll();
  assert.equal((await readAlert())?.mails?.[0]?.state, 'sent');
});

test('no text of a run or a rule reaches the headers', async () => {
  const { admin, rules, rule, fail } = await createScene();
  const name = 'x\r\nBcc: victim@example.com\r\n\r\nhello';
  await admin.patch(`${rules}/${rule.alertRuleId}`, { name });
  await fail('broken\r\n.\r\nRCPT TO:<victim@example.com>\r\n');
  await sendAll();
  assert.deepEqual(
    receiver.received.map(({ recipients }) => recipients),
    [['on-call@example.com']],
  );
  const [headers = ''] = receiver.received[0]?.source.split('\r\n\r\n') ?? [];
  assert.ok(!/bcc|victim/i.test(headers));
});

test('an address that is more than a plain address is refused', async () => {
  const { admin, rules } = await createScene();
  const wrong = [
    'a@example.com\r\nBcc: b@example.com',
    'a@example.com\n',
    'a@example.com,b@example.com',
    'A <a@example.com>',
    '"a"@example.com',
    'a b@example.com',
    'a@example..com',
    'a@-example.com',
    'a@localhost',
    'a@[127.0.0.1]',
    'a\u0000@example.com',
    '@example.com',
    `${'a'.repeat(65)}@example.com`,
    `a@${'a.'.repeat(160)}com`,
  ];
  const body = { name: 'wrong', condition: { type: 'FAILED' } };
  for (const email of wrong)
    requireProblem(await admin.post(rules, { ...body, emails: [email] }), 400, 'invalid-request');
  const twice = { ...body, emails: ['a@example.com', 'a@example.com'] };
  requireProblem(await admin.post(rules, twice), 400, 'invalid-request');
  const many = Array.from({ length: 21 }, (_, index) => `r${index}@example.com`);
  requireProblem(await admin.post(rules, { ...body, emails: many }), 400, 'invalid-request');
});

test('without SMTP settings a rule with addresses is refused, and mails of before are tried again later', async () => {
  const { admin, rules, rule, fail, readAlert } = await createScene();
  const { mail } = deps.config;
  deps.config.mail = undefined;
  try {
    const body = { name: randomUUID(), condition: { type: 'FAILED' }, emails: ['a@example.com'] };
    const refused = await admin.post(rules, body);
    requireProblem(refused, 422, 'alert-mail-not-configured');
    assert.match(refused.text, /HEADGATE_SMTP_URL/);
    const path = `${rules}/${rule.alertRuleId}`;
    requireProblem(await admin.patch(path, { emails: body.emails }), 422, 'alert-mail-not-configured');
    await fail();
    await raiseDueAlerts(deps);
    await doDueWork(deps, createMailWork(deps));
    assert.match((await readAlert())?.mails?.[0]?.lastError ?? '', /HEADGATE_SMTP_URL/);
    assert.equal((await admin.patch(path, { emails: [] })).status, 200);
  } finally {
    deps.config.mail = mail;
  }
});

test('beyond loopback mails are sent encrypted or not at all, with the login', async () => {
  const certificate = makeCertificate();
  const login = { user: 'mailer@example.com', password: 's3cret p@ss' };
  const account = `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}`;
  const mail = { mailId: randomUUID(), recipient: 'a@example.com', subject: 'Hello', text: 'Text' };
  const read = (url: string): MailSettings => {
    const found = loadConfig({ HEADGATE_SMTP_URL: url, HEADGATE_SMTP_FROM }).mail;
    // As for a host that is not loopback.
    return { ...(found ?? assert.fail()), requiresTls: true };
  };
  const starting = await startSmtpReceiver(certificate, login);
  const secure = await startSmtpReceiver({ ...certificate, secure: true }, login);
  const plain = await startSmtpReceiver({ disabledCommands: ['AUTH', 'STARTTLS'] });
  const trusted = tls.getCACertificates('default');
  try {
    const url = `smtp://${account}@localhost:${starting.port}`;
    const untrusted = await createMailTransport(read(url))(mail);
    assert.equal(untrusted.result, 'failed');
    tls.setDefaultCACertificates([...trusted, certificate.cert]);
    assert.deepEqual(await createMailTransport(read(url))(mail), { result: 'sent' });
    const secureUrl = `smtps://${account}@localhost:${secure.port}`;
    assert.deepEqual(await createMailTransport(read(secureUrl))(mail), { result: 'sent' });
    for (const { isEncrypted, user } of [...starting.received, ...secure.received])
      assert.deepEqual({ isEncrypted, user }, { isEncrypted: true, user: login.user });
    assert.deepEqual([starting.received.length, secure.received.length], [1, 1]);
    const wrong = await createMailTransport(read(url.replace('s3cret', 'wr0ng')))(mail);
    assert.ok(wrong.result === 'failed' && !wrong.isFinal, 'the operator can correct it');
    assert.ok(!wrong.error.includes('wr0ng'), wrong.error);
    const bare = await createMailTransport(read(`smtp://localhost:${plain.port}`))(mail);
    assert.ok(bare.result === 'failed' && !bare.isFinal);
    assert.equal(plain.received.length, 0);
  } finally {
    tls.setDefaultCACertificates(trusted);
    await Promise.all([starting, secure, plain].map((each) => each.close()));
  }
});
