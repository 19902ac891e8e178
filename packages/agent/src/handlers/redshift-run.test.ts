/** Runs in a project whose warehouse is Redshift, through the handler and a process of runs. */
import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { openConnectorScene } from '../../testing/connector-scene.ts';
import { createTestRedshift } from '../../testing/fake-redshift.ts';

const redshift = await createTestRedshift();
const { driver, target, admin, sent } = redshift;
const keys = { accessKeyId: 'AKIATESTOFREDSHIFT', secretAccessKey: 'secret/of+the/tests0' };
const secrets = new Map([
  ['warehouse-password', (await target.readSecret('warehouse-password')).reveal()],
  ['lake', JSON.stringify(keys)],
]);
const scene = await openConnectorScene(secrets, undefined, {
  redshift: driver,
  warehouse: { kind: 'redshift', connection: target.connection },
});
after(async () => {
  await scene.close();
  await redshift.drop();
});
beforeEach(() => void sent.splice(0));

async function run(type: string, parameters: object) {
  const outcome = await scene.run(
    {
      'main.orch.yaml': JSON.stringify({
        type: 'orchestration',
        version: '1.0',
        pipeline: {
          components: {
            Start: { type: 'start', transitions: { unconditional: ['It'] } },
            It: { type, parameters },
          },
        },
      }),
    },
    'main',
  );
  const step = outcome.steps.find(({ name }) => name === 'It');
  return { status: outcome.status, message: outcome.message ?? step?.message ?? '', step };
}

describe('a run in Redshift', () => {
  it('sends the SQL of users as it is written', async () => {
    const sqlScript = `create table t (id integer, name varchar(20)) diststyle key distkey(id) sortkey(id);
      insert into t values (1, 'it\\'s; so'); select 1`;
    const { status, message } = await run('sql-script', { sqlScript });
    assert.equal(status, 'SUCCESS', message);
    assert.deepEqual((await admin.query('select * from wh.t')).rows, [{ id: 1, name: "it's; so" }]);
    const refused = await run('sql-script', { sqlScript: 'insert into t values (1) on conflict do nothing' });
    assert.match(refused.message, /syntax error at or near "on" \(42601\)/);
  });

  it('loads objects by COPY, and shows no keys', async () => {
    const { status, message, step } = await run('s3-load', {
      ...{
        s3ObjectPrefix: 's3://lake/in/orders',
        credentials: 'lake',
        region: 'eu-central-1',
        targetTable: 't',
      },
      ...{
        fileType: 'CSV',
        fieldOptionallyEnclosed: '"',
        skipHeader: '1',
        nullIf: [['NULL']],
        compression: 'GZIP',
      },
    });
    assert.equal(status, 'SUCCESS', message);
    assert.match(message, /^42 rows\nRedshift loads all objects that begin with the prefix each time/);
    assert.deepEqual(sent, [
      [
        '/* It */ COPY "wh"."t"',
        "FROM 's3://lake/in/orders'",
        `ACCESS_KEY_ID '${keys.accessKeyId}' SECRET_ACCESS_KEY '${keys.secretAccessKey}'`,
        "REGION AS 'eu-central-1'",
        `FORMAT AS CSV QUOTE AS '"'`,
        "DELIMITER AS ','",
        'IGNOREHEADER AS 1',
        "NULL AS 'NULL'",
        'EMPTYASNULL',
        "DATEFORMAT AS 'auto'",
        "TIMEFORMAT AS 'auto'",
        'GZIP',
      ].join('\n'),
    ]);
    assert.doesNotMatch(JSON.stringify(step), /AKIATEST|secret\/of/);
    assert.match(step?.sql ?? '', /\(credentials\)/);
  });

  it('loads by a role, and names the rows that were left out', async () => {
    await admin.query(
      "insert into svv_faults (query, filename, line_number, colname, raw_field_value, err_reason) values (9, 's3://lake/in/a.json', 3, 'id', 'x', 'Invalid digit')",
    );
    const { status, message } = await run('s3-load', {
      ...{
        s3ObjectPrefix: 's3://lake/in/',
        iamRoleArn: 'arn:aws:iam::123456789012:role/load',
        targetTable: 't',
      },
      ...{ fileType: 'JSON', matchByColumnName: 'Case Insensitive', onError: 'Continue', forceLoad: 'Yes' },
    });
    assert.deepEqual(
      [status, message],
      ['SUCCESS', '42 rows\n1 fault:\ns3://lake/in/a.json, line 3, column "id": "x" (Invalid digit)'],
    );
    assert.match(
      sent[0] ?? '',
      /IAM_ROLE 'arn:aws:iam::123456789012:role\/load'\nFORMAT AS JSON 'auto ignorecase'\nMAXERROR AS 100000$/,
    );
  });

  it('says which row made a load fail', async () => {
    redshift.failNext();
    const { status, message } = await run('s3-load', {
      ...{ s3ObjectPrefix: 's3://lake/in/', iamRoleArn: 'default', targetTable: 't', fileType: 'PARQUET' },
    });
    assert.equal(status, 'FAILED');
    assert.match(
      message,
      /s3:\/\/lake\/in\/a\.json, line 3, column "id": "x" \(Invalid digit\); nothing was loaded: correct the object/,
    );
    assert.match(sent[0] ?? '', /IAM_ROLE default\nFORMAT AS PARQUET$/);
  });

  it('writes objects by UNLOAD', async () => {
    const { status, message } = await run('s3-unload', {
      ...{ s3ObjectPrefix: 's3://lake/out', filePrefix: 'totals_', iamRoleArn: 'default', targetTable: 't' },
      ...{
        fileType: 'CSV',
        nullIf: [["it's"]],
        overwrite: 'Yes',
        singleFile: 'Yes',
        maxFileSize: '100000000',
      },
    });
    assert.equal(status, 'SUCCESS', message);
    assert.match(message, /^7 rows\nRedshift adds the number of the part/);
    assert.deepEqual(sent, [
      [
        `/* It */ UNLOAD ('SELECT * FROM "wh"."t"')`,
        "TO 's3://lake/out/totals_'",
        'IAM_ROLE default',
        'FORMAT AS CSV',
        "DELIMITER AS ','",
        'HEADER',
        "NULL AS 'it''s'",
        'GZIP',
        'ALLOWOVERWRITE',
        'PARALLEL OFF',
        'MAXFILESIZE AS 100 MB',
      ].join('\n'),
    ]);
  });

  it('refuses what Redshift cannot do, with what to do instead', async () => {
    const load = {
      s3ObjectPrefix: 's3://lake/in/',
      iamRoleArn: 'default',
      targetTable: 't',
      fileType: 'CSV',
    };
    for (const [parameters, words] of [
      [{ pattern: '.*[.]csv' }, /loads all objects that begin with the prefix: clear "pattern"/],
      [{ onError: 'Skip File' }, /skips rows, not files: set "onError"/],
      [{ purgeFiles: 'Yes' }, /deletes no objects/],
      [{ fileType: 'AVRO' }, /loads no Avro files/],
      [{ recordDelimiter: '||' }, /line breaks only/],
      [{ timeFormat: 'HH24:MI' }, /no format for times/],
      [{ fileType: 'JSON', stripNullValues: 'Yes' }, /stripNullValues/],
      [{ nullIf: [['a'], ['b']] }, /knows one word for NULL/],
      [{ endpoint: 'https://minio.example.com' }, /reaches Amazon S3 only/],
      [{ iamRoleArn: 'role' }, /"iamRoleArn" is "role": write it as arn:aws:iam/],
    ] as const)
      assert.match((await run('s3-load', { ...load, ...parameters })).message, words);
    const file = await run('file-load', { source: 'a.csv', fileType: 'CSV', targetTable: 't' });
    assert.match(file.message, /file-load works in the embedded warehouse, DUCKDB, and in POSTGRES only/);
    assert.deepEqual(sent, []);
  });
});
