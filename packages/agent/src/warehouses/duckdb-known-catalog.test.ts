/** For which statements DuckDB is not asked for a plan. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { type DuckDBConnection, DuckDBInstance, StatementType } from '@duckdb/node-api';
import { createCatalogWatch, type KnownCatalog } from './duckdb-known-catalog.ts';
import { type BuiltInFunctions, readBuiltInFunctions } from './statements/duckdb-functions.ts';

describe('what is known of the catalog', () => {
  let instance: DuckDBInstance;
  let connection: DuckDBConnection;
  let functions: BuiltInFunctions;
  let openSession: () => KnownCatalog;

  beforeEach(async () => {
    instance = await DuckDBInstance.create(':memory:');
    connection = await instance.connect();
    functions = await readBuiltInFunctions(connection);
    openSession = createCatalogWatch(functions);
    await connection.run('create table t as select 1 as a');
  });
  afterEach(() => {
    connection.closeSync();
    instance.closeSync();
  });

  /** Whether a statement needs no plan, after enough others that leave the catalog as it is. */
  async function isHarmless(session: KnownCatalog, sql = 'select * from t'): Promise<boolean> {
    for (let turn = 0; turn < 20; turn += 1)
      await session.isHarmless(connection, 'select 1', StatementType.SELECT);
    return session.isHarmless(connection, sql, StatementType.SELECT);
  }
  const nothing = async () => undefined;

  it('a statement that names no refused function needs no plan', async () => {
    assert.equal(await isHarmless(openSession()), true);
    assert.equal(await isHarmless(openSession(), 'insert into t select a + 1 from t'), true);
  });

  it('one that names it anywhere does, also in a text', async () => {
    for (const sql of ['from checkpoint()', 'FROM "Force_Checkpoint"()', "select 'query'", 'from U&"x"'])
      assert.equal(await isHarmless(openSession(), sql), false, sql);
  });

  it('each does while a view or a macro names a refused function', async () => {
    await connection.run("create macro sly() as table from query('select 1')");
    assert.equal(await isHarmless(openSession()), false);
  });

  it('a change makes all sessions read the catalog again, and its own session asks for each plan', async () => {
    const [own, other] = [openSession(), openSession()];
    assert.equal(await isHarmless(other), true);
    await own.run(StatementType.CREATE, async () => {
      assert.equal(await other.isHarmless(connection, 'from t', StatementType.SELECT), false);
    });
    assert.equal(await other.isHarmless(connection, 'from t', StatementType.SELECT), false);
    assert.equal(await isHarmless(other), true);
    assert.equal(await isHarmless(own), false);
  });

  it('a change counts again when its transaction ends', async () => {
    const [own, other] = [openSession(), openSession()];
    await own.run(StatementType.TRANSACTION, nothing);
    await own.run(StatementType.CREATE, nothing);
    assert.equal(await isHarmless(other), true);
    await own.run(StatementType.TRANSACTION, nothing);
    assert.equal(await other.isHarmless(connection, 'from t', StatementType.SELECT), false);
  });

  it('in a transaction what was found later does not count', async () => {
    const [own, other] = [openSession(), openSession()];
    await own.run(StatementType.TRANSACTION, nothing);
    assert.equal(await isHarmless(own), true);
    await other.run(StatementType.DROP, nothing);
    assert.equal(await isHarmless(openSession()), true);
    assert.equal(await isHarmless(own), false);
  });

  it('only statements that leave the catalog as it is need no plan', async () => {
    const session = openSession();
    assert.equal(await isHarmless(session), true);
    for (const type of [StatementType.CREATE, StatementType.COPY, StatementType.SET, StatementType.EXPLAIN])
      assert.equal(await session.isHarmless(connection, 'x', type), false);
  });

  it('no view or macro of DuckDB itself calls a refused function', async () => {
    const reader = await connection.runAndReadAll(`
      select view_name, sql from duckdb_views() where internal
      union all select function_name, macro_definition from duckdb_functions() where internal`);
    for (const [name, definition] of reader.getRows())
      for (const refused of functions.refused)
        assert.doesNotMatch(String(definition), new RegExp(`\\b${refused}"?\\s*\\(`, 'i'), String(name));
  });
});
