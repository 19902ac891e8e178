/** SQL that only Redshift can run, as its documentation has it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRedshift } from './redshift.ts';

const redshift = createRedshift({ schema: 'shop' });

describe('the dialect of Redshift', () => {
  it('has types with lengths in bytes', () => {
    const type = (word: string, size?: string, precision?: string) =>
      redshift.type({ type: word, size, precision });
    assert.deepEqual(
      [type('VARCHAR', '20'), type('VARCHAR'), type('TEXT', '30000'), type('CHAR', '3'), type('NUMBER')],
      ['VARCHAR(80)', 'VARCHAR(65535)', 'VARCHAR(65535)', 'VARCHAR(12)', 'NUMERIC(38,0)'],
    );
    assert.deepEqual(
      [type('NUMERIC', '12', '2'), type('VARIANT'), type('BINARY'), type('timestamp_ltz'), type('double')],
      ['NUMERIC(12,2)', 'SUPER', 'VARBYTE', 'TIMESTAMPTZ', 'DOUBLE PRECISION'],
    );
    assert.throws(() => type('UUID'), /"UUID" is not a type of Redshift: use one of/);
    assert.throws(() => type('NUMBER', '39'), /from 1 to 38, not "39"/);
  });

  it('escapes backslashes in literals', () => {
    assert.equal(redshift.literal("a\\b'c"), "'a\\\\b''c'");
  });

  it('passes over NULLs after the call', () => {
    assert.equal(redshift.ignoreNulls('lag("x", 1)'), 'lag("x", 1) IGNORE NULLS');
  });

  it('gathers texts by LISTAGG', () => {
    assert.equal(
      redshift.gatherTexts('CAST("x" AS VARCHAR(65535))', ', ', 'ORDER BY "x" ASC'),
      `listagg(CAST("x" AS VARCHAR(65535)), ', ') WITHIN GROUP (ORDER BY "x" ASC)`,
    );
  });

  it('changes a table by parts, whose table has no alias', () => {
    const statements = redshift.merge({
      ...{ table: { table: 'orders' }, target: '"t"', source: '"s"', aside: '"headgate_new_rows"' },
      condition: `("t"."id" = "s"."id" AND "s"."t" <> 't.x')`,
      rules: [
        { condition: '("s"."gone")', action: 'delete' },
        { condition: undefined, action: 'update' },
      ],
      updates: [['amount', 'amount']],
      inserts: [['id', 'id']],
    });
    const matches = `(("orders"."id" = "s"."id" AND "s"."t" <> 't.x'))`;
    const chosen = `CASE WHEN ("s"."gone") THEN 'delete' WHEN TRUE THEN 'update' ELSE 'none' END`;
    assert.deepEqual(statements, [
      `CREATE TEMPORARY TABLE "headgate_added_rows" AS\nSELECT "s"."id" AS "c1"\nFROM "headgate_new_rows" AS "s"\nWHERE NOT EXISTS (SELECT 1 FROM "shop"."orders" WHERE ${matches.slice(1, -1)})`,
      `DELETE FROM "shop"."orders"\nUSING "headgate_new_rows" AS "s"\nWHERE ${matches} AND ${chosen} = 'delete'`,
      `UPDATE "shop"."orders"\nSET "amount" = "s"."amount"\nFROM "headgate_new_rows" AS "s"\nWHERE ${matches} AND ${chosen} = 'update'`,
      `INSERT INTO "shop"."orders" ("id")\nSELECT * FROM "headgate_added_rows"`,
      'DROP TABLE "headgate_added_rows"',
    ]);
  });

  it('deletes rows where TRUNCATE would commit', () => {
    const { statements } = redshift.replaceRows('"shop"."t"', 'SELECT 1 AS "a"', ['a']);
    assert.ok(statements.includes('DELETE FROM "shop"."t"'));
    assert.ok(!statements.some((each) => /TRUNCATE|ON COMMIT/.test(each)));
  });

  it('reads no files through the connection', () => {
    assert.equal(redshift.copy, undefined);
  });
});
