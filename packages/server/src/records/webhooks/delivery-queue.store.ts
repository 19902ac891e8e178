/** Which webhooks have something to send. */

import { addSeconds } from '../../kernel/clock.ts';
import { type Read, statement } from '../../kernel/database/database.ts';
import type { DueWork } from '../../kernel/work/due-work.ts';

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

/** SQL condition: no server holds the webhook `w`. */
const isFree = `exists (
      select from server_work s
      where s.account_id = w.account_id and s.work_id = w.webhook_id and s.lease_until is null)`;

const hasActive = statement(
  { parameters: { account_id: 'uuid' }, row: { found: 'boolean' } },
  "select exists (select from webhook where account_id = $account_id and state = 'active') as found",
);

export async function hasActiveWebhooks(read: Read, accountId: string): Promise<boolean> {
  const [row] = await read(hasActive, { account_id: accountId });
  return row?.found === true;
}

const selectReady = statement(
  {
    parameters: { account_id: 'uuid', limit: 'bigint' },
    row: { account_id: 'uuid', work_id: 'uuid' },
    alone: true,
  },
  `
  select w.account_id, w.webhook_id as work_id
  from webhook w join event_position p on p.account_id = w.account_id
  where w.account_id = $account_id and w.state = 'active' and w.retry_at is null and ${isFree} and w.position < p.last_position
    and (w.position < p.removed_position or p.last_position > w.position + ${searchedEvents} or exists (
      select from event e
      where e.account_id = w.account_id and e.position > w.position and e.position <= w.position + ${searchedEvents}
        and ${isWanted}))
  order by w.position limit $limit`,
);

/** Lists webhooks of an account that want a new event, or that have missed some. */
export function listReadyWebhooks(read: Read, accountId: string, limit: number): Promise<DueWork[]> {
  return read(selectReady, { account_id: accountId, limit });
}

const advanceIdle = statement(
  { parameters: { account_id: 'uuid' }, alone: true },
  `
  update webhook w set position = p.last_position from event_position p
  where w.account_id = $account_id and p.account_id = $account_id and w.state = 'active' and ${isFree}
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
    where w.account_id = p.account_id and w.state = 'active' and w.retry_at is null and w.position < p.last_position
      and ${isFree}
    limit 1) waiting (yes)
  order by p.account_id limit 1000`,
);

/** Lists accounts with events that a webhook has not dealt with: this server may have missed their notification. */
export async function listWaitingAccounts(read: Read): Promise<string[]> {
  return (await read(selectWaiting, {})).map((row) => row.account_id);
}

/** In one look; those that are left come with the next one. */
const mostHastened = 100;

const hasten = statement(
  { parameters: { now: 'timestamptz', latest: 'timestamptz' }, alone: true },
  `
  with future as materialized (
    select account_id, webhook_id from webhook
    where touched_at > $latest and (retry_at is not null or redelivery_at is not null) limit ${mostHastened}
  ), hastened as (
    update webhook w set retry_at = case when retry_at > $now then $now else retry_at end,
      redelivery_at = case when redelivery_at > $now then $now else redelivery_at end, touched_at = $now
    from future where w.account_id = future.account_id and w.webhook_id = future.webhook_id
    returning w.account_id, w.webhook_id, w.state
  )
  update server_work s set due_at = $now from hastened h
  where s.account_id = h.account_id and s.work_id = h.webhook_id and h.state = 'active'`,
);

/** Clocks of servers may differ by this. */
const clockDifferenceSeconds = 60;

/** Makes webhooks due that failed in the future: the clock was moved back. */
export async function hastenRetries(read: Read, now: Date): Promise<void> {
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
