/**
 * Sends the mails of alerts. Every server takes due mails with a lease, sends them outside of transactions,
 * and writes each result under the epoch of its lease: a mail is sent at least once, also if a server dies.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Log } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { computeNextAttempt } from '../../records/webhooks/index.ts';
import { recordDead, recordRetry, recordSent, type TakenMail, takeDueMails } from './mail.store.ts';
import { createMailTransport, type MailResult, type MailSettings, type SendMail } from './mail-transport.ts';

export interface MailSenderServices {
  database: Database;
  clock: Clock;
  newId: NewId;
  log: Log;
  metrics: Metrics;
  stopping: AbortSignal;
  config: { mail: MailSettings | undefined };
}

const everyMilliseconds = 2_000;
const mailsAtOnce = 10;
/** Longer than an attempt may take. */
const leaseSeconds = 120;
const attemptMilliseconds = 60_000;

const notConfigured: MailResult = {
  result: 'failed',
  error: 'This server sends no e-mail: set HEADGATE_SMTP_URL and HEADGATE_SMTP_FROM.',
  isFinal: false,
};

/** Sends the mails that are due. Returns whether there may be more. */
export async function sendDueMails(services: MailSenderServices, send: SendMail): Promise<boolean> {
  const { database, clock } = services;
  const taken = await takeDueMails(database.read, { limit: mailsAtOnce, leaseSeconds, now: clock.now() });
  await Promise.all(
    taken.map(async (mail) => {
      const result = await attempt(services, send, mail);
      if (result !== undefined) await recordResult(services, mail, result);
    }),
  );
  return taken.length === mailsAtOnce;
}

/** Undefined if the server stops before the result is known: another one sends the mail after the lease. */
async function attempt(
  { stopping }: MailSenderServices,
  send: SendMail,
  { mail_id: mailId, recipient, subject, body }: TakenMail,
): Promise<MailResult | undefined> {
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, stopping]);
  const tooLong = delay(attemptMilliseconds, undefined, { signal }).then(
    (): MailResult => ({
      result: 'failed',
      error: `The mail server took longer than ${attemptMilliseconds / 1_000} s.`,
      isFinal: false,
    }),
    () => undefined,
  );
  try {
    return await Promise.race([send({ mailId, recipient, subject, text: body }), tooLong]);
  } finally {
    ended.abort();
  }
}

/** Writes nothing if another server has taken the mail since. */
export async function recordResult(
  services: MailSenderServices,
  mail: TakenMail,
  result: MailResult,
): Promise<void> {
  const { database, clock, log, metrics } = services;
  const now = clock.now();
  if (result.result === 'sent') {
    if (await recordSent(database.read, mail, now)) metrics.countAlertMail('sent');
    return;
  }
  const { error } = result;
  const next = result.isFinal ? undefined : computeNextAttempt(mail.attempts, now);
  const { mail_id: mailId, attempts } = mail;
  if (next !== undefined) {
    if (!(await recordRetry(database.read, mail, error, next))) return;
    metrics.countAlertMail('failed');
    log.warn({ mailId, attempts, error }, 'failed to send a mail of an alert; it will be tried again');
  } else if (await recordDead(services, mail, error, now)) {
    metrics.countAlertMail('dead');
    log.warn({ mailId, attempts, error }, 'gave up a mail of an alert');
  }
}

export function createMailJob(services: MailSenderServices): PeriodicJob {
  const { mail } = services.config;
  const send: SendMail = mail === undefined ? async () => notConfigured : createMailTransport(mail);
  return {
    name: 'alert mails',
    everyMilliseconds,
    run: () => sendDueMails(services, send),
  };
}
