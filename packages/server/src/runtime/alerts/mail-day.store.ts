/** The table `mail_day`: how many mails an account may still write today. All servers count in it. */
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

/**
 * Returns how many of these mails the account may write today. The first that it may not leaves an event, once a day.
 */
export async function reserveMails(
  tx: Transaction,
  accountId: string,
  count: number,
  { limit, now, newId }: { limit: number; now: Date; newId: NewId },
): Promise<number> {
  const place = { account_id: accountId, now };
  const [day] = await tx.query(lockDay, place);
  if (day === undefined) throw new Error('The statement lockDay returned no row.');
  const mails = Math.max(0, Math.min(count, limit - day.mails));
  const withheld = count - mails;
  tx.send(countDay, { ...place, mails, withheld });
  if (day.mails === 0 && day.withheld === 0) tx.send(removeDays, place);
  if (withheld > 0 && day.withheld === 0) {
    const source = { accountId, actorId: null, actorKind: 'system', requestId: null } as const;
    const subject = { type: 'account', id: accountId };
    const after = { limit, day: now.toISOString().slice(0, 10) };
    recordEvents(tx, source, [{ name: 'alert-mail-limit-reached', subject, after }], now, newId);
  }
  return mails;
}
