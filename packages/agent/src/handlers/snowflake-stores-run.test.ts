/** Loads and unloads of objects by Snowflake itself, through the handler and a process of runs. */
import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { openConnectorScene } from '../../testing/connector-scene.ts';
import { createTestSnowflake } from '../../testing/snowflake.ts';
import { FakeFault } from '../../testing/snowflake-statements.ts';

const snowflake = await createTestSnowflake();
const { driver, target, fake } = snowflake;
const { sent, answers } = fake.copies;
const keys = { accessKeyId: 'AKIATESTOFSNOWFLAKE', secretAccessKey: 'secret/of+the/tests0' };
const sasToken = 'sv=2024-05-04&ss=b&sig=abc%2Fdef%3D';
const secrets = new Map([
  ...snowflake.secrets,
  ['lake', JSON.stringify(keys)],
  ['azure', JSON.stringify({ sasToken })],
  ['azure-key', JSON.stringify({ accountKey: 'a2V5IG9mIHRoZSBhY2NvdW50' })],
]);
const scene = await openConnectorScene(secrets, undefined, {
  snowflake: driver,
  warehouse: { kind: 'snowflake', connection: target.connection },
});
after(async () => {
  await scene.close();
  await snowflake.drop();
});
beforeEach(() => {
  sent.splice(0);
  answers.splice(0);
});

async function run(type: string, parameters: object) {
  const components = {
    Start: { type: 'start', transitions: { unconditional: ['It'] } },
    It: { type, parameters },
  };
  const text = JSON.stringify({ type: 'orchestration', version: '1.0', pipeline: { components } });
  const outcome = await scene.run({ 'main.orch.yaml': text }, 'main');
  const step = outcome.steps.find(({ name }) => name === 'It');
  return { status: outcome.status, message: outcome.message ?? step?.message ?? '', step };
}

const loaded = (file: string, rows: number) => ({
  ...{ file, status: 'LOADED', rows_parsed: rows, rows_loaded: rows, error_limit: 1, errors_seen: 0 },
  ...{ first_error: null, first_error_line: null, first_error_column_name: null },
});
const s3 = { s3ObjectPrefix: 's3://lake/in/', credentials: 'lake', targetTable: 'T' };

describe('loads and unloads in Snowflake', () => {
  it('loads objects by COPY INTO, counts their rows, and shows no keys', async () => {
    answers.push([loaded('lake/in/a.csv', 40), loaded('lake/in/b.csv', 2)]);
    const { status, message, step } = await run('s3-load', { ...s3, purgeFiles: 'Yes' });
    assert.deepEqual([status, message, step?.rowCount], ['SUCCESS', '42 rows', 42]);
    assert.deepEqual(sent[0]?.split('\n').slice(0, 3), [
      'COPY INTO "WH"."T"',
      "FROM 's3://lake/in/'",
      `CREDENTIALS = (AWS_KEY_ID = '${keys.accessKeyId}' AWS_SECRET_KEY = '${keys.secretAccessKey}')`,
    ]);
    assert.doesNotMatch(JSON.stringify(step), /AKIATEST|secret\/of/);
    assert.match(step?.sql ?? '', /CREDENTIALS = \(\(credentials\)\)/);
    // Objects that are deleted come back by no rollback.
    assert.doesNotMatch([...fake.sessions.values()].flatMap(({ history }) => history).join('\n'), /BEGIN/);
  });

  it('says that nothing was loaded if no object is new', async () => {
    const { status, message } = await run('s3-load', s3);
    assert.deepEqual([status, message], ['SUCCESS', '0 rows']);
  });

  it('counts the rows that were left out, and names the first of each object', async () => {
    const faulty = {
      ...{ ...loaded('lake/in/b.csv', 3), status: 'PARTIALLY_LOADED', rows_loaded: 1, errors_seen: 2 },
      ...{ first_error: "Numeric value 'x' is not recognized", first_error_line: 3 },
      first_error_column_name: '"T"["ID":1]',
    };
    answers.push([loaded('lake/in/a.csv', 40), faulty]);
    const { status, message } = await run('s3-load', { ...s3, onError: 'Continue' });
    assert.equal(status, 'SUCCESS', message);
    assert.equal(
      message,
      `41 rows\n2 faults:\nlake/in/b.csv, line 3, column ""T"["ID":1]" (Numeric value 'x' is not recognized, the first of 2 in this object)`,
    );
    assert.match(sent[0] ?? '', /\nON_ERROR = CONTINUE$/);
  });

  it('fails with the words of Snowflake, without keys in them', async () => {
    answers.push(
      new FakeFault('100038', '22018', `Numeric value '${keys.secretAccessKey}' is not recognized`),
    );
    const { status, message, step } = await run('s3-load', s3);
    assert.equal(status, 'FAILED');
    assert.match(message, /Numeric value '.*' is not recognized/);
    assert.doesNotMatch(JSON.stringify(step), /secret\/of/);
    const { message: unknown } = await run('s3-load', {
      ...s3,
      credentials: '',
      storageIntegration: 'OTHER',
    });
    assert.match(unknown, /Integration 'OTHER' does not exist or not authorized/);
  });

  it('reaches Azure by a signature, and Google Storage by an integration', async () => {
    const azure = {
      ...{ azureStorageLocation: 'azure://lake.blob.core.windows.net/data/in/', targetTable: 'T' },
      credentials: 'azure',
    };
    answers.push([loaded('a', 1)], [loaded('a', 1)]);
    assert.deepEqual((await run('azure-blob-storage-load', azure)).message, '1 row');
    assert.match(
      sent[0] ?? '',
      /FROM 'azure:\/\/lake\.blob\.core\.windows\.net\/data\/in\/'\nCREDENTIALS = \(AZURE_SAS_TOKEN = 'sv=/,
    );
    const google = {
      ...{ gcsObjectPrefix: 'gs://lake/in/', targetTable: 'T' },
      ...{ authentication: 'Storage Integration', storageIntegration: 'lake_integration' },
    };
    assert.deepEqual((await run('google-cloud-storage-load', google)).message, '1 row');
    assert.match(sent[1] ?? '', /FROM 'gcs:\/\/lake\/in\/'\nSTORAGE_INTEGRATION = lake_integration\n/);
    const { message } = await run('azure-blob-storage-load', { ...azure, credentials: 'azure-key' });
    assert.match(message, /Snowflake reaches Azure Blob Storage by a "sasToken"/);
  });

  it('writes objects by COPY INTO an address', async () => {
    answers.push([{ rows_unloaded: 7, input_bytes: 90, output_bytes: 60 }]);
    const { status, message } = await run('s3-unload', {
      ...{ s3ObjectPrefix: 's3://lake/out', filePrefix: 'totals.csv', credentials: 'lake', targetTable: 'T' },
      ...{ singleFile: 'Yes', overwrite: 'Yes', compression: 'NONE', dateFormat: 'DD.MM.YYYY' },
    });
    assert.deepEqual([status, message], ['SUCCESS', '7 rows']);
    assert.match(
      sent[0] ?? '',
      /^COPY INTO 's3:\/\/lake\/out\/totals\.csv'\nFROM \(SELECT \* FROM "WH"\."T"\)/,
    );
  });

  it('says how a file gets there', async () => {
    const file = await run('file-load', { source: 'a.csv', fileType: 'CSV', targetTable: 'T' });
    assert.match(file.message, /file-load works in .* data-transfer-object.* s3-load/s);
    assert.deepEqual(sent, []);
  });
});
