import type { Slice } from '../../kernel/slice/slice.ts';
import { alertRuleRoutes } from './alert-rule.routes.ts';
import { type AlertServices, createAlertJob } from './alerting.ts';

export const alerts: Slice<AlertServices> = {
  name: 'alerts',
  routes: alertRuleRoutes,
  periodic: (services) => [createAlertJob(services)],
};
