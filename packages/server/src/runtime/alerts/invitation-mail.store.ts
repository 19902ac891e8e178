/** Mails of invitations: they go to people who did not ask for them, so they count as asks for a confirmation do. */
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { reserveMails } from './mail-day.store.ts';
import {
  countAsked,
  mailKind,
  mostAskedOnDay,
  normalizeAddress,
  type RecipientServices,
} from './mail-recipient.store.ts';

const selectRefused = statement(
  { parameters: { account_id: 'uuid', address: 'text' }, row: { is_refused: 'boolean' } },
  `
  select exists (
    select from mail_recipient p where p.account_id = $account_id and p.address = $address and p.refused_at is not null)
  or exists (select from mail_address m where m.address = $address and m.refused_at is not null) as is_refused`,
);

const insertInvitationMail = statement(
  {
    parameters: {
      account_id: 'uuid',
      mail_id: 'uuid',
      invitation_id: 'uuid',
      recipient_id: 'uuid',
      address: 'text',
      recipient: 'text',
      now: 'timestamptz',
    },
  },
  `
  with recipient as (
    -- The mail needs a link by which its recipient refuses more.
    insert into mail_recipient (account_id, address, recipient_id, asked_at, asks, created_at)
    values ($account_id, $address, $recipient_id, $now, 1, $now)
    on conflict (account_id, address) do nothing
  ), work as (
    insert into server_work (account_id, work_id, kind, due_at) values ($account_id, $mail_id, '${mailKind}', $now)
  )
  insert into alert_mail (account_id, mail_id, invitation_id, recipient, subject, body, state, created_at)
  values ($account_id, $mail_id, $invitation_id, $recipient, '', '', 'pending', $now)`,
);

/** Returns why no mail can be sent to the address. Nothing is to be written then. */
export async function writeInvitationMail(
  tx: Transaction,
  { accountId, invitationId, email }: { accountId: string; invitationId: string; email: string },
  { newId, config }: Pick<RecipientServices, 'newId' | 'config'>,
  now: Date,
): Promise<string | undefined> {
  if (config.mail === undefined)
    return 'This server sends no e-mail: its operator has not set HEADGATE_SMTP_URL and HEADGATE_SMTP_FROM.';
  const address = normalizeAddress(email);
  const [found] = await tx.query(selectRefused, { account_id: accountId, address });
  if (found?.is_refused === true) return 'The owner of the address refuses mails.';
  const limit = config.mailLimits.perDay;
  if ((await reserveMails(tx, accountId, 1, { limit, now, newId })) === 0)
    return `The account has written ${limit} mails today, its limit (HEADGATE_MAIL_PER_DAY).`;
  const counted = await tx.query(countAsked, { addresses: [address], most: mostAskedOnDay, now });
  if (counted.length === 0) return 'Too many mails that nobody asked for went to the address today.';
  tx.send(insertInvitationMail, {
    account_id: accountId,
    mail_id: newId(),
    invitation_id: invitationId,
    recipient_id: newId(),
    address,
    recipient: email,
    now,
  });
  return undefined;
}
