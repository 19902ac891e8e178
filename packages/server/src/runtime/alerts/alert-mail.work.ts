/** Sends the mails of alerts, outside of transactions: a mail is sent at least once, also if a server dies. */
import { setTimeout as delay } from 'node:timers/promises';
import { invitationPath, makeInvitationSecret } from '../../access/invitations/index.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Log } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { createPlaces } from '../../kernel/work/places.ts';
import type { HeldWork } from '../../kernel/work/server-work.ts';
import type { ServerWorkKind } from '../../kernel/work/server-worker.ts';
import { computeNextAttempt, mostAttempts } from '../../records/webhooks/index.ts';
import {
  readMail,
  recordDead,
  recordRetry,
  recordSent,
  removeUnwanted,
  type TakenMail,
} from './mail.store.ts';
import { makeConfirmationToken, makeRecipientToken, renderMailLink } from './mail-links.ts';
import { linkDays, mailKind } from './mail-recipient.store.ts';
import { renderConfirmationMail, renderInvitationMail, renderRefusalFooter } from './mail-text.ts';
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
  sealer: Sealer;
  config: { mail: MailSettings | undefined; publicUrl: string };
}

const mailsAtOnce = 10;
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
  if (mail.invitation_id !== null) {
    const link = `${publicUrl}${invitationPath}/${makeInvitationSecret(sealer, mail.invitation_id)}`;
    const until = mail.expires_at ?? undefined;
    return { ...addressed, ...renderInvitationMail(mail.account_name ?? '', { link, refusal, until }) };
  }
  return { ...addressed, subject, text: refusal === undefined ? body : body + renderRefusalFooter(refusal) };
}

async function attempt(
  services: MailSenderServices,
  send: SendMail,
  mail: TakenMail,
  signal: AbortSignal,
): Promise<MailResult> {
  const ended = new AbortController();
  const tooLong = delay(attemptMilliseconds, undefined, {
    signal: AbortSignal.any([ended.signal, signal]),
  }).then(
    (): MailResult => ({
      result: 'failed',
      error: `The mail server took longer than ${attemptMilliseconds / 1_000} s.`,
      isFinal: false,
    }),
  );
  tooLong.catch(() => undefined);
  try {
    return await Promise.race([send(buildMail(services, mail)), tooLong]);
  } finally {
    ended.abort();
  }
}

async function sendMail(
  services: MailSenderServices,
  send: SendMail,
  held: HeldWork,
  signal: AbortSignal,
): Promise<void> {
  const mail = await readMail(services.database.read, held);
  if (!mail.is_wanted) return removeUnwanted(services.database.read, held);
  // A server that died wrote no result: then the claims alone are the attempts.
  const isOver = held.attempts > mostAttempts;
  const result = mail.is_refused
    ? refused
    : isOver
      ? neverEnded
      : await attempt(services, send, mail, signal);
  await recordResult(services, held, mail, result);
}

async function recordResult(
  services: MailSenderServices,
  held: HeldWork,
  mail: TakenMail,
  result: MailResult,
): Promise<void> {
  const { clock, log, metrics } = services;
  const now = clock.now();
  if (result.result === 'sent') {
    await recordSent(services, held, now);
    metrics.countAlertMail('sent');
    return;
  }
  const { error } = result;
  const { work_id: mailId, attempts } = held;
  const next = result.isFinal ? undefined : computeNextAttempt(attempts, now);
  if (next !== undefined) {
    await recordRetry(services, held, error, { dueAt: next, now });
    metrics.countAlertMail('failed');
    log.warn({ mailId, attempts, error }, 'failed to send a mail of an alert; it will be tried again');
  } else {
    await recordDead(services, held, { recipient: mail.recipient, error, now });
    metrics.countAlertMail('dead');
    log.warn({ mailId, attempts, error }, 'gave up a mail of an alert');
  }
}

export function createMailWork(
  services: MailSenderServices,
  send: SendMail = createSend(services.config.mail),
): ServerWorkKind {
  return {
    kind: mailKind,
    name: 'alert mails',
    lookMilliseconds: 2_000,
    // Longer than an attempt may take.
    leaseSeconds: 120,
    places: createPlaces(mailsAtOnce, mailsAtOnce),
    // The number of claims ends them, so none is set aside.
    interruptedAtOnce: mailsAtOnce,
    run: (held, signal) => sendMail(services, send, held, signal),
  };
}

const createSend = (mail: MailSettings | undefined): SendMail =>
  mail === undefined ? async () => notConfigured : createMailTransport(mail);
