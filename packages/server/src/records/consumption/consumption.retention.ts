import { oldRows, type RetentionRule } from '../../kernel/retention/retention.ts';

const tables = [
  {
    kind: 'consumption',
    table: 'consumption',
    key: ['day', 'project_id', 'environment_name', 'pipeline_name', 'kind'],
  },
  { kind: 'consumption-users', table: 'consumption_user', key: ['day', 'user_name'] },
] as const;

const rules = tables.map(({ kind, table, key }) => ({
  kind,
  ...oldRows({ table, key, cursorType: 'timestamptz', old: (time) => `r.day < ${time}` }),
}));

// A month is older than all of its days.
const oldMonths = oldRows({
  table: 'consumption_month',
  key: ['month', 'project_id'],
  cursorType: 'timestamptz',
  old: (time) => `r.month < ${time} - interval '32 days'`,
});

/** @param days undefined keeps consumption forever */
export function createConsumptionRetention(days: number | undefined): RetentionRule[] {
  return [...rules, { kind: 'consumption-months', ...oldMonths }].map((rule) => ({ days, ...rule }));
}
