/** What one webhook has to send, and the results. */
import type { DeliveryStatus, EventName, WebhookFormat } from '@headgate/contract';
import {
  type ColumnTypes,
  type Database,
  type Read,
  type RowOf,
  statement,
  typed,
} from '../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { type HeldWork, isHeldWork, releaseWork, writeAsHolder } from '../../kernel/work/server-work.ts';
import { dueOf } from './webhook.store.ts';
import { buildWebhookEvent } from './webhook-event.ts';

const keyTypes = { account_id: 'uuid', webhook_id: 'uuid' } as const;
const isWebhook = 'w.account_id = $account_id and w.webhook_id = $webhook_id';

/** A webhook that this server holds. Its id is that of its work. */
export interface Claim extends HeldWork {
  webhook_id: string;
}
const keyOf = ({ account_id, webhook_id }: Claim) => ({ account_id, webhook_id });

const placeRow = {
  name: 'text',
  url: 'text',
  format: typed<WebhookFormat>('text'),
  state: typed<'active' | 'paused'>('text'),
  position: 'bigint',
  retry_at: 'timestamptz?',
  redelivery_at: 'timestamptz?',
  failing_since: 'timestamptz?',
  sealed_secret: 'bytea',
  sealed_previous_secret: 'bytea?',
  owner_id: 'uuid',
  removed_position: 'bigint',
  head_position: 'bigint?',
  head_attempts: 'integer?',
  head_id: 'uuid?',
  head_name: typed<EventName | null>('text'),
} satisfies ColumnTypes;
export type WebhookPlace = RowOf<typeof placeRow>;

const selectPlace = statement(
  { parameters: { ...keyTypes, epoch: 'bigint', now: 'timestamptz' }, row: placeRow },
  `
  select w.name, w.url, w.format, w.state, w.position, w.retry_at, w.redelivery_at, w.failing_since, w.sealed_secret,
    case when w.previous_secret_until > $now then w.sealed_previous_secret end as sealed_previous_secret, w.owner_id,
    coalesce((select p.removed_position from event_position p where p.account_id = w.account_id), 0) as removed_position,
    head.position as head_position, head.attempts as head_attempts, head.delivery_id as head_id, head.event_name as head_name
  from webhook w left join lateral (
    select d.position, d.attempts, d.delivery_id, d.event_name from webhook_delivery d
    where d.account_id = w.account_id and d.webhook_id = w.webhook_id and d.status = 'pending' and d.position > w.position
    order by d.position limit 1) head on true
  where ${isWebhook} and ${isHeldWork('w', 'webhook_id')}`,
);

/** Undefined if this server does not hold the webhook any more. */
export async function readPlace(read: Read, claim: Claim, now: Date): Promise<WebhookPlace | undefined> {
  const [place] = await read(selectPlace, { ...keyOf(claim), epoch: claim.epoch, now });
  return place;
}

/** The result of an attempt: a row of `webhook_delivery`. */
export interface AttemptResult {
  position: number;
  delivery_id: string;
  event_name: EventName;
  status: DeliveryStatus;
  attempts: number;
  last_status: number | null;
  last_error: string | null;
  last_attempt_at: Date;
  next_attempt_at: Date | null;
}

export interface Progress {
  results: readonly AttemptResult[];
  /** The webhook has dealt with all events up to here. */
  position: number;
  /** When the head is sent again; null if it does not fail. */
  retryAt: Date | null;
  /** The `retryAt` that was read or written last. If a request has changed it since, the earlier time counts. */
  knownRetryAt: Date | null;
  now: Date;
}

const writeProgress = statement(
  {
    parameters: {
      ...keyTypes,
      position: 'bigint',
      retry_at: 'timestamptz?',
      known_retry_at: 'timestamptz?',
      now: 'timestamptz',
      last_delivery_at: 'timestamptz?',
      last_status: 'smallint?',
      succeeded: 'boolean',
      failing_since: 'timestamptz?',
      results: 'jsonb',
    },
    row: { state: 'text', retry_at: 'timestamptz?', failing_since: 'timestamptz?' },
  },
  `
  with held as (
    update webhook w set position = greatest(w.position, $position), touched_at = $now,
      retry_at = case when w.retry_at is distinct from $known_retry_at and w.retry_at < $retry_at then w.retry_at else $retry_at end,
      last_delivery_at = coalesce($last_delivery_at, w.last_delivery_at),
      last_status = case when $last_delivery_at::timestamptz is null then w.last_status else $last_status end,
      failing_since = case when $succeeded then $failing_since else coalesce(w.failing_since, $failing_since) end
    where ${isWebhook}
    returning w.state, w.retry_at, w.failing_since
  ), written as (
    insert into webhook_delivery (account_id, webhook_id, position, delivery_id, event_name, status, attempts, last_status,
      last_error, first_attempt_at, last_attempt_at, next_attempt_at, ended_at)
    select $account_id, $webhook_id, r.position, r.delivery_id, r.event_name, r.status, r.attempts, r.last_status,
      r.last_error, r.last_attempt_at, r.last_attempt_at, r.next_attempt_at,
      case when r.status <> 'pending' then r.last_attempt_at end
    from held cross join jsonb_to_recordset($results) as r (
      position bigint, delivery_id uuid, event_name text, status text, attempts integer, last_status smallint,
      last_error text, last_attempt_at timestamptz, next_attempt_at timestamptz)
    on conflict (account_id, webhook_id, position) do update set status = excluded.status, attempts = excluded.attempts,
      last_status = excluded.last_status, last_error = excluded.last_error, last_attempt_at = excluded.last_attempt_at,
      next_attempt_at = excluded.next_attempt_at, ended_at = excluded.ended_at
  )
  select state, retry_at, failing_since from held`,
);

/** Writes results. Undefined if the webhook was deleted. @throws LeaseLost */
export async function recordProgress(
  database: Database,
  claim: Claim,
  { results, position, retryAt, knownRetryAt, now }: Progress,
): Promise<{ state: string; retry_at: Date | null; failing_since: Date | null } | undefined> {
  const last = results.at(-1);
  const lastSuccess = results.findLastIndex((result) => result.status === 'delivered');
  const firstFailure = results.slice(lastSuccess + 1).find((result) => result.last_error !== null);
  const parameters = {
    ...keyOf(claim),
    position,
    retry_at: retryAt,
    known_retry_at: knownRetryAt,
    now,
    last_delivery_at: last?.last_attempt_at ?? null,
    last_status: last?.last_status ?? null,
    succeeded: lastSuccess >= 0,
    failing_since: firstFailure?.last_attempt_at ?? null,
    results: JSON.stringify(results),
  };
  const [held] = await writeAsHolder(database, claim, (tx) => tx.query(writeProgress, parameters));
  return held;
}

const postpone = statement(
  {
    parameters: {
      account_id: 'uuid',
      webhook_id: 'uuid',
      position: 'bigint',
      next_attempt_at: 'timestamptz',
    },
  },
  `
  update webhook_delivery set next_attempt_at = $next_attempt_at
  where account_id = $account_id and webhook_id = $webhook_id and status = 'pending' and position <= $position
    and next_attempt_at < $next_attempt_at`,
);

/** Redeliveries are sent in order: those behind one that failed wait for it. */
export async function postponeRedeliveries(
  read: Read,
  { account_id, webhook_id }: Claim,
  position: number,
  until: Date,
): Promise<void> {
  await read(postpone, { account_id, webhook_id, position, next_attempt_at: until });
}

const lockOne = statement({ parameters: keyTypes }, `select from webhook w where ${isWebhook} for update`);
const updateRedelivery = statement(
  { parameters: keyTypes, row: { due_at: 'timestamptz?' } },
  `
  update webhook w set redelivery_at = (
    select min(d.next_attempt_at) from webhook_delivery d
    where d.account_id = w.account_id and d.webhook_id = w.webhook_id and d.status = 'pending' and d.position <= w.position)
  where ${isWebhook} returning ${dueOf('w')} as due_at`,
);

/** Ends the lease. The second statement sees redeliveries that a request wrote before it got the lock. */
export function releaseWebhook(database: Database, claim: Claim, now: Date): Promise<void> {
  return database.transaction(async (tx) => {
    tx.send(lockOne, keyOf(claim));
    const [row] = await tx.query(updateRedelivery, keyOf(claim));
    await releaseWork(tx.query, claim, { outcome: 'ended', dueAt: row?.due_at ?? null, now });
  });
}

export interface SystemChange {
  database: Database;
  newId: NewId;
  now: Date;
}

const pauseHeld = statement(
  { parameters: { ...keyTypes, reason: 'text' }, row: { name: 'text' } },
  `
  update webhook w set state = 'paused', pause_reason = $reason, version = version + 1
  where ${isWebhook} and w.state = 'active' returning w.name`,
);

/** Pauses a webhook, with its event. */
export function pauseWebhook(change: SystemChange, claim: Claim, reason: string): Promise<void> {
  const after = { state: 'paused', pauseReason: reason };
  return changeBySystem(change, claim, async (tx) => {
    const [row] = await tx.query(pauseHeld, { ...keyOf(claim), reason });
    return row && buildWebhookEvent('webhook-paused', { ...claim, ...row }, { after });
  });
}

const skipHeld = statement(
  { parameters: { ...keyTypes, removed: 'bigint' }, row: { name: 'text', missed: 'bigint' } },
  `
  update webhook w set missed_events = w.missed_events + $removed - w.position, position = $removed
  from webhook before
  where ${isWebhook} and w.position < $removed and before.account_id = w.account_id and before.webhook_id = w.webhook_id
  returning w.name, $removed - before.position as missed`,
);

/** Moves a webhook behind the events that retention removed, with an event that counts them. */
export function skipRemovedEvents(change: SystemChange, claim: Claim, removed: number): Promise<void> {
  return changeBySystem(change, claim, async (tx) => {
    const [row] = await tx.query(skipHeld, { ...keyOf(claim), removed });
    const after = { missedEvents: row?.missed };
    return row && buildWebhookEvent('webhook-events-missed', { ...claim, ...row }, { after });
  });
}

type Change = (
  tx: Parameters<Parameters<Database['transaction']>[0]>[0],
) => Promise<AccountEvent | undefined>;

function changeBySystem({ database, newId, now }: SystemChange, claim: Claim, change: Change): Promise<void> {
  const source = {
    accountId: claim.account_id,
    actorId: null,
    actorKind: 'system',
    requestId: null,
  } as const;
  return writeAsHolder(database, claim, async (tx) => {
    const event = await change(tx);
    if (event !== undefined) recordEvents(tx, source, [event], now, newId);
  });
}
