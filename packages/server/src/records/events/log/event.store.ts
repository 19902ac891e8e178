/** Pages of the table `event`, by time. */
import { countedEventLimit } from '@headgate/contract';
import { type ParameterTypes, typed } from '../../../kernel/database/database.ts';
import { guardedPage, guardedRead } from '../../../kernel/security/guarded-read.ts';
import type { Counted } from './event.total.ts';
import { eventColumns as columns, eventRow } from './event-row.ts';

const byTime = 'account_id = $account_id and occurred_at >= $from and occurred_at < $to';
const filters = `${byTime}
  and ($names::text[] is null or name = any ($names)) and ($in_project_id::uuid is null or project_id = $in_project_id)
  and ($actor_id::uuid is null or actor_id = $actor_id) and ($subject_id::text is null or subject_id = $subject_id)
  and ($subject_type::text is null or subject_type = $subject_type)
  and ($environment::text is null or environment_name = $environment)`;

/**
 * Counts from the newest event back, so the earliest counted event shows where the range may begin and
 * still be full.
 */
const countWhere = (where: string) => `
  select json_build_object('counted', count(*), 'since', min(occurred_at)) as total
  from (select occurred_at from event where ${where} order by occurred_at desc, event_id desc limit ${countedEventLimit}) counted`;
const full = `select json_build_object('counted', ${countedEventLimit}, 'since', null) as total`;

const rowsByTime = `
  select ${columns} from event where ${byTime} order by occurred_at desc, event_id desc limit $limit offset $offset`;
const rowsByFilter = `
  select ${columns} from event where ${filters} order by occurred_at desc, event_id desc limit $limit offset $offset`;

const rangeTypes = {
  from: 'timestamptz',
  to: 'timestamptz',
  limit: 'bigint',
  offset: 'bigint',
} satisfies ParameterTypes;
/** Null where there is no filter. */
const filterTypes = {
  ...rangeTypes,
  names: 'text[]?',
  in_project_id: 'uuid?',
  actor_id: 'uuid?',
  subject_id: 'text?',
  subject_type: 'text?',
  environment: 'text?',
} satisfies ParameterTypes;

/** Checks the permission only. */
export const eventsPermitted = guardedRead({ row: { permitted: 'boolean' } }, 'select true as permitted');

/** Without a filter, the total is counted in the index alone. */
export const eventPageByTime = {
  counted: guardedPage(
    {
      parameters: rangeTypes,
      row: eventRow,
      totalType: typed<Counted>('json'),
    },
    { rows: rowsByTime, total: countWhere(byTime) },
  ),
  full: guardedPage(
    {
      parameters: rangeTypes,
      row: eventRow,
      totalType: typed<Counted>('json'),
    },
    { rows: rowsByTime, total: full },
  ),
};

export const eventPage = {
  counted: guardedPage(
    {
      parameters: filterTypes,
      row: eventRow,
      totalType: typed<Counted>('json'),
      alone: true,
    },
    { rows: rowsByFilter, total: countWhere(filters) },
  ),
  full: guardedPage(
    {
      parameters: filterTypes,
      row: eventRow,
      totalType: typed<Counted>('json'),
      alone: true,
    },
    { rows: rowsByFilter, total: full },
  ),
};
