/** The table `alert_mail`: mails are written with their alerts, taken with a lease, and ended under its epoch. */
import { addSeconds } from '../../kernel/clock.ts';
import {
  type ColumnTypes,
  type Database,
  type Read,
  type RowOf,
  statement,
  type Transaction,
} from '../../kernel/database/database.ts';
import { recordEvents } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { type RaisedAlert, renderMailSubject, renderMailText } from './mail-text.ts';

const selectProjects = statement(
  {
    parameters: { account_id: 'uuid', project_ids: 'uuid[]' },
    row: { project_id: 'uuid', name: 'text' },
  },
  'select project_id, name from project where account_id = $account_id and project_id = any ($project_ids::uuid[])',
);

const insertMails = statement(
  {
    parameters: {
      account_id: 'uuid',
      mail_ids: 'uuid[]',
      alert_ids: 'uuid[]',
      recipients: 'text[]',
      subjects: 'text[]',
      bodies: 'text[]',
      now: 'timestamptz',
    },
  },
  `
  insert into alert_mail (account_id, mail_id, alert_id, recipient, subject, body, state, attempts, next_attempt_at, created_at)
  select $account_id, g.mail_id, g.alert_id, g.recipient, g.subject, g.body, 'pending', 0, $now, $now
  from unnest($mail_ids::uuid[], $alert_ids::uuid[], $recipients::text[], $subjects::text[], $bodies::text[])
    as g (mail_id, alert_id, recipient, subject, body)`,
);

/** Writes a mail for each recipient of alerts that were just raised. */
export async function writeMails(
  tx: Transaction,
  accountId: string,
  alerts: readonly RaisedAlert[],
  { now, newId, publicUrl }: { now: Date; newId: NewId; publicUrl: string },
): Promise<void> {
  const mailed = alerts.filter(({ about }) => about.emails.length > 0);
  if (mailed.length === 0) return;
  const project_ids = [...new Set(mailed.map(({ about }) => about.project_id))];
  const projects = await tx.query(selectProjects, { account_id: accountId, project_ids });
  const names = new Map(projects.map(({ project_id, name }) => [project_id, name]));
  const mails = mailed.flatMap((alert) => {
    const projectName = names.get(alert.about.project_id) ?? alert.about.project_id;
    const subject = renderMailSubject(alert);
    const body = renderMailText(alert, { publicUrl, projectName, now });
    return alert.about.emails.map((recipient) => ({ alertId: alert.alertId, recipient, subject, body }));
  });
  tx.send(insertMails, {
    account_id: accountId,
    mail_ids: mails.map(newId),
    alert_ids: mails.map(({ alertId }) => alertId),
    recipients: mails.map(({ recipient }) => recipient),
    subjects: mails.map(({ subject }) => subject),
    bodies: mails.map(({ body }) => body),
    now,
  });
}

const takenRow = {
  account_id: 'uuid',
  mail_id: 'uuid',
  epoch: 'bigint',
  recipient: 'text',
  subject: 'text',
  body: 'text',
  attempts: 'integer',
} satisfies ColumnTypes;
/** A mail that this server holds until the end of its lease. */
export type TakenMail = RowOf<typeof takenRow>;

// By ctid array: with a join the planner might scan the whole table.
const takeDue = statement(
  {
    parameters: { limit: 'bigint', lease_until: 'timestamptz', now: 'timestamptz' },
    row: takenRow,
    alone: true,
  },
  `
  update alert_mail m set epoch = m.epoch + 1, lease_until = $lease_until, attempts = m.attempts + 1
  where m.ctid = any (array(
    select ctid from alert_mail where due_at <= $now order by due_at limit $limit for update skip locked))
  returning m.account_id, m.mail_id, m.epoch, m.recipient, m.subject, m.body, m.attempts`,
);

/** Takes mails that no server holds, the ones that have waited longest first. */
export function takeDueMails(
  read: Read,
  { limit, leaseSeconds, now }: { limit: number; leaseSeconds: number; now: Date },
): Promise<TakenMail[]> {
  return read(takeDue, { limit, lease_until: addSeconds(now, leaseSeconds), now });
}

const heldTypes = { account_id: 'uuid', mail_id: 'uuid', epoch: 'bigint' } as const;
const isHeld =
  "m.account_id = $account_id and m.mail_id = $mail_id and m.epoch = $epoch and m.state = 'pending'";
const pickHeld = ({ account_id, mail_id, epoch }: TakenMail) => ({ account_id, mail_id, epoch });

const writeSent = statement(
  { parameters: { ...heldTypes, now: 'timestamptz' }, row: { mail_id: 'uuid' }, alone: true },
  `
  update alert_mail m set state = 'sent', lease_until = null, next_attempt_at = null, last_error = null, ended_at = $now
  where ${isHeld} returning m.mail_id`,
);

/** Returns whether this server still held the mail. */
export async function recordSent(read: Read, mail: TakenMail, now: Date): Promise<boolean> {
  return (await read(writeSent, { ...pickHeld(mail), now })).length > 0;
}

const writeRetry = statement(
  {
    parameters: { ...heldTypes, error: 'text', next_attempt_at: 'timestamptz' },
    row: { mail_id: 'uuid' },
    alone: true,
  },
  `
  update alert_mail m set lease_until = null, next_attempt_at = $next_attempt_at, last_error = $error
  where ${isHeld} returning m.mail_id`,
);

/** Returns whether this server still held the mail. */
export async function recordRetry(
  read: Read,
  mail: TakenMail,
  error: string,
  nextAttemptAt: Date,
): Promise<boolean> {
  return (await read(writeRetry, { ...pickHeld(mail), error, next_attempt_at: nextAttemptAt })).length > 0;
}

const writeDead = statement(
  {
    parameters: { ...heldTypes, error: 'text', now: 'timestamptz' },
    row: {
      alert_id: 'uuid',
      alert_rule_id: 'uuid',
      project_id: 'uuid',
      name: 'text',
      environment_name: 'text',
    },
  },
  `
  update alert_mail m set state = 'dead', lease_until = null, next_attempt_at = null, last_error = $error, ended_at = $now
  from alert a join alert_rule r on r.account_id = a.account_id and r.alert_rule_id = a.alert_rule_id
  where ${isHeld} and a.account_id = m.account_id and a.alert_id = m.alert_id
  returning a.alert_id, r.alert_rule_id, r.project_id, r.name, a.environment_name`,
);

/** Gives a mail up, with its event. Returns whether this server still held the mail. */
export function recordDead(
  { database, newId }: { database: Database; newId: NewId },
  mail: TakenMail,
  error: string,
  now: Date,
): Promise<boolean> {
  const source = {
    accountId: mail.account_id,
    actorId: null,
    actorKind: 'system',
    requestId: null,
  } as const;
  return database.transaction(async (tx) => {
    const [row] = await tx.query(writeDead, { ...pickHeld(mail), error, now });
    if (row === undefined) return false;
    const { alert_id: alertId, alert_rule_id: id, name, project_id: projectId } = row;
    const event = {
      name: 'alert-mail-failed',
      projectId,
      environmentName: row.environment_name,
      subject: { type: 'alert-rule', id, name },
      after: { alertId, recipient: mail.recipient, attempts: mail.attempts, error },
    } as const;
    recordEvents(tx, source, [event], now, newId);
    return true;
  });
}
