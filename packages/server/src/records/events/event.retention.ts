import { oldRows, type RetentionRule } from '../../kernel/retention/retention.ts';

const oldEvents = oldRows({
  table: 'event',
  key: ['occurred_at', 'event_id'],
  cursorType: 'timestamptz',
  old: (time) => `r.occurred_at < ${time}`,
});

/** @param days undefined keeps events forever */
export function eventRetention(days: number | undefined): RetentionRule {
  return { kind: 'events', days, ...oldEvents };
}
