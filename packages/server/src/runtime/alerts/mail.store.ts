/**
 * The tables `alert_mail` and `alert_mail_part`: mails are written with their alerts and their work, and end with it.
 */
import {
  type ColumnTypes,
  type Database,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { recordEvents } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import {
  type HeldWork,
  isHeldWork,
  LeaseLost,
  releaseWork,
  removeWork,
} from '../../kernel/work/server-work.ts';
import { reserveMails } from './mail-day.store.ts';
import {
  admitRecipients,
  mailKind,
  normalizeAddress,
  type RecipientServices,
} from './mail-recipient.store.ts';
import { type RaisedAlert, renderAlertMail } from './mail-text.ts';

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
      project_ids: 'uuid[]',
      recipients: 'text[]',
      subjects: 'text[]',
      bodies: 'text[]',
      now: 'timestamptz',
    },
  },
  `
  with work as (
    insert into server_work (account_id, work_id, kind, due_at)
    select $account_id, mail_id, '${mailKind}', $now from unnest($mail_ids::uuid[]) as g (mail_id)
  )
  insert into alert_mail (account_id, mail_id, project_id, recipient, subject, body, state, created_at)
  select $account_id, g.mail_id, g.project_id, g.recipient, g.subject, g.body, 'pending', $now
  from unnest($mail_ids::uuid[], $project_ids::uuid[], $recipients::text[], $subjects::text[], $bodies::text[])
    as g (mail_id, project_id, recipient, subject, body)`,
);

const insertParts = statement(
  {
    parameters: {
      account_id: 'uuid',
      alert_ids: 'uuid[]',
      recipients: 'text[]',
      mail_ids: typed<(string | null)[]>('uuid[]'),
      reasons: typed<(string | null)[]>('text[]'),
    },
  },
  `
  insert into alert_mail_part (account_id, alert_id, recipient, mail_id, reason)
  select $account_id, g.alert_id, g.recipient, g.mail_id, g.reason
  from unnest($alert_ids::uuid[], $recipients::text[], $mail_ids::uuid[], $reasons::text[]) as g (alert_id, recipient, mail_id, reason)`,
);

/** The alerts of one run, or one schedule, for one recipient. */
interface MailGroup {
  recipient: string;
  alerts: RaisedAlert[];
}

const getProjectId = ({ alerts }: MailGroup) => alerts[0]?.about.project_id ?? '';

function groupAlerts(alerts: readonly RaisedAlert[]): MailGroup[] {
  const groups = new Map<string, MailGroup>();
  for (const alert of alerts)
    for (const recipient of alert.about.emails) {
      const { project_id, execution_id, schedule_id } = alert.about;
      const key = `${project_id} ${execution_id ?? schedule_id ?? alert.alertId} ${recipient}`;
      const group = groups.get(key) ?? { recipient, alerts: [] };
      group.alerts.push(alert);
      groups.set(key, group);
    }
  return [...groups.values()];
}

const unconfirmedReason =
  'The owner of the address has not confirmed it, or refuses mails. To send the link again, save the alert rule again.';

const unaskedReason =
  'No confirmation mail was sent to the address yet: a limit of the day was reached. A later alert, or saving the rule, sends it.';

export interface MailServices extends RecipientServices {
  config: RecipientServices['config'] & { publicUrl: string };
}

/**
 * Writes a mail to each recipient of alerts that were just raised, one for all alerts of a run, or why there is none.
 */
export async function writeMails(
  tx: Transaction,
  accountId: string,
  alerts: readonly RaisedAlert[],
  services: MailServices,
  now: Date,
): Promise<void> {
  const groups = groupAlerts(alerts);
  if (groups.length === 0) return;
  const { newId, config } = services;
  const named = groups.map((group) => ({ email: group.recipient, projectId: getProjectId(group) }));
  const { admitted, unasked } = await admitRecipients(tx, accountId, named, services, now);
  const sendable = groups.filter(({ recipient }) => admitted.has(normalizeAddress(recipient)));
  const limit = config.mailLimits.perDay;
  const count =
    sendable.length === 0 ? 0 : await reserveMails(tx, accountId, sendable.length, { limit, now, newId });
  const mails = new Map(sendable.slice(0, count).map((group) => [group, newId()]));
  const withheld = new Set(sendable.slice(count));
  const limitReason = `The account has written ${limit} mails today, its limit (HEADGATE_MAIL_PER_DAY).`;
  if (mails.size > 0) await insertRendered(tx, accountId, mails, services, now);
  const explain = ({ recipient }: MailGroup) =>
    unasked.has(normalizeAddress(recipient)) ? unaskedReason : unconfirmedReason;
  const parts = groups.flatMap((group) =>
    group.alerts.map(({ alertId }) => ({
      alertId,
      recipient: group.recipient,
      mailId: mails.get(group) ?? null,
      reason: mails.has(group) ? null : withheld.has(group) ? limitReason : explain(group),
    })),
  );
  tx.send(insertParts, {
    account_id: accountId,
    alert_ids: parts.map(({ alertId }) => alertId),
    recipients: parts.map(({ recipient }) => recipient),
    mail_ids: parts.map(({ mailId }) => mailId),
    reasons: parts.map(({ reason }) => reason),
  });
}

async function insertRendered(
  tx: Transaction,
  accountId: string,
  groups: ReadonlyMap<MailGroup, string>,
  { config: { publicUrl } }: MailServices,
  now: Date,
): Promise<void> {
  const project_ids = [...new Set([...groups.keys()].map(getProjectId))];
  const projects = await tx.query(selectProjects, { account_id: accountId, project_ids });
  const names = new Map(projects.map(({ project_id, name }) => [project_id, name]));
  const mails = [...groups].map(([group, mailId]) => {
    const projectId = getProjectId(group);
    const projectName = names.get(projectId) ?? projectId;
    const rendered = renderAlertMail(group.alerts, { publicUrl, projectName, now });
    return { mailId, projectId, recipient: group.recipient, ...rendered };
  });
  tx.send(insertMails, {
    account_id: accountId,
    mail_ids: mails.map(({ mailId }) => mailId),
    project_ids: mails.map(({ projectId }) => projectId),
    recipients: mails.map(({ recipient }) => recipient),
    subjects: mails.map(({ subject }) => subject),
    bodies: mails.map(({ text }) => text),
    now,
  });
}

const takenRow = {
  recipient: 'text',
  subject: 'text',
  body: 'text',
  is_confirmation: 'boolean',
  invitation_id: 'uuid?',
  /** When the invitation ends. */
  expires_at: 'timestamptz?',
  /** False if the rules of all its alerts were deleted. */
  is_wanted: 'boolean',
  account_name: 'text?',
  recipient_id: 'uuid?',
  is_refused: 'boolean',
} satisfies ColumnTypes;
export type TakenMail = RowOf<typeof takenRow> & { mail_id: string };

const heldTypes = { account_id: 'uuid', mail_id: 'uuid' } as const;
const isMail = "m.account_id = $account_id and m.mail_id = $mail_id and m.state = 'pending'";
const pickMail = ({ account_id, work_id }: HeldWork) => ({ account_id, mail_id: work_id });

const selectMail = statement(
  { parameters: { ...heldTypes, epoch: 'bigint' }, row: takenRow },
  `
  select m.recipient, m.subject, m.body, m.is_confirmation, m.invitation_id,
    (select i.expires_at from invitation i where i.account_id = m.account_id and i.invitation_id = m.invitation_id) as expires_at,
    m.project_id is null or exists (
      select from alert_mail_part p where p.account_id = m.account_id and p.mail_id = m.mail_id) as is_wanted,
    (select name from account a where a.account_id = m.account_id) as account_name,
    (select recipient_id from mail_recipient p where p.account_id = m.account_id and p.address = lower(m.recipient)) as recipient_id,
    exists (select from mail_recipient p
      where p.account_id = m.account_id and p.address = lower(m.recipient) and p.refused_at is not null)
    or exists (select from mail_address p where p.address = lower(m.recipient) and p.refused_at is not null) as is_refused
  from alert_mail m where ${isMail} and ${isHeldWork('m', 'mail_id')}`,
);

/** @throws LeaseLost */
export async function readMail(read: Read, held: HeldWork): Promise<TakenMail> {
  const mail = pickMail(held);
  const [row] = await read(selectMail, { ...mail, epoch: held.epoch });
  if (row === undefined) throw new LeaseLost();
  return { ...row, mail_id: mail.mail_id };
}

const removeMail = statement({ parameters: heldTypes }, `delete from alert_mail m where ${isMail}`);

/** Removes a mail that tells of no alert any more, with its work. */
export async function removeUnwanted(read: Read, held: HeldWork): Promise<void> {
  await read(removeMail, pickMail(held));
}

const writeSent = statement(
  { parameters: { ...heldTypes, now: 'timestamptz' } },
  `update alert_mail m set state = 'sent', last_error = null, ended_at = $now where ${isMail}`,
);

/** @throws LeaseLost */
export function recordSent({ database }: { database: Database }, held: HeldWork, now: Date): Promise<void> {
  return database.transaction((tx) => {
    tx.send(writeSent, { ...pickMail(held), now });
    return removeWork(tx, held);
  });
}

const writeRetry = statement(
  { parameters: { ...heldTypes, error: 'text' } },
  `update alert_mail m set last_error = $error where ${isMail}`,
);

/** @throws LeaseLost */
export function recordRetry(
  { database }: { database: Database },
  held: HeldWork,
  error: string,
  { dueAt, now }: { dueAt: Date; now: Date },
): Promise<void> {
  return database.transaction(async (tx) => {
    tx.send(writeRetry, { ...pickMail(held), error });
    await releaseWork(tx.query, held, { outcome: 'failed', dueAt, now });
  });
}

const writeDead = statement(
  { parameters: { ...heldTypes, error: 'text', now: 'timestamptz' } },
  `update alert_mail m set state = 'dead', last_error = $error, ended_at = $now where ${isMail}`,
);

/** The first alert of a mail, with its rule. */
const selectAlert = statement(
  {
    parameters: { account_id: 'uuid', mail_id: 'uuid' },
    row: {
      alert_id: 'uuid',
      alert_rule_id: 'uuid',
      project_id: 'uuid',
      name: 'text',
      environment_name: 'text?',
    },
  },
  `
  select a.alert_id, r.alert_rule_id, r.project_id, r.name, a.environment_name
  from alert_mail_part p
  join alert a on a.account_id = p.account_id and a.alert_id = p.alert_id
  join alert_rule r on r.account_id = a.account_id and r.alert_rule_id = a.alert_rule_id
  where p.account_id = $account_id and p.mail_id = $mail_id
  order by a.alert_id limit 1`,
);

/** Gives a mail up, with its event. @throws LeaseLost */
export function recordDead(
  { database, newId }: { database: Database; newId: NewId },
  held: HeldWork,
  { recipient, error, now }: { recipient: string; error: string; now: Date },
): Promise<void> {
  const { account_id: accountId, attempts } = held;
  const source = { accountId, actorId: null, actorKind: 'system', requestId: null } as const;
  return database.transaction(async (tx) => {
    const mail = pickMail(held);
    tx.send(writeDead, { ...mail, error, now });
    const [[row]] = await Promise.all([tx.query(selectAlert, mail), removeWork(tx, held)]);
    // Rules show that an address is not confirmed.
    if (row === undefined) return;
    const { alert_id: alertId, alert_rule_id: id, name, project_id: projectId } = row;
    const event = {
      name: 'alert-mail-failed',
      projectId,
      environmentName: row.environment_name ?? undefined,
      subject: { type: 'alert-rule', id, name },
      after: { alertId, recipient, attempts, error },
    } as const;
    recordEvents(tx, source, [event], now, newId);
  });
}
