/**
 * Redshift for tests: a PostgreSQL that has Redshift's views, refuses what Redshift refuses, and records what only
 * Redshift can run. https://docs.aws.amazon.com/redshift/latest/dg/c_redshift-and-postgres-sql.html
 */
import { createRedshiftDriver } from '../src/warehouses/redshift.ts';
import { createTestPostgres, type TestPostgres } from './postgres.ts';

export interface TestRedshift extends TestPostgres {
  /** COPY and UNLOAD, as they were sent. They have no effect. */
  readonly sent: string[];
  /** The next of them fails, as with faults in its rows. */
  failNext(): void;
}

/** What is not there, and the beginning of what Redshift says of it. */
const refusals: readonly (readonly [pattern: RegExp, message: string])[] = [
  [/\bon\s+conflict\b/i, 'syntax error at or near "on"'],
  [/\breturning\b/i, 'syntax error at or near "returning"'],
  [/\blateral\b/i, 'syntax error at or near "lateral"'],
  [/\bfilter\s*\(\s*where/i, 'syntax error at or near "("'],
  [/\bfrom\s*\(\s*values\b/i, 'syntax error at or near "values"'],
  [/\bon\s+commit\s+drop\b/i, 'syntax error at or near "on"'],
  [/\bis\s+(?:not\s+)?distinct\s+from\b/i, 'syntax error at or near "distinct"'],
  [/\bmerge\s+into\s+\S+\s+as\b/i, 'syntax error at or near "as"'],
  [/\bcreate\s+(?:unique\s+)?index\b/i, 'SQL command "create index" not supported on Redshift tables.'],
  [/\bgenerate_series\b/i, 'Function "generate_series(integer,integer)" not supported.'],
  [
    /\b(?:array_agg|jsonb?_agg|string_agg|pg_typeof|starts_with|pg_control_system|jsonb?_\w+)\s*\(/i,
    'function does not exist',
  ],
  [/\bpg_temp\b/i, 'schema "pg_temp" does not exist'],
  [/\bpg_stat_activity\b/i, 'column "pid" does not exist in pg_stat_activity'],
  [/\bany\s*\(\s*\$\d/i, 'array parameters are not supported'],
  [
    /\b(?:client_connection_check_interval|intervalstyle|standard_conforming_strings|bytea_output)\b/i,
    'unrecognized configuration parameter',
  ],
  [/\bclient_min_messages\b/i, 'permission denied to set parameter "client_min_messages" to "warning"'],
  [
    /^(?:\/\*[^*]*\*\/\s*)?copy\s[\s\S]*\sfrom\s+stdin\b/i,
    'LOAD source is not supported. (Hint: only S3 or DynamoDB or EMR based load is allowed)',
  ],
];

const elsewhere = /^(?:\/\*[^*]*\*\/\s*)?(?:copy|unload)\b/i;

export async function createTestRedshift(): Promise<TestRedshift> {
  const sent: string[] = [];
  const failsNext: true[] = [];
  const postgres = await createTestPostgres({
    createDriver: createRedshiftDriver,
    rewrite(sql) {
      const refused = refusals.find(([pattern]) => pattern.test(sql));
      if (refused !== undefined) return `select public.refuse('${refused[1].replaceAll("'", "''")}')`;
      if (elsewhere.test(sql)) {
        sent.push(sql);
        return failsNext.splice(0).length > 0
          ? `select public.refuse('Load into table ''t'' failed. Check ''stl_load_errors'' system table for details.')`
          : 'select 1 where false';
      }
      return sql
        .replace(/^set query_group to/i, 'set headgate.query_group to')
        .replaceAll(/\bversion\(\)/gi, 'public.redshift_version()')
        .replaceAll(
          /\blistagg\((.*?), '([^']*)'\)\s*within group\s*\((order by [^)]*)\)/gi,
          "string_agg($1, '$2' $3)",
        )
        .replaceAll(/\blistagg\(/gi, 'string_agg(')
        .replaceAll(/\b(?:distkey|sortkey)\s*\([^)]*\)|\bdiststyle\s+\w+/gi, '');
    },
  });
  const { admin, runRole, reader } = postgres;
  for (const role of [runRole, reader]) {
    // A backslash escapes in literals.
    await admin.query(`alter role ${role} set standard_conforming_strings = off`);
    await admin.query(`alter role ${role} set escape_string_warning = off`);
  }
  await admin.query(`
    create function public.refuse(message text) returns integer language plpgsql as
      $$ begin raise exception '%', message using errcode = '42601'; end $$;
    create function public.redshift_version() returns text language sql as
      $$ select 'PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.98765'::text $$;
    create function public.pg_last_copy_count() returns bigint language sql as 'select 42::bigint';
    create function public.pg_last_copy_id() returns integer language sql as 'select 9';
    create table public.svv_faults (query integer, starttime timestamp default now(), filename char(256),
      line_number bigint, colname char(127), raw_field_value char(1024), err_reason char(100));
    create view public.stl_load_errors as select *, pg_backend_pid() as session from public.svv_faults;
    create function public.pg_last_unload_count() returns bigint language sql as 'select 7::bigint';
    create domain public.super as jsonb;
    create domain public.varbyte as bytea;
    create table public.svv_user_grants (user_name char(128), role_name char(128));
    create table public.svv_role_grants (role_name char(128), granted_role_name char(128));
    create view public.stv_sessions as
      select backend_start at time zone 'UTC' as starttime, pid as process, usename::char(50) as user_name
      from pg_stat_activity where usename = current_user;
    create view public.svv_tables as
      select table_catalog, table_schema, table_name, table_type,
        obj_description(format('%I.%I', table_schema, table_name)::regclass, 'pg_class') as remarks
      from information_schema.tables where table_name not like 'svv!_%' escape '!' and table_name <> 'stl_load_errors' and table_name <> 'stv_sessions';
    create view public.svv_columns as
      select table_catalog, table_schema, table_name, column_name, ordinal_position, is_nullable, data_type,
        character_maximum_length, numeric_precision, numeric_scale,
        col_description(format('%I.%I', table_schema, table_name)::regclass, ordinal_position) as remarks
      from information_schema.columns;
    grant select on public.stl_load_errors, public.svv_user_grants, public.svv_role_grants, public.stv_sessions, public.svv_tables,
      public.svv_columns to public;
    grant usage on schema wh to ${reader};
  `);
  return { ...postgres, sent, failNext: () => void failsNext.push(true) };
}
