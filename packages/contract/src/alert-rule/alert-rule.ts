/** Alert rules of a project: what raises an alert, and who hears of it. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { PipelineName } from '../pipeline-execution/pipeline-execution.ts';
import {
  DateTime,
  EnvironmentName,
  ifMatchHeader,
  MailAddress,
  Name,
  OpaqueId,
  oneOf,
  pageOf,
  pageQuery,
  Uuid,
} from '../primitives.ts';
import { projectPath } from '../project/project.ts';

/** Characters of the reason of an alert. */
export const alertReasonLimit = 1_000;
/** Alert rules of one project. */
export const alertRuleLimit = 1_000;
export const alertConditionTypes = [
  'FAILED',
  'RECOVERED',
  'LONGER_THAN',
  'LONGER_THAN_USUAL',
  'NOT_STARTED',
  'SCHEDULE_PROBLEM',
  'BUDGET',
] as const;
export type AlertConditionType = (typeof alertConditionTypes)[number];

const AlertCondition = named(
  'AlertCondition',
  Type.Object({
    type: oneOf(alertConditionTypes, {
      description:
        'FAILED: an execution failed. RECOVERED: one succeeded after the one before it failed. ' +
        'LONGER_THAN: it has taken longer than `minutes`. LONGER_THAN_USUAL: it has taken longer than `factor` times the median of its last successful executions, and a minute. ' +
        'NOT_STARTED: no agent has started it `minutes` after its tick. SCHEDULE_PROBLEM: a schedule cannot start executions. ' +
        'BUDGET: the budget of the project warns or is used up',
    }),
    minutes: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 44_640, description: 'Of LONGER_THAN and NOT_STARTED' }),
    ),
    factor: Type.Optional(
      Type.Number({ minimum: 1.1, maximum: 100, description: 'Of LONGER_THAN_USUAL; 3 by default' }),
    ),
  }),
);
export type AlertCondition = Static<typeof AlertCondition>;

const WebhookIds = Type.Array(OpaqueId, {
  maxItems: 20,
  uniqueItems: true,
  description: 'Webhooks that get the event `alert-raised`, whatever their filters are',
});

const Emails = Type.Array(MailAddress, {
  maxItems: 20,
  uniqueItems: true,
  description:
    'Addresses that get a mail of each alert, if their owners confirmed them or the operator named their domains. The server needs SMTP settings',
});

export const alertMailStates = ['pending', 'sent', 'dead', 'withheld'] as const;
export type AlertMailState = (typeof alertMailStates)[number];

export const AlertRule = named(
  'AlertRule',
  Type.Object({
    alertRuleId: Uuid,
    name: Name,
    condition: AlertCondition,
    environmentName: Type.Optional(EnvironmentName),
    pipelineName: Type.Optional(PipelineName),
    scheduleId: Type.Optional(Uuid),
    webhookIds: Type.Array(Uuid, { maxItems: 20 }),
    emails: Emails,
    unconfirmedRecipients: Type.Optional(
      Type.Array(MailAddress, {
        maxItems: 20,
        description:
          'Those of `emails` that get no mail yet: their owners have not confirmed, or refuse mails',
      }),
    ),
    unaskedRecipients: Type.Optional(
      Type.Array(MailAddress, {
        maxItems: 20,
        description:
          'Those of `unconfirmedRecipients` whose owners got no confirmation mail: a limit of the day was reached. Save the rule again on the next day (UTC)',
      }),
    ),
    enabled: Type.Boolean(),
    lastRaisedAt: Type.Optional(DateTime),
    createdAt: DateTime,
  }),
);
export type AlertRule = Static<typeof AlertRule>;

const AlertMail = named(
  'AlertMail',
  Type.Object({
    recipient: MailAddress,
    state: oneOf(alertMailStates, {
      description:
        'pending: it is sent, or sent again. sent: the mail server took it. dead: it was given up. ' +
        'withheld: none was written; `lastError` says why',
    }),
    lastError: Type.Optional(Type.String({ maxLength: 1_000 })),
  }),
);
export type AlertMail = Static<typeof AlertMail>;

export const Alert = named(
  'Alert',
  Type.Object({
    alertId: Uuid,
    raisedAt: DateTime,
    reason: Type.String({ maxLength: alertReasonLimit }),
    environmentName: Type.Optional(EnvironmentName),
    pipelineName: Type.Optional(Type.String({ maxLength: 1_024 })),
    pipelineExecutionId: Type.Optional(Uuid),
    scheduleId: Type.Optional(Uuid),
    mails: Type.Optional(
      Type.Array(AlertMail, { maxItems: 20, description: 'Left out for an alert without mails' }),
    ),
  }),
);
export type Alert = Static<typeof Alert>;

const alertOperation = { surface: 'dpc', tag: 'Alerts' } as const;
const path = '/v1/projects/{projectId}/alert-rules';
const onePath = `${path}/{alertRuleId}` as const;
const rulePath = Type.Object({ ...projectPath, alertRuleId: OpaqueId });
const filters = {
  environmentName: EnvironmentName,
  pipelineName: PipelineName,
  scheduleId: OpaqueId,
};

export const listAlertRules = operation({
  ...alertOperation,
  id: 'listAlertRules',
  method: 'GET',
  path,
  summary: 'List alert rules',
  description: 'Newest first.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(AlertRule) },
  problems: ['project-not-found'],
  events: [],
});

export const createAlertRule = operation({
  ...alertOperation,
  id: 'createAlertRule',
  method: 'POST',
  path,
  summary: 'Create an alert rule',
  description:
    'An alert is the event `alert-raised`, once for each execution, or for each time that a schedule begins to have a problem. ' +
    'Without filters the rule is about all executions of the project. Only what happens from now on raises alerts.',
  permission: 'project:configure',
  params: Type.Object(projectPath),
  body: Type.Object({
    name: Name,
    condition: AlertCondition,
    environmentName: Type.Optional(filters.environmentName),
    pipelineName: Type.Optional(filters.pipelineName),
    scheduleId: Type.Optional(filters.scheduleId),
    webhookIds: Type.Optional(WebhookIds),
    emails: Type.Optional(Emails),
    enabled: Type.Optional(Type.Boolean()),
  }),
  success: { status: 201, body: AlertRule, headers: ['Location', 'ETag'] },
  problems: [
    'project-not-found',
    'alert-rule-name-taken',
    'too-many-alert-rules',
    'alert-condition',
    'alert-filter',
    'unknown-environment',
    'unknown-schedule',
    'unknown-webhook',
    'alert-mail-not-configured',
  ],
  events: ['alert-rule-created'],
});

export const getAlertRule = operation({
  ...alertOperation,
  id: 'getAlertRule',
  method: 'GET',
  path: onePath,
  summary: 'Get an alert rule',
  permission: 'project:read',
  params: rulePath,
  success: { status: 200, body: AlertRule, headers: ['ETag'] },
  problems: ['project-not-found', 'alert-rule-not-found'],
  events: [],
});

export const updateAlertRule = operation({
  ...alertOperation,
  id: 'updateAlertRule',
  method: 'PATCH',
  path: onePath,
  summary: 'Update an alert rule',
  description:
    'Omitted members keep their value; null removes a filter. What happened before the update raises no alert by the new condition.',
  permission: 'project:configure',
  params: rulePath,
  headers: ifMatchHeader,
  body: Type.Object({
    name: Type.Optional(Name),
    condition: Type.Optional(AlertCondition),
    environmentName: Type.Optional(Type.Union([filters.environmentName, Type.Null()])),
    pipelineName: Type.Optional(Type.Union([filters.pipelineName, Type.Null()])),
    scheduleId: Type.Optional(Type.Union([filters.scheduleId, Type.Null()])),
    webhookIds: Type.Optional(WebhookIds),
    emails: Type.Optional(Emails),
    enabled: Type.Optional(Type.Boolean()),
  }),
  success: { status: 200, body: AlertRule, headers: ['ETag'] },
  problems: [
    'project-not-found',
    'alert-rule-not-found',
    'alert-rule-name-taken',
    'etag-mismatch',
    'alert-condition',
    'alert-filter',
    'unknown-environment',
    'unknown-schedule',
    'unknown-webhook',
    'alert-mail-not-configured',
  ],
  events: ['alert-rule-updated'],
});

export const deleteAlertRule = operation({
  ...alertOperation,
  id: 'deleteAlertRule',
  method: 'DELETE',
  path: onePath,
  summary: 'Delete an alert rule',
  description: 'Its alerts are deleted too. Their events stay.',
  permission: 'project:configure',
  params: rulePath,
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['project-not-found', 'alert-rule-not-found', 'etag-mismatch'],
  events: ['alert-rule-deleted'],
});

export const listAlerts = operation({
  ...alertOperation,
  id: 'listAlerts',
  method: 'GET',
  path: `${onePath}/alerts`,
  summary: 'List the alerts of a rule',
  description: 'Newest first.',
  permission: 'project:read',
  params: rulePath,
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(Alert) },
  problems: ['project-not-found', 'alert-rule-not-found'],
  events: [],
});

export const alertRuleOperations = [
  listAlertRules,
  createAlertRule,
  getAlertRule,
  updateAlertRule,
  deleteAlertRule,
  listAlerts,
] as const;
