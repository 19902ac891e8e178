/** The tables `consumption` and `consumption_user`. */
import type { Consumption, ConsumptionPeriod, ConsumptionType } from '@headgate/contract';
import { type ColumnTypes, type RowOf, typed } from '../../kernel/database/database.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { monthOf } from '../budgets/index.ts';

const consumptionRow = {
  day: 'timestamptz',
  project_id: 'uuid',
  project_name: 'text',
  environment_name: 'text',
  pipeline_name: 'text',
  kind: typed<ConsumptionType>('text'),
  credits: 'double precision',
  runs: 'bigint',
  milliseconds: 'bigint',
  row_count: 'bigint',
  byte_count: 'bigint',
  input_tokens: 'bigint',
  output_tokens: 'bigint',
} satisfies ColumnTypes;
type ConsumptionRow = RowOf<typeof consumptionRow>;

const range = { from: 'timestamptz', before: 'timestamptz', limit: 'bigint' } as const;

export const consumptionOfDays = guardedRead(
  { parameters: range, row: consumptionRow, alone: true },
  `
  select c.day, c.project_id, coalesce(p.name, m.project_name) as project_name, c.environment_name, c.pipeline_name, c.kind,
    round(c.credits, 6)::double precision as credits, c.runs, c.milliseconds, c.row_count, c.byte_count, c.input_tokens, c.output_tokens
  from consumption c
  join consumption_month m on m.account_id = c.account_id and m.month = ${monthOf('c.day')} and m.project_id = c.project_id
  left join project p on p.account_id = c.account_id and p.project_id = c.project_id
  where c.account_id = $account_id and c.day >= $from and c.day < $before
  order by c.day, c.project_id, c.environment_name, c.pipeline_name, c.kind
  limit $limit`,
);

export const usersOfDays = guardedRead(
  { parameters: range, row: { username: 'text' }, alone: true },
  `
  select distinct u.user_name as username from consumption_user u
  where u.account_id = $account_id and u.day >= $from and u.day < $before
  order by u.user_name limit $limit`,
);

export const dayMilliseconds = 86_400_000;

/** The rows are in the order of their days. */
export function presentConsumption(rows: readonly ConsumptionRow[]): ConsumptionPeriod[] {
  const days = Map.groupBy(rows, (row) => row.day.getTime());
  return Array.from(days, ([day, ofDay]) => ({
    consumedFrom: new Date(day).toISOString(),
    consumedBefore: new Date(day + dayMilliseconds).toISOString(),
    consumption: ofDay.map(presentEntry),
  }));
}

function presentEntry(row: ConsumptionRow): Consumption {
  return {
    consumptionType: row.kind,
    dimensions: {
      ...(row.pipeline_name === '' ? {} : { pipelineName: row.pipeline_name }),
      projectId: row.project_id,
      projectName: row.project_name,
      ...(row.environment_name === '' ? {} : { environment: row.environment_name }),
    },
    credits: row.credits,
    units: {
      seconds: row.milliseconds / 1_000,
      rows: row.row_count,
      bytes: row.byte_count,
      runs: row.runs,
      inputTokens: row.input_tokens,
      outputTokens: row.output_tokens,
    },
  };
}
