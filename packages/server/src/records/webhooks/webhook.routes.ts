import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhook,
  testWebhook,
  updateWebhook,
} from '@headgate/contract';
import { addSeconds } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints, ReadCall } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import type { EgressGuard } from '../../kernel/security/egress.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { readLogBounds } from '../events/index.ts';
import { generateWebhookSecret, webhookSecretPurpose } from './signature.ts';
import {
  deleteWebhookRow,
  hastenDeliveries,
  insertWebhook,
  lockWebhook,
  placeOfFilter,
  renderWebhookEtag,
  rotateSecretRow,
  updateWebhookRow,
  type WebhookRow,
  webhookById,
  webhookPage,
} from './webhook.store.ts';
import { chooseEventNames, describeWebhook, presentWebhook, requireAllowedUrl } from './webhook.ts';
import { buildWebhookEvent } from './webhook-event.ts';

export interface WebhookRouteServices {
  database: Database;
  egress: EgressGuard;
  sealer: Sealer;
}

export function webhookRoutes(
  { read, write, long }: Endpoints,
  { database, egress, sealer }: WebhookRouteServices,
): void {
  read(listWebhooks, async ({ query, page, now }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(webhookPage, { limit, offset });
    const results = rows.map((row) => presentWebhook(row, now));
    return { body: { page: query.page, results, size: limit, total } };
  });

  read(getWebhook, async ({ params, rows, now }) => {
    const id = params.webhookId;
    const row = requireRow(await rows(webhookById, { webhook_id: toUuid(id) }), () =>
      problem('webhook-not-found', { id }),
    );
    return { body: presentWebhook(row, now), etag: renderWebhookEtag(row) };
  });

  // Long, because the check of an address asks a name server.
  long(createWebhook, async ({ rows, write: commit, body, scope, now, newId }) => {
    await requirePlace(rows, body);
    const url = await requireAllowedUrl(egress, body.url);
    // The webhook gets only later events.
    await readLogBounds(database, scope.accountId);
    return commit(JSON.stringify(body), async (tx) => {
      const secret = generateWebhookSecret();
      const row: WebhookRow = {
        ...newWebhook,
        webhook_id: newId(),
        name: body.name,
        url,
        event_names: chooseEventNames(body.format ?? 'json', body.eventNames ?? []),
        project_id: body.projectId ?? null,
        environment_name: body.environmentName ?? null,
        format: body.format ?? 'json',
        owner_id: scope.actorId,
        created_at: now,
      };
      await insertWebhook(tx, scope, row, sealer.seal(secret, webhookSecretPurpose));
      return {
        body: { webhookId: row.webhook_id, secret: secret.reveal() },
        etag: renderWebhookEtag(row),
        location: `/v1/webhooks/${row.webhook_id}`,
        events: [buildWebhookEvent('webhook-created', row, { after: describeWebhook(row) })],
      };
    });
  });

  long(updateWebhook, async ({ rows, write: commit, params, headers, body, scope, now }) => {
    await requirePlace(rows, body);
    const url = body.url === undefined ? undefined : await requireAllowedUrl(egress, body.url);
    return commit(JSON.stringify(body), async (tx) => {
      const stored = await lockWebhook(tx, { scope, now }, params.webhookId);
      requireMatch(headers['If-Match'], renderWebhookEtag(stored));
      const format = body.format ?? stored.format;
      // Lineage has events of its own.
      const isOther = (format === 'openlineage') !== (stored.format === 'openlineage');
      const keptNames = isOther ? [] : stored.event_names;
      const row: WebhookRow = {
        ...stored,
        name: body.name ?? stored.name,
        url: url ?? stored.url,
        event_names: chooseEventNames(format, body.eventNames ?? keptNames),
        project_id: body.projectId === undefined ? stored.project_id : body.projectId,
        environment_name: body.environmentName === undefined ? stored.environment_name : body.environmentName,
        format,
        state: body.state ?? stored.state,
        pause_reason: choosePauseReason(stored, body.state),
        owner_id: scope.actorId,
        version: stored.version + 1,
        has_owner: true,
      };
      const isResumed = body.state === 'active' || url !== undefined;
      updateWebhookRow(tx, scope, row, { isResumed, now });
      const resumed = { failing_since: null, retry_at: row.retry_at === null ? null : now };
      const states = { before: describeWebhook(stored), after: describeWebhook(row) };
      return {
        body: presentWebhook(isResumed ? { ...row, ...resumed } : row, now),
        etag: renderWebhookEtag(row),
        events: [buildWebhookEvent('webhook-updated', row, states)],
      };
    });
  });

  write(deleteWebhook, async ({ tx, scope, now, params, headers }) => {
    const stored = await lockWebhook(tx, { scope, now }, params.webhookId);
    requireMatch(headers['If-Match'], renderWebhookEtag(stored));
    deleteWebhookRow(tx, scope, stored.webhook_id);
    return { events: [buildWebhookEvent('webhook-deleted', stored, { before: describeWebhook(stored) })] };
  });

  write(rotateWebhook, async ({ tx, scope, params, body, now }) => {
    const stored = await lockWebhook(tx, { scope, now }, params.webhookId);
    const secret = generateWebhookSecret();
    const previousUntil = addSeconds(now, body.overlapSeconds ?? 0);
    rotateSecretRow(tx, scope, {
      webhook_id: stored.webhook_id,
      sealed_secret: sealer.seal(secret, webhookSecretPurpose),
      previous_secret_until: previousUntil,
      version: stored.version + 1,
    });
    const after = { previousSecretUntil: previousUntil.toISOString() };
    return {
      body: { webhookId: stored.webhook_id, secret: secret.reveal() },
      events: [buildWebhookEvent('webhook-rotated', stored, { after })],
    };
  });

  write(testWebhook, async ({ tx, scope, params, now }) => {
    const stored = await lockWebhook(tx, { scope, now }, params.webhookId);
    if (stored.state === 'paused') throw problem('webhook-is-paused');
    hastenDeliveries(tx, scope, stored.webhook_id, now);
    // By these ids the event is sent to this webhook, whatever its filters are.
    const after = { webhookIds: [stored.webhook_id] };
    return {
      body: { webhookId: stored.webhook_id },
      events: [buildWebhookEvent('webhook-tested', stored, { after })],
    };
  });
}

const newWebhook = {
  state: 'active',
  pause_reason: null,
  version: 1,
  previous_secret_until: null,
  last_delivery_at: null,
  last_status: null,
  failing_since: null,
  retry_at: null,
  missed_events: 0,
  has_place: true,
  has_owner: true,
} as const;

/** Throws `unknown-project` and `unknown-environment`, and for callers without the permission. */
async function requirePlace(
  rows: ReadCall<typeof createWebhook>['rows'],
  body: { projectId?: string | null | undefined; environmentName?: string | null | undefined },
): Promise<void> {
  const { projectId = null, environmentName = null } = body;
  const filter = { filter_project_id: projectId, filter_environment_name: environmentName };
  const [found] = await rows(placeOfFilter, filter);
  if (found?.has_project === false) throw problem('unknown-project', { id: projectId ?? '' });
  if (found?.has_environment === false) throw problem('unknown-environment', { name: environmentName ?? '' });
}

function choosePauseReason(stored: WebhookRow, state: WebhookRow['state'] | undefined): string | null {
  if (state === undefined) return stored.pause_reason;
  if (state === 'active') return null;
  return stored.pause_reason ?? 'It was paused by its owner.';
}
