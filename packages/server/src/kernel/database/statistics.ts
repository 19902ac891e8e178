/** Updates statistics of tables that grow faster than autovacuum analyzes them (docs/adr/0011). */
import { type Database, statement } from './database.ts';

// The condition of analyze_grown_tables(), checked first: usually there is nothing to do.
const anyGrown = statement(
  {},
  `
  select from pg_class c
  where c.relkind = 'r' and c.relnamespace = (select relnamespace from pg_class where oid = 'work'::regclass)
    and pg_relation_size(c.oid) > 2 * greatest(c.relpages, 4)::bigint * current_setting('block_size')::bigint
  limit 1`,
);
const analyzeGrown = statement(
  { row: { analyzed: 'integer' }, alone: true },
  'select analyze_grown_tables() as analyzed',
);

/**
 * Analyzes each table that has more than doubled since it was last analyzed, and returns how many. It uses a
 * separate connection because it takes long and the pool may have only one.
 */
export async function analyzeGrownTables(database: Database): Promise<number> {
  if ((await database.read(anyGrown, {})).length === 0) return 0;
  const [row] = await database.alone((read) => read(analyzeGrown, {}));
  return row?.analyzed ?? 0;
}
