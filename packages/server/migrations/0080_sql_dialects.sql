-- Of DUCKDB projects: whose SQL they run, and whether statements that change who may read have no effect instead of failing.
alter table project
  add column sql_dialect text not null default 'SNOWFLAKE' check (sql_dialect in ('SNOWFLAKE', 'REDSHIFT')),
  add column ignores_access_statements boolean not null default false;
