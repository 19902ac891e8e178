/** A request that succeeds for each operation on webhooks. */
import type { Examples, Place } from '../../../testing/place.ts';

const buildWebhook = ({ named, project }: Place) => ({
  name: named('failed runs'),
  url: 'https://hooks.example.com/headgate',
  eventNames: ['pipeline-execution-ended'],
  projectId: project.projectId,
  environmentName: 'prod',
});

/** Returns its path. Its owner reads no more than other Admins, so that each of them can change it. */
async function createWebhook(place: Place): Promise<string> {
  const owner = await place.account.actor('ADMIN');
  const made = await owner.post<{ webhookId: string }>('/webhooks', buildWebhook(place));
  return `/webhooks/${made.body.webhookId}`;
}

export const webhookExamples: Examples = {
  async listWebhooks(place) {
    await createWebhook(place);
    return { path: '/webhooks?page=0&size=1' };
  },
  createWebhook: (place) => ({ path: '/webhooks', body: buildWebhook(place) }),
  getWebhook: async (place) => ({ path: await createWebhook(place) }),
  updateWebhook: async (place) => ({ path: await createWebhook(place), body: { state: 'paused' } }),
  deleteWebhook: async (place) => ({ path: await createWebhook(place) }),
  rotateWebhook: async (place) => ({
    path: `${await createWebhook(place)}/rotate`,
    body: { overlapSeconds: 3_600 },
  }),
  testWebhook: async (place) => ({ path: `${await createWebhook(place)}/test` }),
  listWebhookDeliveries: async (place) => ({
    path: `${await createWebhook(place)}/deliveries?status=dead`,
  }),
  redeliverWebhook: async (place) => ({ path: `${await createWebhook(place)}/redeliver`, body: {} }),
};
