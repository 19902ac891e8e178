-- table-input
WITH "Last" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "Last" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "Last" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- table-input of some columns
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "Last" AS (
  SELECT "id", "note" FROM "WH"."sales"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- fixed-flow
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "Last" AS (
  SELECT * FROM (VALUES
  (CAST('1' AS NUMBER(10, 0)), CAST('O''Hara' AS VARCHAR), CAST('2030-01-02' AS DATE)),
  (CAST('2' AS NUMBER(10, 0)), CAST('' AS VARCHAR), CAST(NULL AS DATE))
) AS "values" ("id", "name", "day")
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- generate-sequence
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "Last" AS (
  SELECT 1 + (row_number() OVER (ORDER BY NULL) - 1) * 2 AS "n" FROM TABLE(GENERATOR(ROWCOUNT => 5))
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by a number
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE "amount" > '15'
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by a fraction
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE CASE WHEN is_varchar(to_variant("price")) THEN CAST("price" AS VARCHAR) >= '1.5' ELSE try_to_double(CAST("price" AS VARCHAR)) >= 1.5 END
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter whole numbers by a fraction
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE CASE WHEN is_varchar(to_variant("amount")) THEN CAST("amount" AS VARCHAR) < '20.5' ELSE try_to_double(CAST("amount" AS VARCHAR)) < 20.5 END
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter texts by a fraction
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE CASE WHEN is_varchar(to_variant("note")) THEN CAST("note" AS VARCHAR) = '1.5' ELSE try_to_double(CAST("note" AS VARCHAR)) = 1.5 END
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by a text
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE NOT ("region" = 'a')
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by a column
WITH "In" AS (
  SELECT "id", "amount" FROM "WH"."sales"
)
SELECT 'amount', regexp_substr(system$typeof(any_value("amount")), '^[A-Z_]+') FROM (SELECT "amount" FROM "In" LIMIT 1) AS "rows";
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT "id", "amount" FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE "amount" > "id"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by Like
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE CAST("note" AS VARCHAR) LIKE '%100\\%'
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by a part
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE contains(CAST("note" AS VARCHAR), '100%')
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by a beginning
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE startswith(CAST("note" AS VARCHAR), 'x')
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by an end
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE endswith(CAST("note" AS VARCHAR), 'y')
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by Similar to
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE regexp_like(CAST("note" AS VARCHAR), '(x|z).*', 's')
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by NULL
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE "amount" IS NULL
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by a blank
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE ("note" IS NULL OR trim(CAST("note" AS VARCHAR)) = '')
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by a list
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE "region" IN ('a', 'c')
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by a list of fractions
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE (CASE WHEN is_varchar(to_variant("price")) THEN CAST("price" AS VARCHAR) = '0.5' ELSE try_to_double(CAST("price" AS VARCHAR)) = 0.5 END OR CASE WHEN is_varchar(to_variant("price")) THEN CAST("price" AS VARCHAR) = '1.5' ELSE try_to_double(CAST("price" AS VARCHAR)) = 1.5 END)
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- filter by a range
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT *
FROM "In"
WHERE ("id" >= '2' AND "id" <= '4')
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- calculator
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT "id", "amount", "price", "note", (amount * 2) AS "twice", (upper(region)) AS "region"
FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- calculator without the source
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT (id + 1) AS "next"
FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- aggregate
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT "region", sum("amount") AS "sum_amount", count("amount") AS "count_amount", avg("amount") AS "avg_amount", min("amount") AS "min_amount", max("amount") AS "max_amount", median("amount") AS "median_amount", stddev_samp("amount") AS "stddev_amount", var_samp("amount") AS "variance_amount", count(DISTINCT "amount") AS "count_distinct_amount", any_value("region") AS "any_value_region", approx_count_distinct("amount") AS "approximate_count_distinct_amount"
FROM "In"
GROUP BY "region"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- aggregate of all
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT count(*) AS "n"
FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- aggregate with subtotals
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT "region", "amount", sum("id") AS "sum_id"
FROM "In"
GROUP BY CUBE ("region", "amount")
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- rename
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT "region" AS "area", "id" AS "number", "amount", "price", "note"
FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- rename only
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT "id" AS "number"
FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- rank
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT "region", "id", "amount", "price", "note", rank() OVER (PARTITION BY "region" ORDER BY "amount" DESC NULLS FIRST) AS "r", row_number() OVER (PARTITION BY "region" ORDER BY "amount" DESC NULLS FIRST) AS "n"
FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- window-calculation
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT "region", "id", "amount", "price", "note", sum("amount") OVER (PARTITION BY "region" ORDER BY "id" NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS "total", first_value("id") OVER (PARTITION BY "region" ORDER BY "id" NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS "first"
FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- lead-lag
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT "region", "id", "amount", "price", "note", lag("amount", 1) OVER (ORDER BY "id" NULLS LAST) AS "before"
FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- first-last
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT DISTINCT "region", first_value("amount") IGNORE NULLS OVER (PARTITION BY "region" ORDER BY "id" NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS "first", last_value("amount") IGNORE NULLS OVER (PARTITION BY "region" ORDER BY "id" NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS "last"
FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- distinct
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT DISTINCT "region"
FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- limit
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT * FROM "In"
ORDER BY "id" DESC NULLS FIRST
LIMIT 2 OFFSET 1
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- join
WITH "One" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "One" LIMIT 0;
WITH "Two" AS (
  SELECT * FROM "WH"."later"
)
SELECT * FROM "Two" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "One" AS (
  SELECT * FROM "WH"."sales"
),
"Two" AS (
  SELECT * FROM "WH"."later"
),
"Last" AS (
  SELECT "s"."id" AS "id", "l"."amount" AS "amount"
FROM "One" AS "s"
FULL JOIN "Two" AS "l" ON ("s"."id" = "l"."id")
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- unite
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "One" AS (
  SELECT "id", "amount" FROM "WH"."later"
),
"Two" AS (
  SELECT "region", "id" FROM "WH"."sales"
),
"Last" AS (
  SELECT "id", "amount", CAST('One' AS VARCHAR) AS "source_component", NULL AS "region" FROM "One"
UNION ALL
SELECT "id", NULL AS "amount", CAST('Two' AS VARCHAR) AS "source_component", "region" FROM "Two"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- unite common columns
WITH "Two" AS (
  SELECT * FROM "WH"."later"
)
SELECT * FROM "Two" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "One" AS (
  SELECT "region", "id", "amount" FROM "WH"."sales"
),
"Two" AS (
  SELECT * FROM "WH"."later"
),
"Last" AS (
  SELECT "region", "id", "amount" FROM "One"
UNION
SELECT "region", "id", "amount" FROM "Two"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- unite of whole tables
WITH "One" AS (
  SELECT * FROM "WH"."later"
)
SELECT * FROM "One" LIMIT 0;
WITH "Two" AS (
  SELECT * FROM "WH"."wide"
)
SELECT * FROM "Two" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "One" AS (
  SELECT * FROM "WH"."later"
),
"Two" AS (
  SELECT * FROM "WH"."wide"
),
"Last" AS (
  SELECT "region", "id", "amount", NULL AS "q1", NULL AS "q2" FROM "One"
UNION ALL
SELECT NULL AS "region", "id", NULL AS "amount", "q1", "q2" FROM "Two"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- except
WITH "Two" AS (
  SELECT * FROM "WH"."later"
)
SELECT * FROM "Two" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "One" AS (
  SELECT "region", "id", "amount" FROM "WH"."sales"
),
"Two" AS (
  SELECT * FROM "WH"."later"
),
"Last" AS (
  SELECT "region", "id", "amount" FROM "One"
EXCEPT
SELECT "region", "id", "amount" FROM "Two"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- intersect
WITH "Two" AS (
  SELECT * FROM "WH"."later"
)
SELECT * FROM "Two" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "One" AS (
  SELECT "region", "id", "amount" FROM "WH"."sales"
),
"Two" AS (
  SELECT * FROM "WH"."later"
),
"Last" AS (
  SELECT "region", "id", "amount" FROM "One"
INTERSECT
SELECT "region", "id", "amount" FROM "Two"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- detect-changes
WITH "Two" AS (
  SELECT * FROM "WH"."later"
)
SELECT * FROM "Two" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "One" AS (
  SELECT "region", "id", "amount" FROM "WH"."sales"
),
"Two" AS (
  SELECT * FROM "WH"."later"
),
"Last" AS (
  SELECT coalesce("master"."id", "compare"."id") AS "id", "master"."id" AS "master_id", "compare"."id" AS "compare_id", "master"."amount" AS "master_amount", "compare"."amount" AS "compare_amount", CASE WHEN "master"."id" IS NULL THEN 'N' WHEN "compare"."id" IS NULL THEN 'D' WHEN "master"."amount" IS DISTINCT FROM "compare"."amount" THEN 'C' ELSE 'I' END AS "change"
FROM (SELECT * FROM "One" WHERE "id" IS NOT NULL) AS "master"
FULL JOIN (SELECT * FROM "Two" WHERE "id" IS NOT NULL) AS "compare"
ON "master"."id" = "compare"."id"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- map-values
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT "region", "id", "amount", "price", "note", CASE WHEN "amount" > '15' THEN 'large' WHEN "amount" IS NULL THEN 'unknown' ELSE 'small' END AS "size"
FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- convert-type
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT "region", CAST("id" AS VARCHAR) AS "id", "amount", CAST("price" AS NUMBER(10, 1)) AS "price", "note"
FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- split-field
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT "region", "id", "amount", "price", "first", "second" FROM (
SELECT "region", "id", "amount", "price", split_part(CAST("note" AS VARCHAR), ',', 1) AS "first", split_part(CAST("note" AS VARCHAR), ',', 2) AS "second", NULL AS "note"
FROM "In"
) AS "split"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- pivot
WITH "In" AS (
  SELECT * FROM "WH"."later"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."later"
),
"Last" AS (
  SELECT "id", sum(CASE WHEN CAST("region" AS VARCHAR) = 'a' THEN "amount" END) AS "a", sum(CASE WHEN CAST("region" AS VARCHAR) = 'b' THEN "amount" END) AS "b"
FROM "In"
GROUP BY "id"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- unpivot
WITH "In" AS (
  SELECT * FROM "WH"."wide"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."wide"
),
"Last" AS (
  SELECT * FROM (
SELECT "rows"."id", "labels"."label" AS "quarter", CASE "labels"."label" WHEN 'q1' THEN "rows"."q1" WHEN 'q2' THEN "rows"."q2" END AS "amount"
FROM "In" AS "rows"
CROSS JOIN (SELECT 'q1' AS "label" UNION ALL SELECT 'q2') AS "labels"
) AS "narrow"
WHERE "amount" IS NOT NULL
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- transpose-columns
WITH "In" AS (
  SELECT * FROM "WH"."wide"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."wide"
),
"Last" AS (
  SELECT "id", 'first' AS "quarter", CAST("q1" AS NUMBER(38, 0)) AS "amount" FROM "In"
UNION ALL
SELECT "id", 'second' AS "quarter", CAST("q2" AS NUMBER(38, 0)) AS "amount" FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- transpose-rows
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT "region", '[ ' || coalesce(listagg(CAST("id" AS VARCHAR), ', ') WITHIN GROUP (ORDER BY "id" ASC), '') || ' ]' AS "id"
FROM "In"
GROUP BY "region"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- sql
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  select region, count(*) as n from "In" group by region
)
SELECT * FROM "Last" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  select region, count(*) as n from "In" group by region
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- multi-table-input
SELECT t.table_name, to_json(array_agg(c.column_name) WITHIN GROUP (ORDER BY c.ordinal_position)) FROM INFORMATION_SCHEMA.TABLES t JOIN INFORMATION_SCHEMA.COLUMNS c ON c.table_schema = t.table_schema AND c.table_name = t.table_name WHERE t.table_schema = 'WH' AND t.table_name ILIKE 'lat%' GROUP BY t.table_name ORDER BY t.table_name;
WITH "Last" AS (
  SELECT "region", "id", "amount", CAST('later' AS VARCHAR) AS "Source Table" FROM "WH"."later"
)
SELECT * FROM "Last" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "Last" AS (
  SELECT "region", "id", "amount", CAST('later' AS VARCHAR) AS "Source Table" FROM "WH"."later"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- multi-table-input of several tables
SELECT t.table_name, to_json(array_agg(c.column_name) WITHIN GROUP (ORDER BY c.ordinal_position)) FROM INFORMATION_SCHEMA.TABLES t JOIN INFORMATION_SCHEMA.COLUMNS c ON c.table_schema = t.table_schema AND c.table_name = t.table_name WHERE t.table_schema = 'WH' AND regexp_like(t.table_name, '(later|wide)', 'i') GROUP BY t.table_name ORDER BY t.table_name;
WITH "Last" AS (
  SELECT "region", "id", "amount", CAST('later' AS VARCHAR) AS "Source Table", NULL AS "q1", NULL AS "q2" FROM "WH"."later"
UNION ALL
SELECT NULL AS "region", "id", NULL AS "amount", CAST('wide' AS VARCHAR) AS "Source Table", "q1", "q2" FROM "WH"."wide"
)
SELECT * FROM "Last" LIMIT 0;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "Last" AS (
  SELECT "region", "id", "amount", CAST('later' AS VARCHAR) AS "Source Table", NULL AS "q1", NULL AS "q2" FROM "WH"."later"
UNION ALL
SELECT NULL AS "region", "id", NULL AS "amount", CAST('wide' AS VARCHAR) AS "Source Table", "q1", "q2" FROM "WH"."wide"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- assert-view
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In" LIMIT 0;
BEGIN TRANSACTION;
/* Last */ CREATE OR REPLACE TEMPORARY TABLE "WH"."headgate_asserted_rows" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
)
SELECT * FROM "In";
SELECT COUNT(*) FROM "WH"."headgate_asserted_rows";
/* Last */ SELECT CASE WHEN NOT (count(*) = 5) THEN CAST('headgate: ' || 'the source has ' || count(*) || ' rows, but should have = 5' AS BOOLEAN) END FROM "WH"."headgate_asserted_rows";
/* Last */ DROP TABLE "WH"."headgate_asserted_rows";
COMMIT;
/* Out */ CREATE OR REPLACE TABLE "WH"."result" AS
WITH "In" AS (
  SELECT * FROM "WH"."sales"
),
"Last" AS (
  SELECT * FROM "In"
)
SELECT * FROM "Last";
SELECT COUNT(*) FROM "WH"."result";

-- table-output, Append
/* Out */ INSERT INTO "WH"."target" ("id", "region", "amount")
WITH "In" AS (
  SELECT "id", "region", "amount" FROM "WH"."sales"
)
SELECT * FROM "In";

-- table-output, Truncate
/* Out */ INSERT OVERWRITE INTO "WH"."target" ("id", "region", "amount")
WITH "In" AS (
  SELECT "id", "region", "amount" FROM "WH"."sales"
)
SELECT * FROM "In";

-- table-update
BEGIN TRANSACTION;
/* Out */ CREATE OR REPLACE TEMPORARY TABLE "WH"."headgate_new_rows" AS
WITH "In" AS (
  SELECT "id", "region", "amount" FROM "WH"."sales"
)
SELECT * FROM "In";
SELECT COUNT(*) FROM "WH"."headgate_new_rows";
/* Out */ MERGE INTO "WH"."target" AS "target"
USING "WH"."headgate_new_rows" AS "input"
ON ("target"."id" = "input"."id")
WHEN MATCHED AND ("input"."amount" is null) THEN DELETE
WHEN MATCHED THEN UPDATE SET "amount" = "input"."amount"
WHEN NOT MATCHED THEN INSERT ("id", "region", "amount") VALUES ("input"."id", "input"."region", "input"."amount");
/* Out */ DROP TABLE "WH"."headgate_new_rows";
COMMIT;

-- create-view
/* Out */ CREATE OR REPLACE VIEW "WH"."seen" AS
WITH "In" AS (
  SELECT "id", "region", "amount" FROM "WH"."sales"
)
SELECT * FROM "In";
