import { oldRows, type RetentionRule } from '../../kernel/retention/retention.ts';

// Only events with a position: readers of the log must notice that they missed one.
const oldEvents = oldRows({
  table: 'event',
  key: ['occurred_at', 'event_id'],
  cursorType: 'timestamptz',
  old: (time) => `r.occurred_at < ${time} and r.position is not null`,
  noting: {
    returning: 'position',
    change: `
      update event_position set removed_position = greatest(removed_position, (select max(position) from gone))
      where account_id = $account_id and exists (select from gone)`,
  },
});

/** @param days undefined keeps events forever */
export function eventRetention(days: number | undefined): RetentionRule {
  return { kind: 'events', days, ...oldEvents };
}
