/**
 * The columns of the table `webhook` that its owner sees. Those that delivery changes are in delivery-queue.store.ts.
 */
import type { Webhook, WebhookFormat } from '@headgate/contract';
import { webhooksPerAccount } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedPage, guardedRead, inEffect } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { insertWork } from '../../kernel/work/server-work.ts';

const settingTypes = {
  webhook_id: 'uuid',
  name: 'text',
  url: 'text',
  event_names: typed<Webhook['eventNames']>('text[]'),
  project_id: 'uuid?',
  environment_name: 'text?',
  format: typed<WebhookFormat>('text'),
  state: typed<Webhook['state']>('text'),
  pause_reason: 'text?',
  owner_id: 'uuid',
  version: 'bigint',
  created_at: 'timestamptz',
} satisfies ColumnTypes;
const webhookRow = {
  ...settingTypes,
  previous_secret_until: 'timestamptz?',
  last_delivery_at: 'timestamptz?',
  last_status: 'smallint?',
  failing_since: 'timestamptz?',
  retry_at: 'timestamptz?',
  missed_events: 'bigint',
  has_place: 'boolean',
  has_owner: 'boolean',
} satisfies ColumnTypes;
export type WebhookSettings = RowOf<typeof settingTypes>;
export type WebhookRow = RowOf<typeof webhookRow>;

/**
 * `has_place`: the project and environment of its filters exist. Scalar subqueries, because `exists` would read
 * the tables whole.
 */
const columns = `
  w.webhook_id, w.name, w.url, w.event_names, w.project_id, w.environment_name, w.format, w.state, w.pause_reason,
  w.owner_id, w.version, w.created_at, w.previous_secret_until, w.last_delivery_at, w.last_status, w.failing_since, w.retry_at, w.missed_events,
  case when w.project_id is null then true
    when w.environment_name is null then coalesce((
      select true from project p where p.account_id = w.account_id and p.project_id = w.project_id limit 1), false)
    else coalesce((
      select true from environment e
      where e.account_id = w.account_id and e.project_id = w.project_id and e.name = w.environment_name limit 1), false)
    end as has_place,
  coalesce((
    select true from principal o where o.account_id = w.account_id and o.principal_id = w.owner_id limit 1), false) as has_owner`;

export const webhookPage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: webhookRow },
  {
    rows: `
    select ${columns} from webhook w where w.account_id = $account_id
    order by w.webhook_id desc limit $limit offset $offset`,
    total: 'select count(*)::bigint as total from webhook where account_id = $account_id',
  },
);

export const webhookById = guardedRead(
  { parameters: { webhook_id: 'uuid' }, row: webhookRow },
  `select ${columns} from webhook w where w.account_id = $account_id and w.webhook_id = $webhook_id`,
);

/** Whether the project and the environment of a request exist. Null where the request names none. */
export const placeOfFilter = guardedRead(
  {
    parameters: { filter_project_id: 'uuid?', filter_environment_name: 'text?' },
    row: { has_project: 'boolean', has_environment: 'boolean' },
  },
  `
  select
    $filter_project_id::uuid is null or exists (
      select from project p where p.account_id = $account_id and p.project_id = $filter_project_id) as has_project,
    $filter_project_id::uuid is null or $filter_environment_name::text is null or exists (
      select from environment e
      where e.account_id = $account_id and e.project_id = $filter_project_id and e.name = $filter_environment_name)
      as has_environment`,
);

const countUnderLock = [
  statement(
    { parameters: { account_id: 'uuid' } },
    "select pg_advisory_xact_lock(hashtextextended('headgate webhooks ' || $account_id::uuid, 0))",
  ),
  statement(
    { parameters: { account_id: 'uuid' }, row: { count: 'integer' } },
    'select count(*)::integer as count from webhook where account_id = $account_id',
  ),
] as const;

/** The kind of work that sends for a webhook. */
export const webhookKind = 'webhook';
/** SQL: when the row of a webhook has something to send again. */
export const dueOf = (row: string) =>
  `case when ${row}.state = 'active' then least(${row}.retry_at, ${row}.redelivery_at) end`;

const schedule = statement(
  { parameters: { account_id: 'uuid', webhook_id: 'uuid' } },
  `
  update server_work s set due_at = ${dueOf('w')} from webhook w
  where w.account_id = $account_id and w.webhook_id = $webhook_id and s.account_id = w.account_id and s.work_id = w.webhook_id`,
);

/** Call it after each change of the deliveries that are sent again, or of their times. */
export function scheduleWebhook(tx: Transaction, scope: Scope, webhookId: string): void {
  tx.send(schedule, { account_id: scope.accountId, webhook_id: webhookId });
}

const insertOne = statement(
  { parameters: { account_id: 'uuid', ...settingTypes, sealed_secret: 'bytea' } },
  `
  insert into webhook (account_id, webhook_id, name, url, event_names, project_id, environment_name, format, state,
    pause_reason, owner_id, version, created_at, sealed_secret, position)
  values ($account_id, $webhook_id, $name, $url, $event_names, $project_id, $environment_name, $format, $state,
    $pause_reason, $owner_id, $version, $created_at, $sealed_secret,
    coalesce((select p.last_position from event_position p where p.account_id = $account_id), 0))`,
);

/** Throws `too-many-webhooks`. The webhook begins at the present end of the log. */
export async function insertWebhook(
  tx: Transaction,
  scope: Scope,
  row: WebhookSettings,
  sealedSecret: Buffer,
): Promise<void> {
  const [lock, count] = countUnderLock;
  tx.send(lock, { account_id: scope.accountId });
  const [counted] = await tx.query(count, { account_id: scope.accountId });
  if ((counted?.count ?? 0) >= webhooksPerAccount)
    throw problem('too-many-webhooks', { limit: webhooksPerAccount });
  tx.send(insertOne, { account_id: scope.accountId, ...row, sealed_secret: sealedSecret });
  const work = { account_id: scope.accountId, work_id: row.webhook_id };
  tx.send(insertWork, { ...work, kind: webhookKind, due_at: null });
}

/**
 * Deliveries have what the owner may read, so whoever sets their address or secret must be able to read as much:
 * a Super Admin, or a caller with a role wherever the owner has one.
 */
const ownerReadsMore = `
  w.owner_id <> $principal_id::uuid and not exists (
    select from account_role r
    where r.account_id = w.account_id and r.principal_id = $principal_id and r.role = 'SUPER_ADMIN'
      and ${inEffect('r')})
  and (exists (
    select from account_role r
    where r.account_id = w.account_id and r.principal_id = w.owner_id and r.role = 'SUPER_ADMIN'
      and ${inEffect('r')})
  or exists (
    select from place_role theirs
    where theirs.account_id = w.account_id and theirs.principal_id = w.owner_id and ${inEffect('theirs')} and not exists (
      select from place_role own
      where own.account_id = w.account_id and own.principal_id = $principal_id and own.project_id = theirs.project_id
        and (own.environment_name is null or own.environment_name = theirs.environment_name) and ${inEffect('own')}))) as owner_reads_more`;

const lockOne = statement(
  {
    parameters: { account_id: 'uuid', principal_id: 'uuid', webhook_id: 'uuid', now: 'timestamptz' },
    row: { ...webhookRow, owner_reads_more: 'boolean' },
  },
  `
  select ${columns}, ${ownerReadsMore} from webhook w where w.account_id = $account_id and w.webhook_id = $webhook_id for update of w`,
);

/** For a change. Throws `webhook-not-found` and `webhook-of-owner-with-more-rights`. */
export async function lockWebhook(
  tx: Transaction,
  { scope, now }: { scope: Scope; now: Date },
  id: string,
): Promise<WebhookRow> {
  const found = await tx.query(lockOne, {
    account_id: scope.accountId,
    principal_id: scope.actorId,
    webhook_id: toUuid(id),
    now,
  });
  const { owner_reads_more: ownerReadsMore, ...row } = requireRow(found, () =>
    problem('webhook-not-found', { id }),
  );
  if (ownerReadsMore) throw problem('webhook-of-owner-with-more-rights', { name: row.name });
  return row;
}

const updateOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      webhook_id: 'uuid',
      name: 'text',
      url: 'text',
      event_names: typed<Webhook['eventNames']>('text[]'),
      project_id: 'uuid?',
      environment_name: 'text?',
      format: 'text',
      state: 'text',
      pause_reason: 'text?',
      owner_id: 'uuid',
      version: 'bigint',
      is_resumed: 'boolean',
      now: 'timestamptz',
    },
  },
  `
  update webhook set name = $name, url = $url, event_names = $event_names, project_id = $project_id,
    environment_name = $environment_name, format = $format, state = $state, pause_reason = $pause_reason,
    owner_id = $owner_id, version = $version,
    retry_at = case when $is_resumed and retry_at > $now then $now else retry_at end,
    redelivery_at = case when $is_resumed and redelivery_at > $now then $now else redelivery_at end,
    failing_since = case when $is_resumed then null else failing_since end
  where account_id = $account_id and webhook_id = $webhook_id`,
);

/** @param isResumed what failed is sent again at once, and the time until the webhook is paused begins again */
export function updateWebhookRow(
  tx: Transaction,
  scope: Scope,
  {
    webhook_id,
    name,
    url,
    event_names,
    project_id,
    environment_name,
    format,
    state,
    pause_reason,
    ...row
  }: WebhookRow,
  { isResumed, now }: { isResumed: boolean; now: Date },
): void {
  const filters = { event_names, project_id, environment_name };
  tx.send(updateOne, {
    account_id: scope.accountId,
    webhook_id,
    name,
    url,
    ...filters,
    format,
    state,
    pause_reason,
    owner_id: row.owner_id,
    version: row.version,
    is_resumed: isResumed,
    now,
  });
  scheduleWebhook(tx, scope, webhook_id);
}

const hastenOne = statement(
  { parameters: { account_id: 'uuid', webhook_id: 'uuid', now: 'timestamptz' } },
  `
  update webhook set retry_at = case when retry_at > $now then $now else retry_at end,
    redelivery_at = case when redelivery_at > $now then $now else redelivery_at end
  where account_id = $account_id and webhook_id = $webhook_id`,
);

/** What failed is sent again at once. */
export function hastenDeliveries(tx: Transaction, scope: Scope, webhookId: string, now: Date): void {
  tx.send(hastenOne, { account_id: scope.accountId, webhook_id: webhookId, now });
  scheduleWebhook(tx, scope, webhookId);
}

const rotateOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      webhook_id: 'uuid',
      sealed_secret: 'bytea',
      previous_secret_until: 'timestamptz',
      version: 'bigint',
    },
  },
  `
  update webhook set sealed_previous_secret = sealed_secret, previous_secret_until = $previous_secret_until,
    sealed_secret = $sealed_secret, version = $version
  where account_id = $account_id and webhook_id = $webhook_id`,
);

export function rotateSecretRow(
  tx: Transaction,
  scope: Scope,
  rotated: { webhook_id: string; sealed_secret: Buffer; previous_secret_until: Date; version: number },
): void {
  tx.send(rotateOne, { account_id: scope.accountId, ...rotated });
}

const deleteOne = statement(
  { parameters: { account_id: 'uuid', webhook_id: 'uuid' } },
  'delete from webhook where account_id = $account_id and webhook_id = $webhook_id',
);
// Retention deletes what has ended.
const deleteWaiting = statement(
  { parameters: { account_id: 'uuid', webhook_id: 'uuid' } },
  "delete from webhook_delivery where account_id = $account_id and webhook_id = $webhook_id and status = 'pending'",
);

export function deleteWebhookRow(tx: Transaction, scope: Scope, webhookId: string): void {
  tx.send(deleteOne, { account_id: scope.accountId, webhook_id: webhookId });
  tx.send(deleteWaiting, { account_id: scope.accountId, webhook_id: webhookId });
}

export function renderWebhookEtag({ webhook_id: id, version }: Pick<WebhookRow, 'webhook_id' | 'version'>) {
  return makeEntityTag(id, version);
}
