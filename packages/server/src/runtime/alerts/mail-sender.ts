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
import type { Sealer } from '../../kernel/security/sealed.ts';
import { computeNextAttempt, mostAttempts } from '../../records/webhooks/index.ts';
import {
  recordDead,
  recordRetry,
  recordSent,
  removeUnwanted,
  type TakenMail,
  takeDueMails,
} from './mail.store.ts';
import { makeConfirmationToken, makeRecipientToken, renderMailLink } from './mail-links.ts';
import { linkDays } from './mail-recipient.store.ts';
import { renderConfirmationMail, renderRefusalFooter } from './mail-text.ts';
import {
  createMailTransport,
  type Mail,
  type MailResult,
  type MailSettings,
  type SendMail,
} from './mail-transport.ts';

export interface MailSenderServices {
  database: Database;
  clock: Clock;
  newId: NewId;
  log: Log;
  metrics: Metrics;
  stopping: AbortSignal;
  sealer: Sealer;
  config: { mail: MailSettings | undefined; publicUrl: string };
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

const neverEnded: MailResult = {
  result: 'failed',
  error: `No server could finish sending it: ${mostAttempts} began, and none wrote a result.`,
  isFinal: true,
};

/** The last account of a turn. The next turn goes on after it. */
export interface MailTurns {
  after: string | undefined;
}

/** Sends some of the mails that are due, of each account the same number. Returns whether there may be more. */
export async function sendDueMails(
  services: MailSenderServices,
  send: SendMail,
  turns: MailTurns = { after: undefined },
): Promise<boolean> {
  const { database, clock } = services;
  const { after } = turns;
  const now = clock.now();
  const taken = await takeDueMails(database.read, { after, limit: mailsAtOnce, leaseSeconds, now });
  const accounts = taken.map(({ account_id }) => account_id).toSorted();
  turns.after = accounts.at(-1);
  await Promise.all(
    taken.map(async (mail) => {
      if (!mail.is_wanted) {
        await removeUnwanted(database.read, mail);
        return;
      }
      const result = await findResult(services, send, mail);
      if (result !== undefined) await recordResult(services, mail, result);
    }),
  );
  // After the last account the next turn begins with the first one.
  return taken.length > 0 || after !== undefined;
}

const refused: MailResult = {
  result: 'failed',
  error: 'The owner of the address refuses mails.',
  isFinal: true,
};

/** Adds the links, which the database does not hold. */
function buildMail({ sealer, config: { publicUrl } }: MailSenderServices, mail: TakenMail): Mail {
  const { mail_id: mailId, recipient, subject, body, recipient_id: recipientId } = mail;
  const refusal =
    recipientId === null ? undefined : renderMailLink(publicUrl, makeRecipientToken(sealer, recipientId));
  const addressed = { mailId, recipient, unsubscribeUrl: refusal };
  if (mail.is_confirmation) {
    const link = renderMailLink(publicUrl, makeConfirmationToken(sealer, mailId));
    return {
      ...addressed,
      ...renderConfirmationMail(mail.account_name ?? '', { link, refusal, days: linkDays }),
    };
  }
  return { ...addressed, subject, text: refusal === undefined ? body : body + renderRefusalFooter(refusal) };
}

/** Undefined if the server stops before the result is known: another one sends the mail after the lease. */
async function findResult(
  services: MailSenderServices,
  send: SendMail,
  mail: TakenMail,
): Promise<MailResult | undefined> {
  if (mail.is_refused) return refused;
  // A server that died wrote no result: then the claims alone are the attempts.
  return mail.attempts > mostAttempts ? neverEnded : attempt(services, send, mail);
}

async function attempt(
  services: MailSenderServices,
  send: SendMail,
  mail: TakenMail,
): Promise<MailResult | undefined> {
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, services.stopping]);
  const tooLong = delay(attemptMilliseconds, undefined, { signal }).then(
    (): MailResult => ({
      result: 'failed',
      error: `The mail server took longer than ${attemptMilliseconds / 1_000} s.`,
      isFinal: false,
    }),
    () => undefined,
  );
  try {
    return await Promise.race([send(buildMail(services, mail)), tooLong]);
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
  const turns: MailTurns = { after: undefined };
  return {
    name: 'alert mails',
    everyMilliseconds,
    run: () => sendDueMails(services, send, turns),
  };
}
