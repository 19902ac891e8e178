/** The subject and the text of a mail about an alert. */
import type { AlertConditionType } from '@headgate/contract';
import { cutText, renderLine } from '../../kernel/one-line.ts';
import type { Cause } from './cause.ts';

export interface RaisedAlert {
  alertId: string;
  reason: string;
  about: Cause;
}

export interface MailPlace {
  publicUrl: string;
  projectName: string;
  now: Date;
}

const longestSubject = 200;

const verbs: Readonly<Record<AlertConditionType, string>> = {
  FAILED: 'failed',
  RECOVERED: 'succeeded again',
  LONGER_THAN: 'takes long',
  LONGER_THAN_USUAL: 'takes longer than usual',
  NOT_STARTED: 'has not started',
  SCHEDULE_PROBLEM: 'cannot be started by its schedule',
  BUDGET: 'spends its budget',
};

const mostReasons = 10;
const mostRules = 50;
const longestName = 255;

/** The mail about alerts of one run, or one schedule. At least one alert. */
export function renderAlertMail(
  alerts: readonly RaisedAlert[],
  place: MailPlace,
): { subject: string; text: string } {
  const [first] = alerts;
  if (first === undefined) throw new Error('A mail needs an alert.');
  return { subject: renderSubject(first, place), text: renderText(first, alerts, place) };
}

/** One line, such as `[Headgate] Nightly load failed in prod`. */
function renderSubject({ about }: RaisedAlert, { projectName }: MailPlace): string {
  const { pipeline_name: pipeline, environment_name: environment } = about;
  const name = pipeline?.replace(/\.(orch|tran)\.yaml$/, '').replace(/^.*\//, '') ?? projectName;
  const end = ` ${verbs[about.condition_type]}${environment === null ? '' : ` in ${environment}`}`;
  const subject = avoidLinks(renderName(`[Headgate] ${name}${end}`));
  return cutText(subject, longestSubject);
}

/** Mail programs make links of hosts, addresses and `scheme:`; the names of tenants must not become any. */
const avoidLinks = (line: string) => line.replaceAll(/[.:@/\\](?=\S)/g, '_');

const renderName = (text: string) => renderLine(text, longestName);

/** Marked as a quotation, so that no text of a run is taken for that of the mail. */
const quoteText = (text: string) =>
  text
    .split(/\r\n|[\n\r\p{Zl}\p{Zp}]/u)
    .map((line) => `> ${line.replaceAll(/\p{Cc}+/gu, ' ').replaceAll(/\p{Cf}+/gu, '')}`.trimEnd())
    .join('\n');

function renderText(
  { about, alertId }: RaisedAlert,
  alerts: readonly RaisedAlert[],
  { publicUrl, projectName, now }: MailPlace,
): string {
  const project = `${publicUrl}/dpc/v1/projects/${about.project_id}`;
  const since = about.problem_since ?? about.schedule_tick;
  const reasons = [...new Set(alerts.map(({ reason }) => reason))];
  const rules = alerts.map((alert) => alert.about.name);
  const facts: [string, string | null][] = [
    ...rules.slice(0, mostRules).map((name): [string, string] => ['Alert rule', name]),
    ['Further alert rules', rules.length > mostRules ? String(rules.length - mostRules) : null],
    ['Project', projectName],
    ['Environment', about.environment_name],
    ['Pipeline', about.pipeline_name],
    ['Schedule', about.schedule_name],
    ['Since', since === null ? null : since.toISOString()],
    ['Raised', now.toISOString()],
    ['Alert id', alertId],
    ['Execution id', about.execution_id],
  ];
  const links: [string, string | null][] = [
    ['Execution', about.execution_id && `${project}/pipeline-executions/${about.execution_id}`],
    ['Schedule', about.schedule_id && `${project}/schedules/${about.schedule_id}`],
    ['Alerts of the rule', `${project}/alert-rules/${about.alert_rule_id}/alerts`],
  ];
  const quoted = reasons.slice(0, mostReasons).map(quoteText);
  return [...quoted, '', ...renderRows(facts), '', ...renderRows(links), ''].join('\n');
}

const renderRows = (rows: readonly [string, string | null][]): string[] =>
  rows.flatMap(([name, value]) => (value === null ? [] : [`${name}: ${renderName(value)}`]));

/** Has no text of the account but its name, which its operator gave it. */
export function renderConfirmationMail(
  accountName: string,
  { link, refusal, days }: { link: string; refusal: string | undefined; days: number },
): { subject: string; text: string } {
  const text = [
    `The account ${JSON.stringify(renderName(accountName))} of a Headgate server wants to send alerts about its data pipelines to this address.`,
    '',
    `To get them, open this link within ${days} days and confirm:`,
    link,
    '',
    'If you do nothing, you get no alerts.',
    ...(refusal === undefined ? [] : ['To get no more mails like this one, open:', refusal]),
    '',
  ].join('\n');
  return { subject: '[Headgate] Confirm that you want alerts by mail', text };
}

/** Has no text of the account but its name. */
export function renderInvitationMail(
  accountName: string,
  { link, refusal, until }: { link: string; refusal: string | undefined; until: Date | undefined },
): { subject: string; text: string } {
  const text = [
    `The account ${JSON.stringify(avoidLinks(renderName(accountName)))} of a Headgate server invites you.`,
    '',
    `To accept${until === undefined ? '' : ` until ${until.toISOString()}`}, open:`,
    link,
    '',
    'If you do not expect this mail, do nothing.',
    ...(refusal === undefined ? [] : ['To get no more mails like this one, open:', refusal]),
    '',
  ].join('\n');
  return { subject: '[Headgate] You are invited', text };
}

export const renderRefusalFooter = (refusal: string) =>
  `\n--\nYou get this mail because your address is in an alert rule. To stop these mails, open:\n${refusal}\n`;
