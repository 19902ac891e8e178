/**
 * Sends the events of webhooks. Every server has one. It looks for webhooks with something to send, takes them
 * for the time of a lease, and sends for several at once, each in its order.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { getEventsKey } from '../../kernel/database/event-news.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Log } from '../../kernel/log.ts';
import { readLogBounds } from '../events/index.ts';
import {
  advanceIdleWebhooks,
  type Claim,
  claimDueWebhooks,
  claimReadyWebhooks,
  hasActiveWebhooks,
  hastenAfterClockChange,
  listWaitingAccounts,
  readOldestWaiting,
} from './courier.store.ts';
import { releaseWebhook } from './sending.store.ts';
import { computeLeaseSeconds, type SendingServices, sendForWebhook } from './sending.ts';

export interface CourierServices extends SendingServices {
  wakes: Wakes;
  log: Log;
}

export interface Courier {
  /** Sends until the server stops. */
  run(): Promise<void>;
  /** Sends what can be sent now: what is due, and the new events of an account. */
  sendDue(accountId: string): Promise<void>;
}

/** A receiver that hangs holds one of them until the timeout. An account has fewer webhooks. */
const mostAtOnce = 256;
const dueMilliseconds = 1_000;
const checkMilliseconds = 5_000;
/** Looks are this far apart, and each rest lasts this many times as long as its look. */
const shortestRestMilliseconds = 20;
const restFactor = 3;
const eventsKeyPrefix = getEventsKey('');

interface Sending {
  accountId: string;
  hasNews: boolean;
  ended: Promise<void>;
}

export function createCourier(services: CourierServices): Courier {
  const { database, clock, wakes, stopping, log, metrics } = services;
  const { read } = database;
  /** Accounts with new events. */
  let news = new Set<string>();
  const sending = new Map<string, Sending>();
  let ring = () => {};
  let mustCheck = false;

  function learnNews(accountId: string): void {
    news.add(accountId);
    for (const each of sending.values()) if (each.accountId === accountId) each.hasNews = true;
    ring();
  }

  wakes.listen((key) => {
    if (key === undefined) mustCheck = true;
    else if (key.startsWith(eventsKeyPrefix)) learnNews(key.slice(eventsKeyPrefix.length));
  });

  const getClaiming = () => ({
    limit: mostAtOnce - sending.size,
    leaseSeconds: computeLeaseSeconds(services),
    now: clock.now(),
  });

  function start(claim: Claim): void {
    const { account_id: accountId, webhook_id: webhookId } = claim;
    const entry: Sending = { accountId, hasNews: false, ended: Promise.resolve() };
    const takeNews = () => {
      const hadNews = entry.hasNews;
      entry.hasNews = false;
      return hadNews;
    };
    async function send(): Promise<void> {
      try {
        await sendForWebhook(services, claim, takeNews);
        await releaseWebhook(database, claim);
      } catch (failure) {
        // The lease ends soon, and then the webhook is due.
        log.warn({ err: failure, webhookId }, 'failed to send for a webhook; it will be tried again');
      }
      if (sending.get(webhookId) === entry) sending.delete(webhookId);
      if (entry.hasNews) learnNews(accountId);
    }
    // After a lost lease the earlier sending for this webhook may still be ending.
    sending.set(webhookId, entry);
    entry.ended = send();
  }

  async function lookAt(accountId: string): Promise<void> {
    if (!(await hasActiveWebhooks(read, accountId))) return;
    await readLogBounds(database, accountId);
    if (sending.size >= mostAtOnce) return;
    for (const claim of await claimReadyWebhooks(read, accountId, getClaiming())) start(claim);
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

  async function lookForDue(): Promise<void> {
    if (sending.size >= mostAtOnce) return;
    for (const claim of await claimDueWebhooks(read, getClaiming())) start(claim);
  }

  /** Finds what no notification announced. */
  async function check(): Promise<void> {
    await hastenAfterClockChange(read, clock.now());
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
        await lookForDue();
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

  const waitForSending = () => Promise.all([...sending.values()].map(({ ended }) => ended));

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
        await waitForSending();
      }
    },
    async sendDue(accountId) {
      await lookForDue();
      learnNews(accountId);
      await lookAtNews();
      while (sending.size > 0) {
        await waitForSending();
        await lookForDue();
        await lookAtNews();
      }
    },
  };
}
