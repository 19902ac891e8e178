import {
  type AlertCondition,
  alertRuleLimit,
  createAlertRule,
  deleteAlertRule,
  getAlertRule,
  listAlertRules,
  listAlerts,
  updateAlertRule,
} from '@headgate/contract';
import { requireRow, type Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints, ReadCall } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import {
  type AlertRuleRow,
  alertRuleById,
  alertRulePage,
  alertsOfRule,
  deleteAlertRuleRow,
  insertAlertRule,
  type ListedAlertRuleRow,
  lockAlertRule,
  namedByRule,
  presentAlert,
  presentAlertRule,
  renderAlertRuleEtag,
  updateAlertRuleRow,
} from './alert-rule.store.ts';
import {
  admitRecipients,
  listSilentRecipients,
  normalizeAddress,
  type RecipientServices,
} from './mail-recipient.store.ts';
import type { MailSettings } from './mail-transport.ts';

export interface AlertRuleServices extends RecipientServices {
  config: RecipientServices['config'] & { mail: MailSettings | undefined };
}

export function alertRuleRoutes({ read, write }: Endpoints, services: AlertRuleServices): void {
  const { config } = services;
  const presentListed = (row: ListedAlertRuleRow) =>
    presentAlertRule(row, listSilentRecipients(row.emails, row, config.mailLimits));

  /** Asks the owners of its addresses; the response says who has not confirmed. Events leave that out. */
  async function presentWritten(
    tx: Transaction,
    { accountId }: Scope,
    projectId: string,
    row: AlertRuleRow,
    now: Date,
  ) {
    const named = row.emails.map((email) => ({ email, projectId }));
    const { admitted, unasked } = await admitRecipients(tx, accountId, named, services, now);
    return presentAlertRule(row, {
      unconfirmed: row.emails.filter((email) => !admitted.has(normalizeAddress(email))),
      unasked: row.emails.filter((email) => unasked.has(normalizeAddress(email))),
    });
  }

  read(listAlertRules, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(alertRulePage, { limit, offset });
    return { body: { page: query.page, results: rows.map(presentListed), size: limit, total } };
  });

  read(getAlertRule, async ({ params, rows }) => {
    const id = params.alertRuleId;
    const row = requireRow(await rows(alertRuleById, { alert_rule_id: toUuid(id) }), () =>
      problem('alert-rule-not-found', { id }),
    );
    return { body: presentListed(row), etag: renderAlertRuleEtag(row) };
  });

  read(listAlerts, async ({ params, query, page }) => {
    const id = params.alertRuleId;
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(alertsOfRule, { alert_rule_id: toUuid(id), limit, offset });
    if (total === null) throw problem('alert-rule-not-found', { id });
    return { body: { page: query.page, results: rows.map(presentAlert), size: limit, total } };
  });

  write(createAlertRule, async ({ tx, rows, scope, params, body, now, newId }) => {
    requireMailSettings(config.mail, body.emails);
    const count = await requireNamed(rows, body);
    if (count >= alertRuleLimit) throw problem('too-many-alert-rules', { limit: alertRuleLimit });
    const row: AlertRuleRow = {
      alert_rule_id: newId(),
      name: body.name,
      ...readCondition(body.condition),
      environment_name: body.environmentName ?? null,
      pipeline_name: body.pipelineName ?? null,
      schedule_id: body.scheduleId === undefined ? null : toUuid(body.scheduleId),
      webhook_ids: (body.webhookIds ?? []).map(toUuid),
      emails: body.emails ?? [],
      enabled: body.enabled ?? true,
      active_since: now,
      version: 1,
      last_raised_at: null,
      created_at: now,
    };
    requireFilters(row);
    insertAlertRule(tx, scope, params.projectId, row);
    const after = presentAlertRule(row);
    return {
      body: await presentWritten(tx, scope, params.projectId, row, now),
      etag: renderAlertRuleEtag(row),
      location: `/v1/projects/${params.projectId}/alert-rules/${row.alert_rule_id}`,
      events: [buildRuleEvent('alert-rule-created', params.projectId, row, { after })],
    };
  });

  write(updateAlertRule, async ({ tx, rows, scope, params, headers, body, now }) => {
    requireMailSettings(config.mail, body.emails);
    await requireNamed(rows, body);
    const stored = await lockAlertRule(tx, scope, params.projectId, params.alertRuleId);
    requireMatch(headers['If-Match'], renderAlertRuleEtag(stored));
    const row: AlertRuleRow = {
      ...stored,
      name: body.name ?? stored.name,
      ...(body.condition === undefined ? {} : readCondition(body.condition)),
      environment_name: chooseFilter(body.environmentName, stored.environment_name),
      pipeline_name: chooseFilter(body.pipelineName, stored.pipeline_name),
      schedule_id: chooseFilter(
        typeof body.scheduleId === 'string' ? toUuid(body.scheduleId) : body.scheduleId,
        stored.schedule_id,
      ),
      webhook_ids: body.webhookIds?.map(toUuid) ?? stored.webhook_ids,
      emails: body.emails ?? stored.emails,
      enabled: body.enabled ?? stored.enabled,
      version: stored.version + 1,
    };
    requireFilters(row);
    if (isWider(row, stored)) row.active_since = now;
    updateAlertRuleRow(tx, scope, row);
    const states = { before: presentAlertRule(stored), after: presentAlertRule(row) };
    return {
      body: await presentWritten(tx, scope, params.projectId, row, now),
      etag: renderAlertRuleEtag(row),
      events: [buildRuleEvent('alert-rule-updated', params.projectId, row, states)],
    };
  });

  write(deleteAlertRule, async ({ tx, scope, params, headers }) => {
    const stored = await lockAlertRule(tx, scope, params.projectId, params.alertRuleId);
    requireMatch(headers['If-Match'], renderAlertRuleEtag(stored));
    tx.send(deleteAlertRuleRow, { account_id: scope.accountId, alert_rule_id: stored.alert_rule_id });
    const before = presentAlertRule(stored);
    return { events: [buildRuleEvent('alert-rule-deleted', params.projectId, stored, { before })] };
  });
}

function buildRuleEvent(
  name: AccountEvent['name'],
  projectId: string,
  row: AlertRuleRow,
  states: { before?: object; after?: object },
): AccountEvent {
  const subject = { type: 'alert-rule', id: row.alert_rule_id, name: row.name };
  return { name, projectId, environmentName: row.environment_name ?? undefined, subject, ...states };
}

/** Undefined keeps the filter, null removes it. */
function chooseFilter(expected: string | null | undefined, stored: string | null): string | null {
  return expected === undefined ? stored : expected;
}

/** Everything but the name and the receivers: what the rule selects may have happened before. */
function isWider(row: AlertRuleRow, stored: AlertRuleRow): boolean {
  const pick = (each: AlertRuleRow) =>
    JSON.stringify([
      ...[each.condition_type, each.minutes, each.factor, each.environment_name],
      ...[each.pipeline_name, each.schedule_id, each.enabled],
    ]);
  return pick(row) !== pick(stored);
}

/** Throws `alert-filter`. */
function requireFilters(row: AlertRuleRow): void {
  if (row.condition_type !== 'BUDGET') return;
  const filters = [
    ['environmentName', row.environment_name],
    ['pipelineName', row.pipeline_name],
    ['scheduleId', row.schedule_id],
  ] as const;
  for (const [member, value] of filters) if (value !== null) throw problem('alert-filter', { member });
}

const defaultFactor = 3;

/** Throws `alert-condition`. */
function readCondition({ type, minutes, factor }: AlertCondition) {
  const needsMinutes = type === 'LONGER_THAN' || type === 'NOT_STARTED';
  const usesFactor = type === 'LONGER_THAN_USUAL';
  if (needsMinutes !== (minutes !== undefined))
    throw problem('alert-condition', { member: 'minutes', type, isMissing: needsMinutes });
  if (!usesFactor && factor !== undefined)
    throw problem('alert-condition', { member: 'factor', type, isMissing: false });
  return {
    condition_type: type,
    minutes: minutes ?? null,
    factor: usesFactor ? (factor ?? defaultFactor) : null,
  };
}

/** Throws `alert-mail-not-configured`. */
function requireMailSettings(mail: MailSettings | undefined, emails: readonly string[] = []): void {
  if (mail === undefined && emails.length > 0)
    throw problem('alert-mail-not-configured', { count: emails.length });
}

interface Named {
  environmentName?: string | null | undefined;
  scheduleId?: string | null | undefined;
  webhookIds?: readonly string[] | undefined;
}

/**
 * Returns the number of rules of the project.
 *
 * @throws `unknown-environment`, `unknown-schedule`, `unknown-webhook`
 */
async function requireNamed(rows: ReadCall<typeof createAlertRule>['rows'], body: Named): Promise<number> {
  const { environmentName = null, scheduleId = null, webhookIds = [] } = body;
  const [found] = await rows(namedByRule, {
    named_environment: environmentName,
    named_schedule_id: scheduleId === null ? null : toUuid(scheduleId),
    named_webhook_ids: webhookIds.map(toUuid),
  });
  if (found === undefined) throw new Error('The statement namedByRule returned no row.');
  if (!found.has_environment) throw problem('unknown-environment', { name: environmentName ?? '' });
  if (!found.has_schedule) throw problem('unknown-schedule', { id: scheduleId ?? '' });
  const known = new Set(found.webhook_ids);
  const unknown = webhookIds.find((id) => !known.has(toUuid(id)));
  if (unknown !== undefined) throw problem('unknown-webhook', { id: unknown });
  return found.count;
}
