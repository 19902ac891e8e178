/** Aggregates and window functions, by their results. */
import { type Case, describeCases } from './sample-data-fixture.ts';

const whole: readonly Case[] = [
  ["LISTAGG(g, '') WITHIN GROUP (ORDER BY g)", 'aaabc'],
  ["LISTAGG(DISTINCT g, ',') WITHIN GROUP (ORDER BY g DESC)", 'c,b,a'],
  ["LISTAGG(n, '|') WITHIN GROUP (ORDER BY n)", '1|1|1|2|3'],
  ["LISTAGG(label, ',') WITHIN GROUP (ORDER BY label)", 'x,x,y'],
  ["LISTAGG(CAST(NULL AS VARCHAR), ',')", ''],
  ['ARRAY_AGG(v) WITHIN GROUP (ORDER BY v)', '[5,10,20]'],
  ['ARRAY_AGG(DISTINCT label) WITHIN GROUP (ORDER BY label)', '["x","y"]'],
  ['ARRAY_AGG(CAST(NULL AS INTEGER))', '[]'],
  ['ARRAY_SIZE(ARRAY_UNIQUE_AGG(label))', '2'],
  ['OBJECT_AGG(g || n, v)', '{"a1":10,"a2":20,"b1":5}'],
  ['COUNT(DISTINCT g, label)', '2'],
  ['COUNT(v, label)', '2'],
  ['COUNT_IF(v > 5)', '2'],
  ['APPROX_COUNT_DISTINCT(g)', '3'],
  ['BOOLAND_AGG(v > 1)', 'true'],
  ['BOOLOR_AGG(v > 15)', 'true'],
  ['BOOLXOR_AGG(v > 15)', 'true'],
  ['BITAND_AGG(n)', '0'],
  ['MIN_BY(g, v)', 'b'],
  ['MAX_BY(n, v)', '2'],
  ['MAX_BY(n, v, 2)', '[2,1]'],
  ['PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY v)', '10.000'],
  ['PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY v DESC)', '15.000'],
  ['PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY v)', '10'],
  ['MEDIAN(v)', '10.0'],
  ['SUM(CAST(v AS VARCHAR))', '35.0'],
  ['AVG(CAST(n AS VARCHAR))', '1.6'],
  ['SUM(v)', '35'],
  ['HASH_AGG(g) = HASH_AGG(g)', 'true'],
  ['HASH_AGG(v) IS NOT NULL', 'true'],
];

const windows: readonly Case[] = [
  ['LAST_VALUE(n) OVER (PARTITION BY g ORDER BY n)', '3 3 3 1 1'],
  ['FIRST_VALUE(v) IGNORE NULLS OVER (PARTITION BY g ORDER BY n DESC)', '20 20 20 5 NULL'],
  ['LAG(v) IGNORE NULLS OVER (ORDER BY g, n)', 'NULL 10 20 20 5'],
  ['RATIO_TO_REPORT(n) OVER (PARTITION BY g) > 0.4', 'false false true true true'],
  ["CONDITIONAL_TRUE_EVENT(label = 'x') OVER (ORDER BY g, n)", '1 1 2 2 2'],
  ["LISTAGG(n, ',') WITHIN GROUP (ORDER BY n) OVER (PARTITION BY g)", '1,2,3 1,2,3 1,2,3 1 1'],
  ['PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY n) OVER (PARTITION BY g)', '2.000 2.000 2.000 1.000 1.000'],
  ['SUM(v) OVER (PARTITION BY g ORDER BY n)', '10 30 30 5 NULL'],
  ['SEQ4()', '0 1 2 3 4'],
  ['ROW_NUMBER() OVER (ORDER BY SEQ4())', '1 2 3 4 5'],
];

describeCases('aggregates', whole, { from: 'sales' });
describeCases('windows', windows, { from: 'sales order by g, n' });
const wholeRows: readonly Case[] = [
  ['OBJECT_CONSTRUCT(*)', '{"A":1,"C":"x"}'],
  ['OBJECT_CONSTRUCT_KEEP_NULL(*)', '{"A":1,"B":null,"C":"x"}'],
  ['OBJECT_CONSTRUCT(* EXCLUDE (a))', '{"C":"x"}'],
];
describeCases('whole rows', wholeRows, {
  from: "(select 1 as a, null as b, 'x' as c)",
});
describeCases('aggregates of Redshift', [["LISTAGG(CAST(NULL AS VARCHAR), ',')", null]], {
  dialect: 'redshift',
  from: 'sales',
});
