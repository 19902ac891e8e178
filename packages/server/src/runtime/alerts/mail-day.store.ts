/**
 * The tables `mail_day` and `confirmation_day`: how many mails may still be written today. All servers count in them.
 */
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { recordEvents } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';

const dayParameters = { account_id: 'uuid', now: 'timestamptz' } as const;
const today = "($now::timestamptz at time zone 'UTC')::date";

// The update locks the row for the rest of the transaction.
const lockDay = statement(
  { parameters: dayParameters, row: { mails: 'integer', withheld: 'integer' } },
  `
  insert into mail_day (account_id, day, mails, withheld) values ($account_id, ${today}, 0, 0)
  on conflict (account_id, day) do update set mails = mail_day.mails
  returning mails, withheld`,
);

const countDay = statement(
  { parameters: { ...dayParameters, mails: 'integer', withheld: 'integer' } },
  `
  update mail_day set mails = mail_day.mails + $mails::integer, withheld = mail_day.withheld + $withheld::integer
  where account_id = $account_id and day = ${today}`,
);

const removeDays = statement(
  { parameters: dayParameters },
  `delete from mail_day where account_id = $account_id and day < ${today} - 7`,
);

const confirmationParameters = { ...dayParameters, project_ids: 'uuid[]' } as const;

const selectConfirmations = statement(
  { parameters: confirmationParameters, row: { project_id: 'uuid', mails: 'integer' } },
  `
  select project_id, mails from confirmation_day
  where account_id = $account_id and project_id = any ($project_ids::uuid[]) and day = ${today}`,
);

const countConfirmations = statement(
  { parameters: confirmationParameters },
  `
  insert into confirmation_day (account_id, project_id, day, mails)
  select $account_id, g.project_id, ${today}, count(*) from unnest($project_ids::uuid[]) as g (project_id) group by g.project_id
  on conflict (account_id, project_id, day) do update set mails = confirmation_day.mails + excluded.mails`,
);

const removeConfirmations = statement(
  { parameters: confirmationParameters },
  `
  delete from confirmation_day
  where account_id = $account_id and project_id = any ($project_ids::uuid[]) and day < ${today} - 7`,
);

const mostConfirmations = 20;

/** Confirmation mails of a project on a day: they leave the account mails for its alerts. */
const computeConfirmationLimit = (mailsOfAccount: number) =>
  Math.min(mostConfirmations, Math.ceil(mailsOfAccount / 2));

export interface MailDay {
  mails: number;
  withheld: number;
}

interface DayServices {
  /** Mails of the account. */
  limit: number;
  now: Date;
  newId: NewId;
}

/** Locks the counts of the account, and with them those of its projects, for the rest of the transaction. */
export async function lockMailDay(tx: Transaction, accountId: string, now: Date): Promise<MailDay> {
  const [day] = await tx.query(lockDay, { account_id: accountId, now });
  if (day === undefined) throw new Error('The statement lockDay returned no row.');
  return day;
}

/** Counts mails of the account. The first that is withheld leaves an event, once a day. */
export function countMails(
  tx: Transaction,
  accountId: string,
  day: MailDay,
  { mails, withheld }: MailDay,
  { limit, now, newId }: DayServices,
): void {
  const place = { account_id: accountId, now };
  tx.send(countDay, { ...place, mails, withheld });
  if (day.mails === 0 && day.withheld === 0) tx.send(removeDays, place);
  if (withheld > 0 && day.withheld === 0) {
    const source = { accountId, actorId: null, actorKind: 'system', requestId: null } as const;
    const subject = { type: 'account', id: accountId };
    const after = { limit, day: now.toISOString().slice(0, 10) };
    recordEvents(tx, source, [{ name: 'alert-mail-limit-reached', subject, after }], now, newId);
  }
}

/** Returns how many of these mails the account may write today, and counts them. */
export async function reserveMails(
  tx: Transaction,
  accountId: string,
  count: number,
  services: DayServices,
): Promise<number> {
  const day = await lockMailDay(tx, accountId, services.now);
  const mails = Math.max(0, Math.min(count, services.limit - day.mails));
  countMails(tx, accountId, day, { mails, withheld: count - mails }, services);
  return mails;
}

/** Returns those of the requests that their projects may still make today. The day is locked. */
export async function chooseConfirmations<Request extends { projectId: string }>(
  tx: Transaction,
  accountId: string,
  requests: readonly Request[],
  { limit, now }: Pick<DayServices, 'limit' | 'now'>,
): Promise<Request[]> {
  const project_ids = [...new Set(requests.map(({ projectId }) => projectId))];
  const counted = await tx.query(selectConfirmations, { account_id: accountId, project_ids, now });
  const mails = new Map(counted.map((row) => [row.project_id, row.mails]));
  const most = computeConfirmationLimit(limit);
  return requests.filter(({ projectId }) => {
    const before = mails.get(projectId) ?? 0;
    mails.set(projectId, before + 1);
    return before < most;
  });
}

/** @param projectIds the project of each mail */
export function countConfirmationMails(
  tx: Transaction,
  accountId: string,
  projectIds: readonly string[],
  now: Date,
): void {
  const counted = { account_id: accountId, project_ids: projectIds, now };
  tx.send(countConfirmations, counted);
  tx.send(removeConfirmations, counted);
}
