import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { ConfigError, loadConfig } from './config.ts';

const HEADGATE_SMTP_FROM = 'alerts@example.com';
const readMail = (url: string) => loadConfig({ HEADGATE_SMTP_URL: url, HEADGATE_SMTP_FROM }).mail;

test('the URL says how the mail server is reached', () => {
  const mail = readMail('smtp://me%40example.com:p%40ss@mail.example.com');
  assert.ok(mail?.login);
  assert.deepEqual(
    [mail.host, mail.port, mail.isSecure, mail.requiresTls],
    ['mail.example.com', 587, false, true],
  );
  assert.deepEqual([mail.login.user, mail.login.password.reveal()], ['me@example.com', 'p@ss']);
  assert.ok(!inspect(mail, { depth: 9 }).includes('p@ss'));
  assert.deepEqual(mail.from, { name: '', address: 'alerts@example.com' });
  assert.equal(readMail('smtps://mail.example.com')?.port, 465);
  const local = readMail('smtp://[::1]:2525');
  assert.deepEqual([local?.host, local?.port, local?.requiresTls], ['::1', 2525, false]);
  assert.equal(loadConfig({}).mail, undefined);
});

test('a wrong setting is named, without the password', () => {
  const wrong: Record<string, string>[] = [
    { HEADGATE_SMTP_URL: 'http://me:hunter2@mail.example.com' },
    { HEADGATE_SMTP_URL: 'smtp://me:hunter2@' },
    { HEADGATE_SMTP_URL: 'smtp://me:hunter2@mail.example.com:99999' },
    { HEADGATE_SMTP_URL: 'smtp://me:hunter2@mail.example.com/folder' },
    { HEADGATE_SMTP_URL: 'smtp://me:hunter2@mail.example.com?tls=no' },
    { HEADGATE_SMTP_URL: 'smtp://me:hunter2%@mail.example.com' },
    { HEADGATE_SMTP_URL: 'smtp://hunter2@mail.example.com' },
    { HEADGATE_SMTP_URL: 'smtp://me:hunter2@mail.example.com', HEADGATE_SMTP_FROM: '' },
    { HEADGATE_SMTP_FROM: 'nobody' },
    { HEADGATE_SMTP_FROM: 'A\r\nBcc: b@example.com <a@example.com>' },
    { HEADGATE_SMTP_FROM: 'alerts@example.com', HEADGATE_SMTP_URL: '' },
  ];
  for (const settings of wrong)
    assert.throws(
      () => loadConfig({ HEADGATE_SMTP_URL: 'smtp://127.0.0.1', HEADGATE_SMTP_FROM, ...settings }),
      (failure: unknown) =>
        failure instanceof ConfigError &&
        /HEADGATE_SMTP_(URL|FROM)/.test(failure.message) &&
        !failure.message.includes('hunter2'),
      JSON.stringify(settings),
    );
});
