/** What the SQL of a test may not say. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lexicalRules } from '@headgate/pipelines/sql-tokens';
import { findUnsafeStatement } from './test-refusals.ts';

const find = (sql: string, kind: keyof typeof lexicalRules) => findUnsafeStatement(sql, lexicalRules[kind]);

describe('statements that a test may not run', () => {
  it('change no role and no setting of the server, also in a block', () => {
    for (const sql of [
      "alter role headgate_reader password 'x'",
      "ALTER USER headgate_reader SET search_path = 'a'",
      "alter system set work_mem = '1GB'",
      'select 1; set role loader',
      'set local role loader',
      "set session role to 'loader'",
      'SET SESSION AUTHORIZATION loader',
      'set session_authorization = loader',
      'do $$ begin set role loader; perform 1; end $$',
      "do 'begin if true then alter role r nologin; end if; end'",
      "do $$ begin execute 'alter role r nologin'; end $$",
    ])
      assert.match(find(sql, 'postgres') ?? '', /a test does not change roles/, sql);
  });

  it('may say the same words about tables and values', () => {
    for (const sql of [
      "update people set role = 'admin'",
      'alter table people add column role text',
      "insert into notes values ('set role loader; alter role r nologin')",
      "set search_path = 'a'",
      'set session time zone utc',
      'create table role (system int)',
      "do $$ begin update people set role = 'a'; end $$",
    ])
      assert.equal(find(sql, 'postgres'), undefined, sql);
  });

  it('write to no store from a text that is executed', () => {
    for (const sql of [
      "copy into 's3://lake/out' from t",
      'copy into @stage from t',
      "execute immediate $$ begin copy into 's3://lake/out' from t; end $$",
      "execute immediate 'copy into @stage from t'",
      "execute immediate $$ begin execute immediate 'copy into @stage from t'; end $$",
    ])
      assert.match(find(sql, 'snowflake') ?? '', /a test writes no files to a stage or a store/, sql);
    assert.equal(find("insert into notes values ('copy into @stage from t')", 'snowflake'), undefined);
    assert.equal(find("copy into t from 's3://lake/in'", 'snowflake'), undefined);
  });

  it('delete no objects of a store', () => {
    const copy = "copy into t from 's3://lake/in' file_format = (type = csv)";
    assert.match(find(`${copy} purge = true`, 'snowflake') ?? '', /cannot delete objects of a store/);
    assert.match(find(`execute immediate $$ ${copy} PURGE=TRUE $$`, 'snowflake') ?? '', /cannot delete/);
    assert.equal(find(`${copy} purge = false`, 'snowflake'), undefined);
    assert.equal(find('update t set purge = true', 'snowflake'), undefined);
  });

  it('are found in linear time', () => {
    const text = `${"execute immediate 'a'; ".repeat(20_000)}set role r`;
    assert.match(find(`do $$${text}$$`, 'postgres') ?? '', /a test does not change roles/);
    assert.equal(find(`do $$${"execute 'select 1'; ".repeat(20_000)}$$`, 'postgres'), undefined);
  });
});
