/** The table `webhook_delivery`, as far as the owner of a webhook sees it. */
import {
  countedDeliveryLimit,
  type DeliveryStatus,
  type EventName,
  type WebhookDelivery,
} from '@headgate/contract';
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { scheduleWebhook } from './webhook.store.ts';

const deliveryRow = {
  delivery_id: 'uuid',
  event_name: typed<EventName>('text'),
  status: typed<DeliveryStatus>('text'),
  attempts: 'integer',
  last_status: 'smallint?',
  last_error: 'text?',
  first_attempt_at: 'timestamptz',
  last_attempt_at: 'timestamptz?',
  next_attempt_at: 'timestamptz?',
} satisfies ColumnTypes;
type DeliveryRow = RowOf<typeof deliveryRow>;

const columns = Object.keys(deliveryRow).join(', ');

const ofWebhook = 'account_id = $account_id and webhook_id = $webhook_id';
/** The total is null if there is no such webhook. */
const total = (where: string) => `
  select case when exists (select from webhook where ${ofWebhook})
    then (select count(*)::bigint from (select from webhook_delivery where ${where} limit ${countedDeliveryLimit}) counted) end as total`;
const page = (where: string) =>
  `select ${columns} from webhook_delivery where ${where} order by position desc limit $limit offset $offset`;
const pageTypes = { webhook_id: 'uuid', limit: 'bigint', offset: 'bigint' } as const;

export const deliveryPage = guardedPage(
  { parameters: pageTypes, row: deliveryRow, totalType: 'bigint?' },
  { rows: page(ofWebhook), total: total(ofWebhook) },
);

// The statuses are in the text, so that the planner can use the partial index.
const pageOfStatus = (status: DeliveryStatus) => {
  const where = `${ofWebhook} and status = '${status}'`;
  return guardedPage(
    { parameters: pageTypes, row: deliveryRow, totalType: 'bigint?' },
    { rows: page(where), total: total(where) },
  );
};
export const deliveryPageOf = {
  pending: pageOfStatus('pending'),
  delivered: pageOfStatus('delivered'),
  dead: pageOfStatus('dead'),
};

/** They have all their attempts again. */
const again = "status = 'pending', attempts = 0, next_attempt_at = $now, ended_at = null";

const repeatDead = statement(
  {
    parameters: { account_id: 'uuid', webhook_id: 'uuid', now: 'timestamptz' },
    row: { delivery_id: 'uuid' },
  },
  `update webhook_delivery set ${again} where ${ofWebhook} and status = 'dead' returning delivery_id`,
);
const repeatThese = statement(
  {
    parameters: { account_id: 'uuid', webhook_id: 'uuid', delivery_ids: 'uuid[]', now: 'timestamptz' },
    row: { delivery_id: 'uuid' },
  },
  `
  update webhook_delivery set ${again}
  where ${ofWebhook} and delivery_id = any ($delivery_ids) and status <> 'pending' returning delivery_id`,
);
const makeDue = statement(
  { parameters: { account_id: 'uuid', webhook_id: 'uuid', now: 'timestamptz' } },
  `update webhook set redelivery_at = $now where ${ofWebhook}`,
);

/** Marks deliveries as pending and returns their ids. The webhook must be locked. */
export async function repeatDeliveries(
  tx: Transaction,
  scope: Scope,
  webhookId: string,
  deliveryIds: readonly string[] | undefined,
  now: Date,
): Promise<string[]> {
  const webhook = { account_id: scope.accountId, webhook_id: webhookId, now };
  const rows =
    deliveryIds === undefined
      ? await tx.query(repeatDead, webhook)
      : await tx.query(repeatThese, { ...webhook, delivery_ids: deliveryIds });
  if (rows.length > 0) {
    tx.send(makeDue, webhook);
    scheduleWebhook(tx, scope, webhookId);
  }
  return rows.map((row) => row.delivery_id);
}

export const removalBatch = 500;
const removeOld = statement(
  {
    parameters: { delivered_before: 'timestamptz', dead_before: 'timestamptz' },
    row: { removed: 'integer' },
    alone: true,
  },
  `
  with gone as (
    delete from webhook_delivery where ctid = any (array(
      (select ctid from webhook_delivery
       where status = 'delivered' and ended_at < $delivered_before order by ended_at limit ${removalBatch})
      union all
      (select ctid from webhook_delivery
       where status = 'dead' and ended_at < $dead_before order by ended_at limit ${removalBatch})
      limit ${removalBatch}))
    returning true
  )
  select count(*)::integer as removed from gone`,
);

const dayMilliseconds = 86_400_000;
const beginning = new Date(0);

/** In days; undefined keeps them forever. */
interface DeliveryRetention {
  deliveryDays: number | undefined;
  deadDeliveryDays: number | undefined;
}

/** Deletes up to `removalBatch` old deliveries and returns how many. */
export async function removeOldDeliveries(
  read: Read,
  now: Date,
  { deliveryDays, deadDeliveryDays }: DeliveryRetention,
): Promise<number> {
  const [delivered_before, dead_before] = [deliveryDays, deadDeliveryDays].map((days) =>
    days === undefined ? beginning : new Date(now.getTime() - days * dayMilliseconds),
  ) as [Date, Date];
  const [row] = await read(removeOld, { delivered_before, dead_before });
  return row?.removed ?? 0;
}

export function presentDelivery(row: DeliveryRow): WebhookDelivery {
  const delivery: WebhookDelivery = {
    deliveryId: row.delivery_id,
    eventId: row.delivery_id,
    eventName: row.event_name,
    attempts: row.attempts,
    status: row.status,
    firstAttemptAt: row.first_attempt_at.toISOString(),
  };
  if (row.last_attempt_at !== null) delivery.lastAttemptAt = row.last_attempt_at.toISOString();
  if (row.last_status !== null) delivery.lastStatus = row.last_status;
  if (row.last_error !== null) delivery.lastError = row.last_error;
  if (row.next_attempt_at !== null) delivery.nextAttemptAt = row.next_attempt_at.toISOString();
  return delivery;
}
