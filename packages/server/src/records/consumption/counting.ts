/**
 * Adds up what was used: moves rows of `consumption_entry` into the table `consumption`, with their credits, into the
 * sums of the months, and into the list of users, in one transaction. One server does it at a time.
 */
import type { Clock } from '../../kernel/clock.ts';
import { type Database, statement, typed } from '../../kernel/database/database.ts';
import { recordEvents } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { monthOf, notePassedBudgets } from '../budgets/index.ts';
import { boundSum } from './consumption-entry.store.ts';
import type { Prices } from './prices.ts';

export interface CountingServices {
  database: Database;
  clock: Clock;
  newId: NewId;
  config: { prices: Prices };
}

const everyMilliseconds = 1_000;
const batch = 5_000;
/** Leaves the processor to requests between two batches. */
const restMilliseconds = 20;

export function createCountingJob(services: CountingServices): PeriodicJob {
  return {
    name: 'consumption',
    everyMilliseconds,
    async run(rest) {
      const counted = await countConsumption(services);
      if (counted === batch) await rest(restMilliseconds);
      return counted === batch;
    },
  };
}

// Usually there is nothing: `order by` keeps the planner on the index.
const anyEntry = statement(
  { row: { entry_id: 'bigint' } },
  'select entry_id from consumption_entry order by entry_id limit 1',
);

const holdCounting = statement(
  { row: { held: 'boolean' } },
  "select pg_try_advisory_xact_lock(hashtextextended('headgate consumption', 0)) as held",
);

const sums = ['runs', 'milliseconds', 'row_count', 'byte_count', 'input_tokens', 'output_tokens'] as const;
const sumAll = sums.map((name) => boundSum(`sum(${name})`)).join(', ');
const addAll = sums.map((name) => `${name} = ${boundSum(`c.${name} + excluded.${name}`)}`).join(', ');
const key = 'account_id, day, project_id, environment_name, pipeline_name, kind';

const moveEntries = statement(
  {
    parameters: { prices: 'jsonb', most: 'integer', now: 'timestamptz' },
    row: {
      taken: 'integer',
      budgeted: typed<{ accountId: string; projectId: string }[]>('json'),
    },
    alone: true,
  },
  `
  with taken as (
    delete from consumption_entry where ctid = any (array(
      select ctid from consumption_entry order by entry_id limit $most::integer))
    returning account_id, day, project_id, project_name, environment_name, pipeline_name, kind, runs, milliseconds, row_count,
      byte_count, input_tokens, output_tokens, user_name
  ), priced as (
    select t.account_id, t.day, t.project_id, t.project_name, t.environment_name, t.pipeline_name, t.kind, t.runs, t.milliseconds,
      t.row_count, t.byte_count, t.input_tokens, t.output_tokens, t.user_name,
      t.milliseconds * coalesce(p."perHour", 0) / 3600000 + t.runs * coalesce(p."perRun", 0)
        + t.row_count * coalesce(p."perMillionRows", 0) / 1000000 + t.byte_count * coalesce(p."perGigabyte", 0) / 1000000000
        + t.input_tokens * coalesce(p."perMillionInputTokens", 0) / 1000000
        + t.output_tokens * coalesce(p."perMillionOutputTokens", 0) / 1000000 as credits
    from taken t
    left join jsonb_to_recordset($prices) as p (kind text, "perHour" numeric, "perRun" numeric, "perMillionRows" numeric,
      "perGigabyte" numeric, "perMillionInputTokens" numeric, "perMillionOutputTokens" numeric) on p.kind = t.kind
  ), added as (
    insert into consumption as c (${key}, ${sums.join(', ')}, credits)
    select ${key}, ${sumAll}, sum(credits) from priced group by ${key}
    on conflict on constraint consumption_key do update set ${addAll}, credits = c.credits + excluded.credits
  ), users as (
    insert into consumption_user (account_id, day, user_name)
    select distinct account_id, day, user_name from priced where user_name is not null
    on conflict do nothing
  ), months as (
    insert into consumption_month as m (account_id, month, project_id, project_name, credits)
    select account_id, ${monthOf('day')} as month, project_id, max(project_name), sum(credits)
    from priced group by account_id, month, project_id
    on conflict on constraint consumption_month_key do update set credits = m.credits + excluded.credits,
      project_name = excluded.project_name
    returning account_id, month, project_id
  )
  select (select count(*)::integer from taken) as taken, (
    select coalesce(json_agg(json_build_object('accountId', m.account_id, 'projectId', m.project_id)), '[]')
    from months m join budget b on b.account_id = m.account_id and b.project_id = m.project_id
    where m.month = ${monthOf('$now')}) as budgeted`,
);

/** Counts one batch. Returns how many entries it counted: 0 if another server is counting. */
export async function countConsumption({
  database,
  clock,
  newId,
  config,
}: CountingServices): Promise<number> {
  const waiting = await database.read(anyEntry, {});
  if (waiting.length === 0) return 0;
  const prices = JSON.stringify(
    Object.entries(config.prices.ofTypes).map(([kind, ofType]) => ({ kind, ...ofType })),
  );
  return database.transaction(async (tx) => {
    const [lock] = await tx.query(holdCounting, {});
    if (lock?.held !== true) return 0;
    const now = clock.now();
    const [moved] = await tx.query(moveEntries, { prices, most: batch, now });
    const passed = await notePassedBudgets(tx, moved?.budgeted ?? [], now);
    for (const [accountId, events] of passed) {
      const source = { accountId, actorId: null, actorKind: 'system', requestId: null } as const;
      recordEvents(tx, source, events, now, newId);
    }
    return moved?.taken ?? 0;
  });
}
