/**
 * Sends the events of webhooks. Every server has one. It looks for webhooks with something to send, takes them
 * for the time of a lease, and sends for several at once, each in its order.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { getEventsKey } from '../../kernel/database/event-news.ts';
import { createPlaces } from '../../kernel/work/places.ts';
import type { HeldWork } from '../../kernel/work/server-work.ts';
import { createServerWorker, type WorkerServices } from '../../kernel/work/server-worker.ts';
import { numberNextEvents } from '../events/index.ts';
import {
  advanceIdleWebhooks,
  hasActiveWebhooks,
  hastenRetries,
  listReadyWebhooks,
  listWaitingAccounts,
  readOldestWaiting,
} from './delivery-queue.store.ts';
import { pauseWebhook, releaseWebhook } from './sending.store.ts';
import { type SendingServices, sendForWebhook } from './sending.ts';
import { webhookKind } from './webhook.store.ts';

export interface DeliveryQueueServices extends SendingServices, WorkerServices {}

export interface DeliveryQueue {
  /** Sends until the server stops. */
  run(): Promise<void>;
  /** Sends what can be sent now: what is due, and the new events of an account. */
  sendDue(accountId: string): Promise<void>;
}

const mostAtOnce = 256;
const dueMilliseconds = 1_000;
const checkMilliseconds = 5_000;
/** Looks are this far apart, and each rest lasts this many times as long as its look. */
const shortestRestMilliseconds = 20;
const restFactor = 3;
const eventsKeyPrefix = getEventsKey('');

/** @param places how many webhooks it sends for at once */
export function createDeliveryQueue(
  services: DeliveryQueueServices,
  total: number = mostAtOnce,
): DeliveryQueue {
  const { database, clock, newId, wakes, stopping, metrics } = services;
  const { read } = database;
  /** Accounts with new events. */
  let news = new Set<string>();
  const sending = new Set<{ accountId: string; hasNews: boolean }>();
  const places = createPlaces(total);
  /** Accounts whose news wait for a place. */
  const crowded = new Set<string>();
  let ring = () => {};
  let mustCheck = false;

  function learnNews(accountId: string): void {
    news.add(accountId);
    for (const each of sending) if (each.accountId === accountId) each.hasNews = true;
    ring();
  }

  wakes.listen((key) => {
    if (key === undefined) mustCheck = true;
    else if (key.startsWith(eventsKeyPrefix)) learnNews(key.slice(eventsKeyPrefix.length));
  });

  async function send(held: HeldWork, signal: AbortSignal): Promise<void> {
    const { account_id: accountId, work_id: webhookId } = held;
    const entry = { accountId, hasNews: false };
    const takeNews = () => {
      const hadNews = entry.hasNews;
      entry.hasNews = false;
      return hadNews;
    };
    sending.add(entry);
    try {
      const claim = { ...held, webhook_id: webhookId };
      await sendForWebhook({ ...services, stopping: signal }, claim, takeNews);
      await releaseWebhook(database, claim, clock.now());
    } finally {
      sending.delete(entry);
      if (entry.hasNews) learnNews(accountId);
      for (const waiting of crowded) learnNews(waiting);
      crowded.clear();
    }
  }

  /** Pauses a webhook whose servers died. */
  async function setAside(held: HeldWork): Promise<void> {
    const claim = { ...held, webhook_id: held.work_id };
    const reason = `A server stopped ${held.interruptions} times in a row while it sent for the webhook. The operator finds what happened in the log of the servers.`;
    const now = clock.now();
    await pauseWebhook({ database, newId, now }, claim, reason);
    await releaseWebhook(database, claim, now);
  }

  const worker = createServerWorker(services, {
    kind: webhookKind,
    name: 'webhooks',
    lookMilliseconds: dueMilliseconds,
    // Longer than an attempt may take.
    leaseSeconds: services.config.webhookTimeoutSeconds + 15,
    places,
    // More than for other work: a webhook whose receiver is slow is held at many deaths that something else caused. One
    // after the other, a slow receiver would delay those of other accounts.
    mostInterruptions: 5,
    interruptedAtOnce: total,
    run: send,
    setAside,
  });

  async function lookAt(accountId: string): Promise<void> {
    if (!(await hasActiveWebhooks(read, accountId))) return;
    const { hasMore } = await numberNextEvents(database, accountId);
    // The next look goes on, after those at other accounts.
    if (hasMore) learnNews(accountId);
    const limit = places.countFree(accountId);
    if (limit === 0) crowded.add(accountId);
    else await worker.take(await listReadyWebhooks(read, accountId, limit));
  }

  async function lookAtNews(): Promise<void> {
    const accounts = news;
    news = new Set();
    let fault: { failure: unknown } | undefined;
    for (const accountId of accounts)
      await lookAt(accountId).catch((failure: unknown) => {
        fault = { failure };
      });
    if (fault !== undefined) throw fault.failure;
  }

  /** Finds what no notification announced. */
  async function check(): Promise<void> {
    await hastenRetries(read, clock.now());
    const oldest = await readOldestWaiting(read);
    const waited = oldest === undefined ? 0 : clock.now().getTime() - oldest.getTime();
    metrics.setOldestWebhookDelivery(Math.max(0, waited / 1_000));
    for (const accountId of await listWaitingAccounts(read)) {
      await lookAt(accountId);
      await advanceIdleWebhooks(read, accountId);
    }
  }

  async function lookOften(): Promise<void> {
    let [dueAt, checkAt] = [0, 0];
    while (!stopping.aborted) {
      const woken = Promise.withResolvers<void>();
      ring = () => woken.resolve();
      const began = performance.now();
      await lookAtNews();
      if (began >= dueAt) {
        dueAt = began + dueMilliseconds;
        await worker.look();
      }
      if (began >= checkAt || mustCheck) {
        checkAt = began + checkMilliseconds;
        mustCheck = false;
        await check();
      }
      const rest = Math.max(shortestRestMilliseconds, (performance.now() - began) * restFactor);
      await delay(rest, undefined, { signal: stopping }).catch(() => undefined);
      const timer = setTimeout(ring, Math.max(0, dueAt - performance.now()));
      if (!stopping.aborted) await woken.promise;
      clearTimeout(timer);
    }
  }

  return {
    async run() {
      // Also after a failure of the database, when news may be lost.
      mustCheck = true;
      const wakeUp = () => ring();
      stopping.addEventListener('abort', wakeUp);
      try {
        await lookOften();
      } finally {
        stopping.removeEventListener('abort', wakeUp);
        await worker.wait();
      }
    },
    async sendDue(accountId) {
      await worker.look();
      learnNews(accountId);
      await lookAtNews();
      while (worker.count() > 0 || news.size > 0) {
        await worker.wait();
        await worker.look();
        await lookAtNews();
      }
    },
  };
}
