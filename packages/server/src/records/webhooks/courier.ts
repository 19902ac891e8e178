/**
 * Sends the events of webhooks. Every server has one. It looks for webhooks with something to send, takes them
 * for the time of a lease, and sends for several at once, each in its order.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { getEventsKey } from '../../kernel/database/event-news.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Log } from '../../kernel/log.ts';
import { createPlaces } from '../../kernel/work/places.ts';
import { numberNextEvents } from '../events/index.ts';
import {
  advanceIdleWebhooks,
  type Claim,
  claimDueWebhooks,
  claimReadyWebhooks,
  hasActiveWebhooks,
  hastenAfterClockChange,
  listDueWebhooks,
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

const mostAtOnce = 256;
/** How many due webhooks are looked at to find those that get a place. */
const dueOfLook = 1_000;
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

/** @param places how many webhooks it sends for at once */
export function createCourier(services: CourierServices, total: number = mostAtOnce): Courier {
  const { database, clock, wakes, stopping, log, metrics } = services;
  const { read } = database;
  /** Accounts with new events. */
  let news = new Set<string>();
  const sending = new Map<string, Sending>();
  const places = createPlaces(total);
  /** Accounts whose news wait for a place. */
  const crowded = new Set<string>();
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
      places.release(accountId);
      if (sending.get(webhookId) === entry) sending.delete(webhookId);
      if (entry.hasNews) learnNews(accountId);
      for (const waiting of crowded) learnNews(waiting);
      crowded.clear();
    }
    // After a lost lease the earlier sending for this webhook may still be ending.
    sending.set(webhookId, entry);
    places.take(accountId);
    entry.ended = send();
  }

  async function lookAt(accountId: string): Promise<void> {
    if (!(await hasActiveWebhooks(read, accountId))) return;
    const { hasMore } = await numberNextEvents(database, accountId);
    // The next look goes on, after those at other accounts.
    if (hasMore) learnNews(accountId);
    const limit = places.countFree(accountId);
    if (limit === 0) crowded.add(accountId);
    else
      for (const claim of await claimReadyWebhooks(read, accountId, { ...getClaiming(), limit }))
        start(claim);
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
    const fullAccounts = places.listFull();
    const due = await listDueWebhooks(read, { fullAccounts, limit: dueOfLook, now: clock.now() });
    const chosen = due.filter(({ account_id: accountId }) => {
      if (places.countFree(accountId) === 0) return false;
      places.take(accountId);
      return true;
    });
    // Those that are claimed take them again.
    for (const { account_id: accountId } of chosen) places.release(accountId);
    if (chosen.length === 0) return;
    for (const claim of await claimDueWebhooks(read, chosen, getClaiming())) start(claim);
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
      while (sending.size > 0 || news.size > 0) {
        await waitForSending();
        await lookForDue();
        await lookAtNews();
      }
    },
  };
}
