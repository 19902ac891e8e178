/** Looks for due rules and reviews. Every server runs it; a lease keeps each rule with one server. */
import { setTimeout as delay } from 'node:timers/promises';
import { addSeconds } from '../../kernel/clock.ts';
import type { FailureLog } from '../../kernel/failure-log.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { claimDueReviews, type DueReview, renewReviews, reviewBatch } from './review.store.ts';
import { checkReview, type ReviewServices, reviewLeaseSeconds } from './review-check.ts';
import { claimDueRules, type DueRule, dueRuleBatch, renewRules } from './rule.store.ts';
import { deliverRule, type RuleDeliveryServices, ruleLeaseSeconds } from './rule-delivery.ts';

export interface DeliveryJobServices extends RuleDeliveryServices, ReviewServices {
  failures: FailureLog;
  config: RuleDeliveryServices['config'] & ReviewServices['config'];
}

const everyMilliseconds = 500;
/** Rules and reviews at once. Those of a host that does not answer wait for minutes, so one account gets a part. */
const mostAtOnce = 64;
const mostOfAccount = 8;

/** Leases are extended after this time. A fetch may last longer than a lease. */
const renewalSeconds = 30;

/** What this server has begun. */
interface Held {
  accountId: string;
  rule?: DueRule;
  review?: DueReview;
  renewedAt: Date;
}
type UnderWay = Map<Promise<void>, Held>;

export function createDeliveryJob(services: DeliveryJobServices): PeriodicJob {
  const underWay: UnderWay = new Map();
  return {
    name: 'delivery from git',
    everyMilliseconds,
    // One round lasts while something is under way, so that the end of the server waits for it.
    async run() {
      while (!services.stopping.aborted) {
        const isMore = await beginDue(services, underWay);
        if (underWay.size === 0) return isMore;
        const pause = delay(everyMilliseconds, undefined, { signal: services.stopping });
        await Promise.race([...underWay.keys(), pause.catch(() => undefined)]);
      }
      await Promise.all(underWay.keys());
      return false;
    },
  };
}

/** Handles what is due now, to its end. Returns whether there may be more. @internal for tests */
export async function deliverDue(services: DeliveryJobServices): Promise<boolean> {
  const underWay: UnderWay = new Map();
  const isMore = await beginDue(services, underWay);
  await Promise.all(underWay.keys());
  return isMore;
}

async function beginDue(services: DeliveryJobServices, underWay: UnderWay): Promise<boolean> {
  const { database, clock } = services;
  await renewLeases(services, underWay);
  const free = mostAtOnce - underWay.size;
  if (free <= 0) return false;
  const claim = { now: clock.now(), most: free, busy: listBusy(underWay) };
  const rules = await claimDueRules(database.read, { ...claim, leaseSeconds: ruleLeaseSeconds });
  const reviews = await claimDueReviews(database.read, { ...claim, leaseSeconds: reviewLeaseSeconds });
  // What is fetched from now on has the pushes that woke these.
  const notBefore = performance.now();
  function begin(work: Promise<void>, held: Omit<Held, 'renewedAt'>, projectId: string): void {
    const settled = settle(services, work, projectId).finally(() => underWay.delete(settled));
    underWay.set(settled, { ...held, renewedAt: claim.now });
  }
  for (const rule of rules)
    begin(deliverRule(services, rule, notBefore), { accountId: rule.account_id, rule }, rule.project_id);
  for (const review of reviews)
    begin(
      checkReview(services, review, notBefore),
      { accountId: review.account_id, review },
      review.project_id,
    );
  return rules.length === dueRuleBatch || reviews.length === reviewBatch;
}

/** Before a claim, so that it does not take what is under way here. */
async function renewLeases(
  { database, clock }: DeliveryJobServices,
  underWay: ReadonlyMap<unknown, Held>,
): Promise<void> {
  const now = clock.now();
  const old = [...underWay.values()].filter(({ renewedAt }) => addSeconds(renewedAt, renewalSeconds) <= now);
  const rules = old.flatMap(({ rule }) => rule ?? []);
  const reviews = old.flatMap(({ review }) => review ?? []);
  if (rules.length > 0) await renewRules(database.read, rules, addSeconds(now, ruleLeaseSeconds));
  if (reviews.length > 0) await renewReviews(database.read, reviews, addSeconds(now, reviewLeaseSeconds));
  for (const held of old) held.renewedAt = now;
}

/** Accounts that have their part. */
function listBusy(underWay: UnderWay): string[] {
  const counts = new Map<string, number>();
  for (const { accountId } of underWay.values()) counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
  return [...counts].filter(([, count]) => count >= mostOfAccount).map(([accountId]) => accountId);
}

/** The failure of one rule must not stop the others. */
async function settle(services: DeliveryJobServices, work: Promise<void>, projectId: string): Promise<void> {
  const job = 'one delivery from git';
  try {
    await work;
    services.failures.recordSuccess(job);
  } catch (failure) {
    const message = 'a branch could not be delivered; it will be tried again';
    services.failures.recordFailure(job, failure, message, { projectId });
  }
}
