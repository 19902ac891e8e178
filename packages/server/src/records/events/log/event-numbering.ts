/** The periodic job that gives positions to the events of accounts without readers. */
import { type Database, statement } from '../../../kernel/database/database.ts';
import type { PeriodicJob } from '../../../kernel/retention/periodic-job.ts';
import { numberNextEvents } from './event-log.ts';

const everyMilliseconds = 2_000;
const accountsOfRound = 1_000;

const selectPending = statement(
  { parameters: { most: 'integer' }, row: { account_id: 'uuid' }, alone: true },
  'select account_id from list_accounts_with_pending_events($most) as account_id',
);

export function eventNumberingJob({ database }: { database: Database }): PeriodicJob {
  return {
    name: 'positions of events',
    everyMilliseconds,
    async run() {
      const pending = await database.read(selectPending, { most: accountsOfRound });
      let hasMore = pending.length === accountsOfRound;
      // One part of each account, so that an account with many new events does not keep the others waiting.
      for (const { account_id: accountId } of pending)
        hasMore = (await numberNextEvents(database, accountId)).hasMore || hasMore;
      return hasMore;
    },
  };
}
