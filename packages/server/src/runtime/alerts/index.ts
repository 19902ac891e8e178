import { createRemovalJob } from '../../kernel/retention/periodic-job.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { createAlertRetention, createMailRetention } from './alert.retention.ts';
import { alertRuleRoutes } from './alert-rule.routes.ts';
import { createAlertJob } from './alert-turns.ts';
import type { AlertServices } from './alerting.ts';
import { type MailLinkServices, mailLinkRoutes } from './mail-link.routes.ts';
import { removeUnansweredRecipients } from './mail-recipient.store.ts';
import { createMailJob, type MailSenderServices } from './mail-sender.ts';

export type { MailLimits } from './mail-recipient.store.ts';
export type { MailSettings } from './mail-transport.ts';

const removedAtOnce = 500;

interface Needs extends AlertServices, MailSenderServices, MailLinkServices {
  config: AlertServices['config'] &
    MailSenderServices['config'] & { retention: { eventDays: number | undefined } };
}

export const alerts: Slice<Needs> = {
  name: 'alerts',
  routes(endpoints, services) {
    alertRuleRoutes(endpoints, services);
    mailLinkRoutes(endpoints, services);
  },
  retention: ({ config }) => [
    createAlertRetention(config.retention.eventDays),
    createMailRetention(config.retention.eventDays),
  ],
  periodic: (services) => [
    createAlertJob(services),
    createMailJob(services),
    createRemovalJob(services, {
      kind: 'mail-recipients',
      batch: removedAtOnce,
      remove: (read, now) => removeUnansweredRecipients(read, now, removedAtOnce),
    }),
  ],
};
