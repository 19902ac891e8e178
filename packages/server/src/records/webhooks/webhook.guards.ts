/** What this slice contributes to the tests over all operations. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { webhookExamples } from './webhook.examples.ts';

export const webhookGuards: SliceGuards = {
  examples: webhookExamples,
  countedElsewhere: {
    updateWebhook:
      'records/webhooks/webhook.test.ts: a write with If-Match is refused if the webhook has changed',
  },
};
