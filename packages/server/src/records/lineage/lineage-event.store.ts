/** Pages of the table `lineage_event`, by time, and its retention. */
import { countedEventLimit } from '@headgate/contract';
import { type ParameterTypes, typed } from '../../kernel/database/database.ts';
import { oldRows, type RetentionRule } from '../../kernel/retention/retention.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';
import type { Counted } from '../events/index.ts';
import type { LineageRecord } from './lineage-record.ts';

const inTime = 'account_id = $account_id and generated_at >= $from and generated_at < $before';
const parameters = {
  from: 'timestamptz',
  before: 'timestamptz',
  limit: 'bigint',
  offset: 'bigint',
} satisfies ParameterTypes;

const declarePage = (total: string) =>
  guardedPage(
    {
      parameters,
      row: { record: typed<LineageRecord>('jsonb') },
      totalType: typed<Counted>('json'),
    },
    {
      rows: `
      select record from lineage_event where ${inTime}
      order by generated_at, sequence limit $limit offset $offset`,
      total,
    },
  );

/** `counted` counts from the newest event back, like the log of events. */
export const lineageEventPage = {
  counted: declarePage(`
    select json_build_object('counted', count(*), 'since', min(generated_at)) as total
    from (
      select generated_at from lineage_event where ${inTime}
      order by generated_at desc, sequence desc limit ${countedEventLimit}) counted`),
  full: declarePage(`select json_build_object('counted', ${countedEventLimit}, 'since', null) as total`),
};

// A run that is not in the graph yet is kept for it.
const oldEvents = oldRows({
  table: 'lineage_event',
  key: ['generated_at', 'sequence'],
  cursorType: 'timestamptz',
  old: (time) => `r.generated_at < ${time} and r.work_id is null`,
});

/** @param days undefined keeps them forever */
export function lineageRetention(days: number | undefined): RetentionRule {
  return { kind: 'lineage-events', days, ...oldEvents };
}
