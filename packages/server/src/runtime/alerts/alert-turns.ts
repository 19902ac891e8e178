/**
 * Raises the alerts of all accounts in turns. A turn judges a part of what is new of one account, so an account
 * with much to judge delays others only by its parts.
 */
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { type AlertServices, judgeNewEvents, judgeUnendedRuns } from './alerting.ts';
import { listAccountsBehind } from './event-cause.store.ts';
import { listWatchedAccounts, type RunPlace } from './unended-cause.store.ts';

const everyMilliseconds = 2_000;
/** The statements of one account use one connection. */
const turnsAtOnce = 3;
const accountsOfList = 1_000;
/** What a turn judges of an account. After a failure it is less, in case it took too long. */
const mostOfTurn = { events: 1_000, runs: 100 } as const;
const smallestShare = 1 / mostOfTurn.runs;
/** After a failure, such as one of the time limit. */
const restMilliseconds = 10_000;
/** The job in the log whose failure is that of one account. */
const oneAccount = 'alerts of one account';

/** What is known of an account between its turns. */
interface Progress {
  /** Of `mostOfTurn`. */
  share: number;
  restsUntil: number;
  /** The place of the search among the runs that have not ended; `end` until the next search begins. */
  search: RunPlace | 'start' | 'end';
}

export interface AlertTurns {
  /** Gives each account that has something to judge one turn. Returns whether some need another. */
  takeTurns(): Promise<boolean>;
}

/** @param elapsed milliseconds since any moment; it never goes back */
export function createAlertTurns(
  services: AlertServices,
  elapsed: () => number = () => performance.now(),
): AlertTurns {
  const { database, failures } = services;
  const accounts = new Map<string, Progress>();
  let searchedAt = Number.NEGATIVE_INFINITY;

  async function beginSearches(): Promise<void> {
    if (elapsed() - searchedAt < everyMilliseconds) return;
    searchedAt = elapsed();
    for (const accountId of await listAll(listWatchedAccounts)) {
      const progress = getProgress(accountId);
      if (progress.search === 'end') progress.search = 'start';
    }
  }

  async function listAll(list: typeof listAccountsBehind): Promise<string[]> {
    const found: string[] = [];
    for (let after = nil; ; ) {
      const some = await list(database.read, after, accountsOfList);
      found.push(...some);
      if (some.length < accountsOfList) return found;
      after = some.at(-1) ?? nil;
    }
  }

  function getProgress(accountId: string): Progress {
    const known = accounts.get(accountId) ?? { share: 1, restsUntil: 0, search: 'end' };
    accounts.set(accountId, known);
    return known;
  }

  /** Returns whether the account needs another turn. */
  async function takeTurn(accountId: string, isBehind: boolean): Promise<boolean> {
    const progress = getProgress(accountId);
    if (elapsed() < progress.restsUntil) return false;
    const most = (limit: number) => Math.max(1, Math.floor(limit * progress.share));
    try {
      const hasMoreEvents = isBehind && (await judgeNewEvents(services, accountId, most(mostOfTurn.events)));
      if (progress.search !== 'end') {
        const after = progress.search === 'start' ? undefined : progress.search;
        const next = await judgeUnendedRuns(services, accountId, { after, most: most(mostOfTurn.runs) });
        progress.search = next ?? 'end';
      }
      progress.share = Math.min(1, progress.share * 2);
      progress.restsUntil = 0;
      return hasMoreEvents || progress.search !== 'end';
    } catch (failure) {
      progress.share = Math.max(smallestShare, progress.share / 4);
      progress.restsUntil = elapsed() + restMilliseconds;
      const message = 'the alerts of an account could not be raised; it will be tried again';
      failures.recordFailure(oneAccount, failure, message, { accountId });
      return false;
    }
  }

  return {
    async takeTurns() {
      await beginSearches();
      const behind = new Set(await listAll(listAccountsBehind));
      const searched = [...accounts].filter(([, { search }]) => search !== 'end').map(([id]) => id);
      const waiting = [...new Set([...behind, ...searched])].values();
      let needsMore = false;
      async function takeNext(): Promise<void> {
        for (const accountId of waiting)
          if (await takeTurn(accountId, behind.has(accountId))) needsMore = true;
      }
      await Promise.all(Array.from({ length: turnsAtOnce }, takeNext));
      forgetFinished(behind);
      return needsMore;
    },
  };

  function forgetFinished(behind: ReadonlySet<string>): void {
    for (const [accountId, { restsUntil, search }] of accounts)
      if (search === 'end' && !behind.has(accountId) && elapsed() >= restsUntil) accounts.delete(accountId);
    const hasFailed = [...accounts.values()].some(({ restsUntil }) => restsUntil > 0);
    if (!hasFailed) failures.recordSuccess(oneAccount);
  }
}

const nil = '00000000-0000-0000-0000-000000000000';

/** Judges all that is new. @internal for tests */
export async function raiseDueAlerts(services: AlertServices): Promise<void> {
  const turns = createAlertTurns(services);
  while (await turns.takeTurns());
}

export function createAlertJob(services: AlertServices): PeriodicJob {
  const turns = createAlertTurns(services);
  return { name: 'alerts', everyMilliseconds, run: turns.takeTurns };
}
