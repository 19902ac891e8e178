/** An account with a webhook, its receiver, and a queue that sends when the test says so. */
import type { Page, Webhook, WebhookDelivery } from '@headgate/contract';
import { createDeliveryQueue, type DeliveryQueue } from '../src/records/webhooks/webhook.work.ts';
import type { Account } from './account.ts';
import type { Client } from './client.ts';
import type { TestServer } from './open-server.ts';
import { type ReceivedDelivery, type Receiver, startReceiver } from './webhook-receiver.ts';

export interface WebhookScene {
  account: Account;
  receiver: Receiver;
  webhookId: string;
  secret: string;
  /** Its path. */
  path: string;
  /** Creates a variable of a new name, whose event the webhook gets, and returns the name. */
  makeEvent(): Promise<string>;
  /** Sends what can be sent now. */
  send(): Promise<void>;
  /** The names of the subjects that the receiver got, in order. */
  subjects(): (string | undefined)[];
  read(): Promise<Webhook>;
  deliveries(query?: string): Promise<WebhookDelivery[]>;
}

const queues = new WeakMap<TestServer, DeliveryQueue>();

export function getDeliveryQueue(server: TestServer): DeliveryQueue {
  const queue = queues.get(server) ?? createDeliveryQueue(server.deps);
  queues.set(server, queue);
  return queue;
}

export const subjectsOf = (received: readonly ReceivedDelivery[]) =>
  received.map(({ event }) => event.data.eventSubjectName);

export interface SceneOptions {
  account?: Account;
  /** Creates the webhook; by default the admin. */
  owner?: Client;
  /** More members of the webhook. By default it wants created variables. */
  wanted?: object;
}

export async function createWebhookScene(
  server: TestServer,
  options: SceneOptions = {},
): Promise<WebhookScene> {
  const account = options.account ?? (await server.account());
  const { admin } = account;
  const { path: project } = await account.project();
  const receiver = await startReceiver();
  const webhook = { name: 'hook', url: receiver.url, eventNames: ['variable-created'], ...options.wanted };
  const made = await (options.owner ?? admin).post<{ webhookId: string; secret: string }>(
    '/webhooks',
    webhook,
  );
  if (made.status !== 201) throw new Error(made.text);
  const path = `/webhooks/${made.body.webhookId}`;
  let count = 0;
  return {
    account,
    receiver,
    ...made.body,
    path,
    async makeEvent() {
      count += 1;
      const name = `v${count}`;
      const answer = await admin.post(`${project}/variables`, { name, type: 'TEXT', behaviour: 'SHARED' });
      if (answer.status !== 201) throw new Error(answer.text);
      return name;
    },
    send: () => getDeliveryQueue(server).sendDue(account.accountId),
    subjects: () => subjectsOf(receiver.received),
    read: async () => (await admin.get<Webhook>(path)).body,
    deliveries: async (query = '') =>
      (await admin.get<Page<WebhookDelivery>>(`${path}/deliveries?${query}`)).body.results,
  };
}

/** A server that may send to loopback. */
export const loopbackAllowed = {
  settings: { HEADGATE_EGRESS_ALLOW: '127.0.0.0/8', HEADGATE_WEBHOOK_TIMEOUT_SECONDS: '1' },
};
