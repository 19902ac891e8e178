/** Columns that loads fill from what is known of the object of a row. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type FakeS3, startFakeS3 } from '../../../testing/fake-s3.ts';
import { createTestPostgres } from '../../../testing/postgres.ts';
import { openStoreScene } from '../../../testing/store-scene.ts';
import { zip } from '../../../testing/zip.ts';

const postgres = await createTestPostgres();
const connection = await postgres.driver.connect(postgres.target);
after(async () => {
  await connection.close();
  await postgres.drop();
});
const request = { warehouse: 'POSTGRES', defaults: { database: 'shop', schema: 'wh' } };
const served = { warehouse: connection, request };

async function openScene(s3: FakeS3, isServed: boolean) {
  const { accessKeyId, secretAccessKey } = s3;
  const scene = await openStoreScene({
    clouds: { aws: { accessKeyId, secretAccessKey } },
    ...(isServed ? { served } : {}),
  });
  const load = (parameters: Readonly<Record<string, unknown>>) =>
    scene.component('s3-load', {
      ...{
        s3ObjectPrefix: `s3://${s3.bucket}/in/`,
        endpoint: s3.endpoint,
        targetTable: 't',
        fileType: 'CSV',
      },
      ...parameters,
    });
  const rows = async (sql: string) =>
    isServed ? (await connection.query(sql, 100)).rows : await scene.rows(sql);
  return { scene, load, rows };
}

for (const [name, isServed] of [
  ['the embedded warehouse', false],
  ['PostgreSQL', true],
] as const)
  describe(`metadataFields in ${name}`, () => {
    it('fills columns with the object, the row in it, its version and its time', async () => {
      const s3 = await startFakeS3();
      const { scene, load, rows } = await openScene(s3, isServed);
      try {
        await rows('drop table if exists t');
        await rows('drop table if exists headgate_loaded_objects');
        await rows(
          'create table t (id integer, filename varchar, line integer, "METADATA$FILE_CONTENT_KEY" varchar, changed timestamp, loaded timestamp)',
        );
        s3.put('in/a.csv', 'id\n7\n8\n');
        s3.put('in/b.zip', zip({ 'x.csv': 'id\n9\n' }));
        for (const object of s3.objects.values()) object.modified = new Date('2030-01-02T03:04:05Z');
        const { status, message } = await load({
          skipHeader: '1',
          metadataFields: [
            ['METADATA$FILENAME', 'filename'],
            ['metadata$file_row_number', 'LINE'],
            ['METADATA$FILE_CONTENT_KEY'],
            ['METADATA$FILE_LAST_MODIFIED', 'changed'],
            ['METADATA$START_SCAN_TIME', 'loaded'],
          ],
        });
        assert.deepEqual([status, message], ['SUCCESS', '3 rows from 2 objects']);
        assert.deepEqual(await rows('select id, filename, line from t order by id'), [
          [7, 'in/a.csv', 1],
          [8, 'in/a.csv', 2],
          [9, 'in/b.zip/x.csv', 1],
        ]);
        const [counts] = await rows(
          `select count(distinct "METADATA$FILE_CONTENT_KEY"), count(*) filter (where changed = timestamp '2030-01-02 03:04:05'), count(*) filter (where loaded > timestamp '2020-01-01') from t`,
        );
        assert.deepEqual(counts?.map(Number), [2, 3, 3]);
      } finally {
        scene.dispose();
        await s3.close();
      }
    });

    it('numbers the rows of JSON whose members are matched by name', async () => {
      const s3 = await startFakeS3();
      const { scene, load, rows } = await openScene(s3, isServed);
      try {
        await rows('drop table if exists t');
        await rows('drop table if exists headgate_loaded_objects');
        await rows('create table t (id integer, line bigint)');
        s3.put('in/a.json', '{"id": 5, "line": 77}\n{"id": "no"}\n{"id": 6}\n');
        const { status, rowCount } = await load({
          ...{ fileType: 'JSON', matchByColumnName: 'Case Insensitive', onError: 'Continue' },
          metadataFields: [['METADATA$FILE_ROW_NUMBER', 'line']],
        });
        assert.deepEqual([status, rowCount], ['SUCCESS', 2]);
        assert.deepEqual(
          (await rows('select * from t order by id')).map((row) => row.map(Number)),
          [
            [5, 1],
            [6, 3],
          ],
        );
      } finally {
        scene.dispose();
        await s3.close();
      }
    });

    it('refuses a field or a column that is not there', async () => {
      const s3 = await startFakeS3();
      const { scene, load, rows } = await openScene(s3, isServed);
      try {
        await rows('drop table if exists t');
        await rows('create table t (id integer, line bigint)');
        s3.put('in/a.csv', '1\n');
        const refused = [
          [
            { metadataFields: [['FILENAME']] },
            /"metadataFields" has "FILENAME": the fields are METADATA\$FILENAME,/,
          ],
          [
            { metadataFields: [['METADATA$FILENAME']] },
            /"METADATA\$FILENAME", which the table "t" does not have/,
          ],
          [
            { metadataFields: [['METADATA$FILE_ROW_NUMBER', 'line']], onError: 'Continue' },
            /cannot be told if rows of a CSV file are left out/,
          ],
          [
            { metadataFields: [['METADATA$FILE_ROW_NUMBER', 'line']], loadColumns: ['id', 'LINE'] },
            /the column "LINE" is filled twice/,
          ],
        ] as const;
        for (const [parameters, words] of refused) {
          const { status, message } = await load(parameters);
          assert.equal(status, 'FAILED');
          assert.match(message, words);
        }
        assert.deepEqual(await rows('select * from t'), []);
      } finally {
        scene.dispose();
        await s3.close();
      }
    });
  });
