import type { Slice } from '../../kernel/slice/slice.ts';
import { createAlertRetention } from './alert.retention.ts';
import { alertRuleRoutes } from './alert-rule.routes.ts';
import { type AlertServices, createAlertJob } from './alerting.ts';

interface Needs extends AlertServices {
  config: { retention: { eventDays: number | undefined } };
}

export const alerts: Slice<Needs> = {
  name: 'alerts',
  routes: alertRuleRoutes,
  retention: ({ config }) => [createAlertRetention(config.retention.eventDays)],
  periodic: (services) => [createAlertJob(services)],
};
