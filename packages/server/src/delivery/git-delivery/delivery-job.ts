/** Looks for due rules and reviews. Every server runs it; a lease keeps each rule with one server. */
import type { FailureLog } from '../../kernel/failure-log.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { claimDueReviews, reviewBatch } from './review.store.ts';
import { checkReview, type ReviewServices, reviewLeaseSeconds } from './review-check.ts';
import { claimDueRules, dueRuleBatch } from './rule.store.ts';
import { deliverRule, type RuleDeliveryServices, ruleLeaseSeconds } from './rule-delivery.ts';

export interface DeliveryJobServices extends RuleDeliveryServices, ReviewServices {
  failures: FailureLog;
  config: RuleDeliveryServices['config'] & ReviewServices['config'];
}

const everyMilliseconds = 500;

export function createDeliveryJob(services: DeliveryJobServices): PeriodicJob {
  return {
    name: 'delivery from git',
    everyMilliseconds,
    run: () => deliverDue(services),
  };
}

/** Handles what is due now. Returns whether there may be more. */
export async function deliverDue(services: DeliveryJobServices): Promise<boolean> {
  const { database, clock } = services;
  const rules = await claimDueRules(database.read, clock.now(), ruleLeaseSeconds);
  const reviews = await claimDueReviews(database.read, clock.now(), reviewLeaseSeconds);
  // What is fetched from now on has the pushes that woke these.
  const notBefore = performance.now();
  const guard = (work: Promise<void>, projectId: string) => settle(services, work, projectId);
  await Promise.all([
    ...rules.map((rule) => guard(deliverRule(services, rule, notBefore), rule.project_id)),
    ...reviews.map((review) => guard(checkReview(services, review, notBefore), review.project_id)),
  ]);
  return rules.length === dueRuleBatch || reviews.length === reviewBatch;
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
