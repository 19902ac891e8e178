/** Backfills are kept as long as executions. */
import { firstIdAt, oldRows, type RetentionRule } from '../../kernel/retention/retention.ts';

const oldBackfills = oldRows({
  table: 'backfill',
  key: ['backfill_id'],
  cursorType: 'uuid',
  old: (time) => `r.backfill_id < ${firstIdAt(time)} and r.ended_at < ${time}`,
});

export function createBackfillRetention({
  executionDays,
}: {
  executionDays: number | undefined;
}): RetentionRule[] {
  return [{ kind: 'backfills', days: executionDays, ...oldBackfills }];
}
