/** Which webhooks have something to send, and which server sends it. */

import { addSeconds } from '../../kernel/clock.ts';
import { type ColumnTypes, type Read, type RowOf, statement } from '../../kernel/database/database.ts';
import { countInterruption } from '../../kernel/work/interruption.ts';

const claimRow = { account_id: 'uuid', webhook_id: 'uuid', epoch: 'bigint' } satisfies ColumnTypes;
/** A webhook that this server holds until the end of the lease. */
export type Claim = RowOf<typeof claimRow>;

/**
 * SQL condition: the webhook `w` wants the event `e`. Some events name the webhooks that get them, whatever
 * their filters are.
 */
export const isWanted = `
  ((cardinality(w.event_names) = 0 and e.name <> 'lineage-recorded' or e.name = any (w.event_names))
    and (w.project_id is null or e.project_id = w.project_id)
    and (w.environment_name is null or e.environment_name = w.environment_name)
    or e.name in ('alert-raised', 'webhook-tested') and e.state_after -> 'webhookIds' ? w.webhook_id::text)`;

/** A webhook that is further behind is taken without a search: sending passes over events in small steps. */
const searchedEvents = 10_000;

const hasActive = statement(
  { parameters: { account_id: 'uuid' }, row: { found: 'boolean' } },
  "select exists (select from webhook where account_id = $account_id and state = 'active') as found",
);

export async function hasActiveWebhooks(read: Read, accountId: string): Promise<boolean> {
  const [row] = await read(hasActive, { account_id: accountId });
  return row?.found === true;
}

const take = (chosen: string) => `
  with chosen as materialized (${chosen})
  update webhook w set epoch = w.epoch + 1, lease_until = $lease_until, touched_at = $now, ${countInterruption('w')}
  from chosen where w.account_id = chosen.account_id and w.webhook_id = chosen.webhook_id
  returning w.account_id, w.webhook_id, w.epoch`;
const claimTypes = { lease_until: 'timestamptz', now: 'timestamptz' } as const;

const claimReady = statement(
  { parameters: { ...claimTypes, account_id: 'uuid', limit: 'bigint' }, row: claimRow, alone: true },
  take(`
    select w.account_id, w.webhook_id from webhook w join event_position p on p.account_id = w.account_id
    where w.account_id = $account_id and w.state = 'active' and w.retry_at is null
      and (w.lease_until is null or w.lease_until <= $now) and w.position < p.last_position
      and (w.position < p.removed_position or p.last_position > w.position + ${searchedEvents} or exists (
        select from event e
        where e.account_id = w.account_id and e.position > w.position and e.position <= w.position + ${searchedEvents}
          and ${isWanted}))
    order by w.position limit $limit for update of w skip locked`),
);

const dueRow = { account_id: 'uuid', webhook_id: 'uuid' } satisfies ColumnTypes;
/** A webhook that is due. */
export type DueWebhook = RowOf<typeof dueRow>;

const selectDue = statement(
  {
    parameters: { full_accounts: 'uuid[]', limit: 'bigint', now: 'timestamptz' },
    row: dueRow,
    alone: true,
  },
  `
  select account_id, webhook_id from webhook where due_at <= $now and account_id <> all ($full_accounts::uuid[])
  order by due_at limit $limit`,
);

const claimDue = statement(
  {
    parameters: { ...claimTypes, account_ids: 'uuid[]', webhook_ids: 'uuid[]' },
    row: claimRow,
    alone: true,
  },
  take(`
    select w.account_id, w.webhook_id from unnest($account_ids::uuid[], $webhook_ids::uuid[]) as wanted (account_id, webhook_id)
    join webhook w on w.account_id = wanted.account_id and w.webhook_id = wanted.webhook_id
    where w.due_at <= $now for update of w skip locked`),
);

export interface Claiming {
  leaseSeconds: number;
  now: Date;
}

/** Claims webhooks of an account that want a new event, or that have missed some. */
export function claimReadyWebhooks(
  read: Read,
  accountId: string,
  { limit, leaseSeconds, now }: Claiming & { limit: number },
): Promise<Claim[]> {
  return read(claimReady, {
    account_id: accountId,
    limit,
    lease_until: addSeconds(now, leaseSeconds),
    now,
  });
}

/**
 * Lists webhooks that send something again, and those whose server died, longest due first, without those of
 * accounts that have all their places.
 */
export function listDueWebhooks(
  read: Read,
  asked: { fullAccounts: readonly string[]; limit: number; now: Date },
): Promise<DueWebhook[]> {
  const { fullAccounts, limit, now } = asked;
  return read(selectDue, { full_accounts: fullAccounts, limit, now });
}

/** Claims those that are still due and that no other server claims. */
export function claimDueWebhooks(
  read: Read,
  due: readonly DueWebhook[],
  { leaseSeconds, now }: Claiming,
): Promise<Claim[]> {
  return read(claimDue, {
    account_ids: due.map((each) => each.account_id),
    webhook_ids: due.map((each) => each.webhook_id),
    lease_until: addSeconds(now, leaseSeconds),
    now,
  });
}

const advanceIdle = statement(
  { parameters: { account_id: 'uuid' }, alone: true },
  `
  update webhook w set position = p.last_position from event_position p
  where w.account_id = $account_id and p.account_id = $account_id and w.state = 'active' and w.lease_until is null
    and w.retry_at is null and w.position < p.last_position and w.position >= p.removed_position
    and p.last_position <= w.position + ${searchedEvents}
    and not exists (
      select from event e
      where e.account_id = w.account_id and e.position > w.position and e.position <= p.last_position and ${isWanted})`,
);

/** Moves the webhooks of an account that want no event of the log to its end. */
export async function advanceIdleWebhooks(read: Read, accountId: string): Promise<void> {
  await read(advanceIdle, { account_id: accountId });
}

const selectWaiting = statement(
  { row: { account_id: 'uuid' }, alone: true },
  `
  select p.account_id from event_position p cross join lateral (
    select true from webhook w
    where w.account_id = p.account_id and w.state = 'active' and w.lease_until is null and w.retry_at is null
      and w.position < p.last_position
    limit 1) waiting (yes)
  order by p.account_id limit 1000`,
);

/** Lists accounts with events that a webhook has not dealt with: this server may have missed their notification. */
export async function listWaitingAccounts(read: Read): Promise<string[]> {
  return (await read(selectWaiting, {})).map((row) => row.account_id);
}

const hasten = statement(
  { parameters: { now: 'timestamptz', latest: 'timestamptz' }, alone: true },
  `
  update webhook set retry_at = case when retry_at > $now then $now else retry_at end,
    redelivery_at = case when redelivery_at > $now then $now else redelivery_at end,
    lease_until = case when lease_until > $now then $now else lease_until end, touched_at = $now
  where touched_at > $latest and due_at is not null`,
);

/** Clocks of servers may differ by this. */
const clockDifferenceSeconds = 60;

/** Makes webhooks due that were worked on in the future: the clock was moved back. */
export async function hastenAfterClockChange(read: Read, now: Date): Promise<void> {
  await read(hasten, { now, latest: addSeconds(now, clockDifferenceSeconds) });
}

const selectOldest = statement(
  { row: { oldest: 'timestamptz?' } },
  "select min(first_attempt_at) as oldest from webhook_delivery where status = 'pending'",
);

/** The first attempt of the delivery that has been sent again for the longest time. */
export async function readOldestWaiting(read: Read): Promise<Date | undefined> {
  const [row] = await read(selectOldest, {});
  return row?.oldest ?? undefined;
}
