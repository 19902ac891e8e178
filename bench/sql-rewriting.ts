/** Rewriting and planning a script of one statement of 5 kB, in a process that has done it before. */

import { createParameters } from '../packages/pipelines/src/expressions/parameters.ts';
import { createScope, duckdb, findDefinition } from '../packages/pipelines/src/index.ts';
import { median, spread, verdictAtMost } from './finding.ts';
import type { Work } from './work.ts';

const statement = `MERGE INTO analytics.marts.orders AS t USING (
  WITH raw AS (
    SELECT ${Array.from({ length: 52 }, (_, index) => `src:payload.items[${index}]."field ${index}"::string AS field_${index}`).join(',\n      ')},
      f.value:id::number(38, 0) AS id, DATEADD(day, -7, CURRENT_DATE()) AS week_ago, IFF(src:active, 'yes', 'no') AS active
    FROM landing.public.events e, LATERAL FLATTEN(input => e.src:orders) f
    WHERE NVL(src:status::string, 'none') IN ('open', 'closed') -- only these
  )
  SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY field_0 DESC) AS n FROM raw QUALIFY n = 1
) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET ${Array.from({ length: 52 }, (_, index) => `t.field_${index} = s.field_${index}`).join(', ')}
WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)`;

export const sqlRewriting: Work = async ({ rounds }) => {
  const definition = findDefinition('sql-script');
  if (definition?.kind !== 'orchestration') throw new Error('sql-script is no component');
  const component = { name: 'bench', type: 'sql-script', parameters: { sqlScript: statement } };
  const plan = () =>
    definition.plan({
      parameters: createParameters({ sqlScript: statement }),
      component: component as never,
      dialect: duckdb,
      scope: createScope([]),
    });
  for (let index = 0; index < 200; index += 1) plan();
  const times = Array.from({ length: rounds }, () => {
    const start = performance.now();
    for (let index = 0; index < 50; index += 1) plan();
    return (performance.now() - start) / 50;
  });
  return [
    {
      work: `rewriting and planning a statement of ${(statement.length / 1_000).toFixed(1)} kB`,
      measured: `${spread(times, 2)} ms`,
      limit: '≤ 3 ms',
      verdict: verdictAtMost(median(times), 3),
      rounds: times,
    },
  ];
};
