import { createRemovalJob } from '../../kernel/retention/periodic-job.ts';
import type { Slice } from '../../kernel/slice/slice.ts';
import { createWorkerJob, type WorkerServices } from '../../kernel/work/server-worker.ts';
import { createAlertRetention, createMailRetention } from './alert.retention.ts';
import { createMailWork, type MailSenderServices } from './alert-mail.work.ts';
import { alertRuleRoutes } from './alert-rule.routes.ts';
import { createAlertJob } from './alert-turns.ts';
import type { AlertServices } from './alerting.ts';
import { type MailLinkServices, mailLinkRoutes } from './mail-link.routes.ts';
import { removeUnansweredRecipients } from './mail-recipient.store.ts';

export { writeInvitationMail } from './invitation-mail.store.ts';
export type { MailLimits } from './mail-recipient.store.ts';
export type { MailSettings } from './mail-transport.ts';

const removedAtOnce = 500;

interface Needs extends AlertServices, WorkerServices, MailSenderServices, MailLinkServices {
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
    createWorkerJob(services, createMailWork(services)),
    createRemovalJob(services, {
      kind: 'mail-recipients',
      batch: removedAtOnce,
      remove: (read, now) => removeUnansweredRecipients(read, now, removedAtOnce),
    }),
  ],
};
