import { firstIdAt, oldRows, type RetentionRule } from '../../kernel/retention/retention.ts';

const oldAlerts = oldRows({
  table: 'alert',
  key: ['alert_id'],
  cursorType: 'uuid',
  old: (time) => `r.alert_id < ${firstIdAt(time)}`,
});

const oldMails = oldRows({
  table: 'alert_mail',
  key: ['mail_id'],
  cursorType: 'uuid',
  old: (time) => `r.mail_id < ${firstIdAt(time)}`,
});

/** Alerts are kept as long as events. @param days undefined keeps them forever */
export function createAlertRetention(days: number | undefined): RetentionRule {
  return { kind: 'alerts', days, ...oldAlerts };
}

export function createMailRetention(days: number | undefined): RetentionRule {
  return { kind: 'alert-mails', days, ...oldMails };
}
