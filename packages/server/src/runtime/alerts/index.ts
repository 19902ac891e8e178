import type { Slice } from '../../kernel/slice/slice.ts';
import { createAlertRetention } from './alert.retention.ts';
import { alertRuleRoutes } from './alert-rule.routes.ts';
import { createAlertJob } from './alert-turns.ts';
import type { AlertServices } from './alerting.ts';
import { createMailJob, type MailSenderServices } from './mail-sender.ts';

export type { MailSettings } from './mail-transport.ts';

interface Needs extends AlertServices, MailSenderServices {
  config: AlertServices['config'] &
    MailSenderServices['config'] & { retention: { eventDays: number | undefined } };
}

export const alerts: Slice<Needs> = {
  name: 'alerts',
  routes: alertRuleRoutes,
  retention: ({ config }) => [createAlertRetention(config.retention.eventDays)],
  periodic: (services) => [createAlertJob(services), createMailJob(services)],
};
