/** Statistics of tables that grow faster than autovacuum analyzes them (docs/adr/0011). */
import { type Read, statement } from './database.ts';

const analyzeGrown = statement<{ analyzed: number }>('select analyze_grown_tables() as analyzed', {
  alone: true,
});

/**
 * Analyzes each table that has more than doubled since it was last analyzed; answers how many. One server at
 * a time.
 */
export async function analyzeGrownTables(read: Read): Promise<number> {
  const [row] = await read(analyzeGrown, []);
  return row?.analyzed ?? 0;
}
