/**
 * The limit of queued runs of an environment, so that nobody fills the queue of an agent. It is read before the start
 * is written: starts at the same moment may pass it by as many as there are of them.
 */
import { problem } from '../http/problems.ts';

/** Of the configuration. */
export interface QueueLimit {
  /** Runs of an environment that may wait for an agent. */
  queuedRuns: number;
}

/** SQL: the number of queued runs of an environment, counted up to a limit. The arguments are SQL. */
export const countQueuedRuns = (account: string, project: string, environment: string, limit: string) =>
  `(select count(*)::integer from (select from work q where q.account_id = ${account} and q.project_id = ${project}
    and q.environment_name = ${environment} and q.state = 'queued' and q.claimable_until is null limit ${limit}) queued)`;

/** Throws `queue-full`. */
export function requireQueuePlace(queued: number, environmentName: string, { queuedRuns }: QueueLimit): void {
  if (queued >= queuedRuns) throw createQueueProblem(environmentName, queuedRuns);
}

export function createQueueProblem(environmentName: string, limit: number) {
  return problem('queue-full', { environmentName, limit });
}

/** The free places in the queues of the environments of one batch, with the runs that the batch starts. */
export class QueueRoom {
  readonly #limit: number;
  readonly #queued = new Map<string, number>();

  constructor({ queuedRuns }: QueueLimit) {
    this.#limit = queuedRuns;
  }

  /** @param queued as the database says, before the batch */
  count(place: readonly string[], queued: number): number {
    return Math.max(0, this.#limit - Math.max(queued, this.#queued.get(place.join(' ')) ?? 0));
  }

  take(place: readonly string[], queued: number, runs: number): void {
    const key = place.join(' ');
    this.#queued.set(key, Math.max(queued, this.#queued.get(key) ?? 0) + runs);
  }
}
