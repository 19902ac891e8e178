/** The subject and the text of a mail about an alert. */
import type { AlertConditionType } from '@headgate/contract';
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
};

/** One line, such as `[Headgate] Nightly load failed in prod`. */
export function renderMailSubject({ about }: RaisedAlert): string {
  const pipeline = about.pipeline_name.replace(/\.(orch|tran)\.yaml$/, '').replace(/^.*\//, '');
  const end = ` ${verbs[about.condition_type]} in ${about.environment_name}`;
  const subject = renderLine(`[Headgate] ${pipeline}${end}`);
  // By characters, so that none is cut in two.
  const characters = [...subject];
  return characters.length <= longestSubject
    ? subject
    : `${characters.slice(0, longestSubject - 1).join('')}…`;
}

/** Line breaks and control characters become spaces: names may have them, headers may not. */
const renderLine = (text: string) => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();

export function renderMailText(alert: RaisedAlert, { publicUrl, projectName, now }: MailPlace): string {
  const { about, reason } = alert;
  const project = `${publicUrl}/dpc/v1/projects/${about.project_id}`;
  const since = about.problem_since ?? about.schedule_tick;
  const facts: [string, string | null][] = [
    ['Alert rule', about.name],
    ['Project', projectName],
    ['Environment', about.environment_name],
    ['Pipeline', about.pipeline_name],
    ['Schedule', about.schedule_name],
    ['Since', since === null ? null : since.toISOString()],
    ['Raised', now.toISOString()],
    ['Alert id', alert.alertId],
    ['Execution id', about.execution_id],
  ];
  const links: [string, string | null][] = [
    ['Execution', about.execution_id && `${project}/pipeline-executions/${about.execution_id}`],
    ['Schedule', about.schedule_id && `${project}/schedules/${about.schedule_id}`],
    ['Alerts of the rule', `${project}/alert-rules/${about.alert_rule_id}/alerts`],
  ];
  return [reason, '', ...renderRows(facts), '', ...renderRows(links), ''].join('\n');
}

function renderRows(rows: readonly [string, string | null][]): string[] {
  return rows.flatMap(([name, value]) => (value === null ? [] : [`${name}: ${renderLine(value)}`]));
}
