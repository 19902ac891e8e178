/** The tables `mail_recipient` and `mail_address`: who may get mails, and who was asked (docs/adr/0080). */
import { type Read, statement, type Transaction } from '../../kernel/database/database.ts';
import { recordEvents } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { chooseConfirmations, countConfirmationMails, countMails, lockMailDay } from './mail-day.store.ts';
import { digestToken, makeConfirmationToken } from './mail-links.ts';

export interface MailLimits {
  /** Of an account, on a day in UTC. */
  perDay: number;
  /** Domains of the operator, in lower case: their addresses need no confirmation. */
  domains: readonly string[];
}

export interface RecipientServices {
  newId: NewId;
  sealer: Sealer;
  /** `mail` undefined: nobody is asked, because nothing can be sent. */
  config: { mail: object | undefined; mailLimits: MailLimits };
}

/** Confirmation mails to an address on a day, of all accounts together. */
export const mostAskedOnDay = 10;
const dayMilliseconds = 86_400_000;
const longestWaitDays = 16;
export const linkDays = 7;
/** How long a recipient that never answered, or an address, is kept. */
const keptDays = 30;

/** The kind of work that sends a mail. */
export const mailKind = 'alert-mail';

export const normalizeAddress = (email: string) => email.toLowerCase();

export const isOfOperator = (email: string, { domains }: MailLimits) =>
  domains.includes(normalizeAddress(email).replace(/^[^@]*@/, ''));

const standings = {
  refused: 'coalesce(p.refused_at, m.refused_at) is not null',
  unconfirmed: 'p.confirmed_at is null',
  unasked: 'coalesce(p.asked_at, p.confirmed_at, p.refused_at, m.refused_at) is null',
};

/**
 * SQL: the addresses of `emails`, an expression, whose owners refuse mails, have not confirmed them, or were never
 * asked.
 */
export const listEmails = (emails: string, which: keyof typeof standings) => `
    array(
      select g.email from unnest(${emails}) with ordinality as g (email, number)
      left join mail_recipient p on p.account_id = $account_id and p.address = lower(g.email)
      left join mail_address m on m.address = lower(g.email)
      where ${standings[which]}
      order by g.number)`;

export interface EmailStandings {
  refused_emails: readonly string[];
  unconfirmed_emails: readonly string[];
  unasked_emails: readonly string[];
}

/** Addresses of a rule that get no mail. */
export interface SilentRecipients {
  unconfirmed: string[];
  /** Those whose owners were never asked. */
  unasked: string[];
}

export function listSilentRecipients(
  emails: readonly string[],
  { refused_emails: refused, unconfirmed_emails: unconfirmed, unasked_emails: unasked }: EmailStandings,
  limits: MailLimits,
): SilentRecipients {
  const others = emails.filter((email) => !isOfOperator(email, limits));
  return {
    unconfirmed: emails.filter(
      (email) => refused.includes(email) || (unconfirmed.includes(email) && others.includes(email)),
    ),
    unasked: others.filter((email) => unasked.includes(email)),
  };
}

const selectRecipients = statement(
  {
    parameters: { account_id: 'uuid', addresses: 'text[]' },
    row: {
      address: 'text',
      is_known: 'boolean',
      is_confirmed: 'boolean',
      is_refused: 'boolean',
      asked_at: 'timestamptz?',
      asks: 'integer',
    },
  },
  `
  select g.address, p.recipient_id is not null as is_known, p.confirmed_at is not null as is_confirmed,
    coalesce(p.refused_at, m.refused_at) is not null as is_refused, p.asked_at, coalesce(p.asks, 0) as asks
  from unnest($addresses::text[]) as g (address)
  left join mail_recipient p on p.account_id = $account_id and p.address = g.address
  left join mail_address m on m.address = g.address`,
);

const insertRecipients = statement(
  { parameters: { account_id: 'uuid', recipient_ids: 'uuid[]', addresses: 'text[]', now: 'timestamptz' } },
  `
  insert into mail_recipient (account_id, address, recipient_id, created_at)
  select $account_id, g.address, g.recipient_id, $now
  from unnest($recipient_ids::uuid[], $addresses::text[]) as g (recipient_id, address)
  order by g.address
  on conflict (account_id, address) do nothing`,
);

/**
 * When the account may ask an address again. The wait doubles, so that few accounts cannot use up the asks of an
 * address.
 */
function computeNextAsk(asked: Date, asks: number): number {
  return asked.getTime() + Math.min(2 ** (asks - 1), longestWaitDays) * dayMilliseconds;
}

/** A recipient, and the project whose rule names it. */
export interface NamedRecipient {
  email: string;
  projectId: string;
}

export interface Admission {
  /** Those that get mails of the account, in lower case. */
  admitted: Set<string>;
  /** Those, in lower case, whose owners were never asked: a limit of the day was reached. */
  unasked: Set<string>;
}

/**
 * Chooses the recipients that may get mails of the account, and asks the owners of the others by a mail, within limits.
 */
export async function admitRecipients(
  tx: Transaction,
  accountId: string,
  named: readonly NamedRecipient[],
  services: RecipientServices,
  now: Date,
): Promise<Admission> {
  // An address that several projects name counts for the first.
  const projects = new Map<string, string>();
  for (const { email, projectId } of named) {
    const address = normalizeAddress(email);
    if (!projects.has(address)) projects.set(address, projectId);
  }
  const addresses = [...projects.keys()].toSorted();
  if (addresses.length === 0) return { admitted: new Set(), unasked: new Set() };
  const { newId, config } = services;
  const found = await tx.query(selectRecipients, { account_id: accountId, addresses });
  const willing = found.filter(({ is_refused }) => !is_refused);
  const admitted = willing.filter(
    ({ address, is_confirmed }) => is_confirmed || isOfOperator(address, config.mailLimits),
  );
  // Their mails need a link by which they can be refused.
  const unknown = admitted.filter(({ is_known }) => !is_known).map(({ address }) => address);
  if (unknown.length > 0)
    tx.send(insertRecipients, {
      account_id: accountId,
      recipient_ids: unknown.map(newId),
      addresses: unknown,
      now,
    });
  const isAdmitted = new Set(admitted);
  const unconfirmed = willing.filter((each) => !isAdmitted.has(each));
  const due = unconfirmed.filter(
    ({ asked_at, asks }) => asked_at === null || computeNextAsk(asked_at, asks) <= now.getTime(),
  );
  const requests = due.map(({ address }) => ({ address, projectId: projects.get(address) ?? '' }));
  const queries =
    config.mail === undefined || requests.length === 0
      ? new Set<string>()
      : await askToConfirm(tx, accountId, requests, services, now);
  const unasked = unconfirmed.filter(({ address, asked_at }) => asked_at === null && !queries.has(address));
  return {
    admitted: new Set(admitted.map(({ address }) => address)),
    unasked: new Set(unasked.map(({ address }) => address)),
  };
}

export const countAsked = statement(
  { parameters: { addresses: 'text[]', most: 'integer', now: 'timestamptz' }, row: { address: 'text' } },
  `
  insert into mail_address (address, asked_on, asked)
  select g.address, ($now::timestamptz at time zone 'UTC')::date, 1 from unnest($addresses::text[]) as g (address) order by g.address
  on conflict (address) do update set
    asked = case when mail_address.asked_on = excluded.asked_on then mail_address.asked + 1 else 1 end,
    asked_on = excluded.asked_on
  where mail_address.asked_on <> excluded.asked_on or mail_address.asked < $most::integer
  returning address`,
);

const insertConfirmations = statement(
  {
    parameters: {
      account_id: 'uuid',
      mail_ids: 'uuid[]',
      recipient_ids: 'uuid[]',
      addresses: 'text[]',
      digests: 'bytea[]',
      expires_at: 'timestamptz',
      now: 'timestamptz',
    },
  },
  `
  with given as (
    select * from unnest($mail_ids::uuid[], $recipient_ids::uuid[], $addresses::text[], $digests::bytea[])
      as g (mail_id, recipient_id, address, digest)
  ), asked as (
    insert into mail_recipient (account_id, address, recipient_id, token_digest, token_expires_at, asked_at, asks, created_at)
    select $account_id, g.address, g.recipient_id, g.digest, $expires_at, $now, 1, $now from given g order by g.address
    on conflict (account_id, address) do update set
      token_digest = excluded.token_digest, token_expires_at = excluded.token_expires_at, asked_at = excluded.asked_at,
      asks = mail_recipient.asks + 1
  ), work as (
    insert into server_work (account_id, work_id, kind, due_at) select $account_id, g.mail_id, '${mailKind}', $now from given g
  )
  insert into alert_mail (account_id, mail_id, is_confirmation, recipient, subject, body, state, created_at)
  select $account_id, g.mail_id, true, g.address, '', '', 'pending', $now from given g`,
);

/** Returns the addresses to which a mail was written. */
async function askToConfirm(
  tx: Transaction,
  accountId: string,
  requests: readonly { address: string; projectId: string }[],
  { newId, sealer, config }: RecipientServices,
  now: Date,
): Promise<Set<string>> {
  const limit = config.mailLimits.perDay;
  const day = await lockMailDay(tx, accountId, now);
  const chosen = await chooseConfirmations(tx, accountId, requests, { limit, now });
  const allowed = chosen.slice(0, Math.max(0, limit - day.mails));
  // Last, because what a limit of the account withholds is no ask of the address.
  const addresses = allowed.map(({ address }) => address);
  const counted =
    addresses.length === 0 ? [] : await tx.query(countAsked, { addresses, most: mostAskedOnDay, now });
  const isCounted = new Set(counted.map(({ address }) => address));
  const written = allowed.filter(({ address }) => isCounted.has(address));
  const counts = { mails: written.length, withheld: chosen.length - allowed.length };
  countMails(tx, accountId, day, counts, { limit, now, newId });
  if (written.length === 0) return isCounted;
  const projectIds = written.map(({ projectId }) => projectId);
  countConfirmationMails(tx, accountId, projectIds, now);
  const queries = written.map(({ address }) => ({ address, mailId: newId() }));
  tx.send(insertConfirmations, {
    account_id: accountId,
    mail_ids: queries.map(({ mailId }) => mailId),
    recipient_ids: queries.map(newId),
    addresses: queries.map(({ address }) => address),
    digests: queries.map(({ mailId }) => digestToken(sealer, makeConfirmationToken(sealer, mailId))),
    expires_at: new Date(now.getTime() + linkDays * dayMilliseconds),
    now,
  });
  return isCounted;
}

const linkedRow = {
  account_id: 'uuid',
  account_name: 'text',
  recipient_id: 'uuid',
  address: 'text',
  is_confirmed: 'boolean',
  is_refused: 'boolean',
} as const;
const selectLinked = `
  select p.account_id, a.name as account_name, p.recipient_id, p.address, p.confirmed_at is not null as is_confirmed,
    coalesce(p.refused_at, m.refused_at) is not null as is_refused
  from mail_recipient p join account a on a.account_id = p.account_id
  left join mail_address m on m.address = p.address`;

const findById = statement(
  { parameters: { recipient_id: 'uuid' }, row: linkedRow },
  `${selectLinked} where p.recipient_id = $recipient_id`,
);
const findByToken = statement(
  { parameters: { digest: 'bytea', now: 'timestamptz' }, row: linkedRow },
  `${selectLinked} where p.token_digest = $digest and p.token_expires_at > $now`,
);

export interface Recipient {
  account_id: string;
  account_name: string;
  recipient_id: string;
  address: string;
  is_confirmed: boolean;
  is_refused: boolean;
}

export const findRecipient = async (read: Read, recipientId: string): Promise<Recipient | undefined> =>
  (await read(findById, { recipient_id: recipientId }))[0];

/** Undefined for a link that is unknown, has expired, or was replaced by a later one. */
export const findAsked = async (read: Read, digest: Buffer, now: Date): Promise<Recipient | undefined> =>
  (await read(findByToken, { digest, now }))[0];

const answerParameters = { account_id: 'uuid', address: 'text', now: 'timestamptz' } as const;
const writeAnswer = statement(
  { parameters: { ...answerParameters, is_confirmed: 'boolean' } },
  `
  update mail_recipient set confirmed_at = case when $is_confirmed::boolean then $now::timestamptz end,
    refused_at = case when $is_confirmed::boolean then null else $now::timestamptz end
  where account_id = $account_id and address = $address`,
);
const permitAddress = statement(
  { parameters: { address: 'text' } },
  'update mail_address set refused_at = null where address = $address',
);
const refuseAddress = statement(
  { parameters: { address: 'text', now: 'timestamptz' } },
  `
  insert into mail_address (address, refused_at, asked_on, asked)
  values ($address, $now, ($now::timestamptz at time zone 'UTC')::date, 0)
  on conflict (address) do update set refused_at = excluded.refused_at`,
);

export type MailAnswer = 'confirm' | 'refuse' | 'refuse-all';

/** Writes what the owner of an address answered, with its event. */
export function recordAnswer(
  tx: Transaction,
  { account_id, recipient_id: id, address }: Recipient,
  answer: MailAnswer,
  { now, newId }: { now: Date; newId: NewId },
): void {
  const is_confirmed = answer === 'confirm';
  if (is_confirmed) tx.send(permitAddress, { address });
  if (answer === 'refuse-all') tx.send(refuseAddress, { address, now });
  tx.send(writeAnswer, { account_id, address, is_confirmed, now });
  const source = { accountId: account_id, actorId: null, actorKind: 'system', requestId: null } as const;
  const name = is_confirmed ? 'mail-recipient-confirmed' : 'mail-recipient-refused';
  const subject = { type: 'mail-recipient', id, name: address };
  recordEvents(tx, source, [{ name, subject, after: { address } }], now, newId);
}

const removeUnanswered = statement(
  {
    parameters: { before: 'timestamptz', most: 'bigint' },
    row: { removed: 'integer' },
    alone: true,
  },
  `
  with recipients as (
    delete from mail_recipient where ctid = any (array(
      select ctid from mail_recipient
      where confirmed_at is null and refused_at is null and asked_at < $before order by asked_at limit $most))
    returning true
  ), addresses as (
    delete from mail_address where ctid = any (array(
      select ctid from mail_address
      where refused_at is null and asked_on < ($before::timestamptz at time zone 'UTC')::date order by asked_on limit $most))
    returning true
  )
  select greatest((select count(*) from recipients), (select count(*) from addresses))::integer as removed`,
);

/** Removes recipients that never answered, and counts of addresses that are old. */
export async function removeUnansweredRecipients(read: Read, now: Date, most: number): Promise<number> {
  const before = new Date(now.getTime() - keptDays * dayMilliseconds);
  return (await read(removeUnanswered, { before, most }))[0]?.removed ?? 0;
}
