/** The table `alert_rule`, as its owner writes and reads it, and the alerts of a rule. */
import type {
  Alert,
  AlertCondition,
  AlertConditionType,
  AlertMailState,
  AlertRule,
} from '@headgate/contract';
import {
  type ColumnTypes,
  insertStatement,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { listEmails, type SilentRecipients } from './mail-recipient.store.ts';

const writtenColumns = {
  name: 'text',
  condition_type: typed<AlertConditionType>('text'),
  minutes: 'integer?',
  factor: 'double precision?',
  environment_name: 'text?',
  pipeline_name: 'text?',
  schedule_id: 'uuid?',
  webhook_ids: typed<readonly string[]>('uuid[]'),
  emails: typed<readonly string[]>('text[]'),
  enabled: 'boolean',
  active_since: 'timestamptz',
  version: 'bigint',
} satisfies ColumnTypes;
const ruleRow = {
  alert_rule_id: 'uuid',
  ...writtenColumns,
  last_raised_at: 'timestamptz?',
  created_at: 'timestamptz',
} satisfies ColumnTypes;
export type AlertRuleRow = RowOf<typeof ruleRow>;
const columns = Object.keys(ruleRow).join(', ');

const listedRuleRow = {
  ...ruleRow,
  refused_emails: 'text[]',
  unconfirmed_emails: 'text[]',
  unasked_emails: 'text[]',
} satisfies ColumnTypes;
export type ListedAlertRuleRow = RowOf<typeof listedRuleRow>;
const listedColumns = `${columns}, ${listEmails('emails', 'refused')} as refused_emails,
    ${listEmails('emails', 'unconfirmed')} as unconfirmed_emails,
    ${listEmails('emails', 'unasked')} as unasked_emails`;

const ofProject = 'from alert_rule where account_id = $account_id and project_id = $project_id';

export const alertRulePage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: listedRuleRow },
  {
    rows: `select ${listedColumns} ${ofProject} order by alert_rule_id desc limit $limit offset $offset`,
    total: `select count(*)::bigint as total ${ofProject}`,
  },
);

export const alertRuleById = guardedRead(
  { parameters: { alert_rule_id: 'uuid' }, row: listedRuleRow },
  `select ${listedColumns} ${ofProject} and alert_rule_id = $alert_rule_id`,
);

/** What the body of a request names. Null where it names none. */
export const namedByRule = guardedRead(
  {
    parameters: { named_environment: 'text?', named_schedule_id: 'uuid?', named_webhook_ids: 'uuid[]' },
    row: { has_environment: 'boolean', has_schedule: 'boolean', webhook_ids: 'uuid[]', count: 'bigint' },
  },
  `
  select
    $named_environment::text is null or exists (
      select from environment e
      where e.account_id = $account_id and e.project_id = $project_id and e.name = $named_environment) as has_environment,
    $named_schedule_id::uuid is null or exists (
      select from schedule s
      where s.account_id = $account_id and s.project_id = $project_id and s.schedule_id = $named_schedule_id) as has_schedule,
    array(
      select w.webhook_id from webhook w
      where w.account_id = $account_id and w.webhook_id = any ($named_webhook_ids::uuid[])) as webhook_ids,
    (select count(*) ${ofProject}) as count`,
);

const lockOne = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid', alert_rule_id: 'uuid' }, row: ruleRow },
  `select ${columns} ${ofProject} and alert_rule_id = $alert_rule_id for update`,
);

/** Throws `alert-rule-not-found`. */
export async function lockAlertRule(
  tx: Transaction,
  { accountId }: Scope,
  projectId: string,
  id: string,
): Promise<AlertRuleRow> {
  const place = { account_id: accountId, project_id: projectId };
  const found = await tx.query(lockOne, { ...place, alert_rule_id: toUuid(id) });
  return requireRow(found, () => problem('alert-rule-not-found', { id }));
}

const insertOne = insertStatement('alert_rule', {
  account_id: 'uuid',
  project_id: 'uuid',
  alert_rule_id: 'uuid',
  ...writtenColumns,
  created_at: 'timestamptz',
});

// The rules of an account begin to read its log with the first one.
const startPosition = statement(
  { parameters: { account_id: 'uuid' } },
  `
  insert into alert_position (account_id, position)
  select $account_id, coalesce((select last_position from event_position where account_id = $account_id), 0)
  on conflict do nothing`,
);

function refuseRaces(tx: Transaction, row: AlertRuleRow): void {
  tx.onConstraint('alert_rule_name_taken', () => problem('alert-rule-name-taken', { name: row.name }));
  tx.onConstraint('alert_rule_in_environment', () =>
    problem('unknown-environment', { name: row.environment_name ?? '' }),
  );
}

export function insertAlertRule(tx: Transaction, scope: Scope, projectId: string, row: AlertRuleRow): void {
  refuseRaces(tx, row);
  const { last_raised_at: _, ...written } = row;
  tx.send(startPosition, { account_id: scope.accountId });
  tx.send(insertOne, { account_id: scope.accountId, project_id: projectId, ...written });
}

const updateOne = statement(
  { parameters: { account_id: 'uuid', alert_rule_id: 'uuid', ...writtenColumns } },
  `
  update alert_rule set ${Object.keys(writtenColumns)
    .map((name) => `${name} = $${name}`)
    .join(', ')}
  where account_id = $account_id and alert_rule_id = $alert_rule_id`,
);

export function updateAlertRuleRow(tx: Transaction, scope: Scope, row: AlertRuleRow): void {
  refuseRaces(tx, row);
  const { last_raised_at: _, created_at: __, ...written } = row;
  tx.send(updateOne, { account_id: scope.accountId, ...written });
}

export const deleteAlertRuleRow = statement(
  { parameters: { account_id: 'uuid', alert_rule_id: 'uuid' } },
  'delete from alert_rule where account_id = $account_id and alert_rule_id = $alert_rule_id',
);

const alertRow = {
  alert_id: 'uuid',
  raised_at: 'timestamptz',
  reason: 'text',
  environment_name: 'text?',
  pipeline_name: 'text?',
  execution_id: 'uuid?',
  schedule_id: 'uuid?',
} satisfies ColumnTypes;
const listedAlertRow = {
  ...alertRow,
  mails: typed<AlertMailPart[] | null>('jsonb'),
} satisfies ColumnTypes;
type AlertMailPart = { recipient: string; state: AlertMailState; lastError: string | null };

/** The total is null if the project has no such rule. */
export const alertsOfRule = guardedPage(
  {
    parameters: { alert_rule_id: 'uuid', limit: 'bigint', offset: 'bigint' },
    row: listedAlertRow,
    totalType: 'bigint?',
  },
  {
    rows: `
    select ${Object.keys(alertRow).join(', ')}, (
      select jsonb_agg(jsonb_build_object('recipient', p.recipient, 'state', coalesce(m.state, 'withheld'),
        'lastError', coalesce(p.reason, m.last_error)) order by p.recipient)
      from alert_mail_part p left join alert_mail m on m.account_id = p.account_id and m.mail_id = p.mail_id
      where p.account_id = alert.account_id and p.alert_id = alert.alert_id) as mails
    from alert where account_id = $account_id and alert_rule_id = $alert_rule_id
    order by alert_id desc limit $limit offset $offset`,
    total: `
    select (select count(*) from alert a where a.account_id = $account_id and a.alert_rule_id = $alert_rule_id)
    ${ofProject} and alert_rule_id = $alert_rule_id`,
  },
);

export function presentAlert(row: RowOf<typeof listedAlertRow>): Alert {
  const alert: Alert = {
    alertId: row.alert_id,
    raisedAt: row.raised_at.toISOString(),
    reason: row.reason,
  };
  if (row.environment_name !== null) alert.environmentName = row.environment_name;
  if (row.pipeline_name !== null) alert.pipelineName = row.pipeline_name;
  if (row.execution_id !== null) alert.pipelineExecutionId = row.execution_id;
  if (row.schedule_id !== null) alert.scheduleId = row.schedule_id;
  if (row.mails !== null)
    alert.mails = row.mails.map(({ lastError, ...mail }) =>
      lastError === null ? mail : { ...mail, lastError },
    );
  return alert;
}

export function presentAlertRule(row: AlertRuleRow, silent?: SilentRecipients): AlertRule {
  const { unconfirmed = [], unasked = [] } = silent ?? {};
  const rule: AlertRule = {
    alertRuleId: row.alert_rule_id,
    name: row.name,
    condition: presentCondition(row),
    webhookIds: [...row.webhook_ids],
    emails: [...row.emails],
    enabled: row.enabled,
    createdAt: row.created_at.toISOString(),
  };
  if (unconfirmed.length > 0) rule.unconfirmedRecipients = [...unconfirmed];
  if (unasked.length > 0) rule.unaskedRecipients = [...unasked];
  if (row.environment_name !== null) rule.environmentName = row.environment_name;
  if (row.pipeline_name !== null) rule.pipelineName = row.pipeline_name;
  if (row.schedule_id !== null) rule.scheduleId = row.schedule_id;
  if (row.last_raised_at !== null) rule.lastRaisedAt = row.last_raised_at.toISOString();
  return rule;
}

export function presentCondition(
  row: Pick<AlertRuleRow, 'condition_type' | 'minutes' | 'factor'>,
): AlertCondition {
  const condition: AlertCondition = { type: row.condition_type };
  if (row.minutes !== null) condition.minutes = row.minutes;
  if (row.factor !== null) condition.factor = row.factor;
  return condition;
}

/** Alerts do not change the tag. */
export function renderAlertRuleEtag({ alert_rule_id: id, version }: AlertRuleRow): string {
  return makeEntityTag(id, version);
}
