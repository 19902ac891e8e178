/** The SQL by which Snowflake loads and unloads objects. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planAction } from '../plan/plan-fixture.ts';
import { createSnowflake } from '../sql/snowflake.ts';
import { snowflakeCredentialsMark } from './warehouse-stores.ts';

const dialect = createSnowflake({ schema: 'WH' });
const least = { s3ObjectPrefix: 's3://lake/in/', targetTable: 'T', storageIntegration: 'LAKE' };

async function render(type: string, parameters: object): Promise<string[]> {
  const action = await planAction({ type, parameters }, [], dialect);
  assert.ok(action.action === 'run-in-store');
  return action.sql.split('\n');
}
const load = (parameters: object) => render('s3-load', { ...least, ...parameters });

describe('COPY INTO a table', () => {
  it('says all that differs from the defaults of Snowflake', async () => {
    assert.deepEqual(await load({}), [
      'COPY INTO "WH"."T"',
      "FROM 's3://lake/in/'",
      'STORAGE_INTEGRATION = LAKE',
      "FILE_FORMAT = (TYPE = CSV COMPRESSION = AUTO FIELD_DELIMITER = ',' ESCAPE_UNENCLOSED_FIELD = NONE FIELD_OPTIONALLY_ENCLOSED_BY = NONE NULL_IF = ())",
      'ON_ERROR = ABORT_STATEMENT',
    ]);
  });

  it('has every option of CSV files', async () => {
    const sql = await load({
      ...{ pattern: '.*[.]csv', schema: 'other', loadColumns: ['ID', 'it"s'], compression: 'RAW_DEFLATE' },
      ...{ fieldDelimiter: '\\t', skipHeader: '1', skipBlankLines: 'Yes', dateFormat: 'DD/MM/YYYY' },
      ...{ timeFormat: 'HH24:MI', timestampFormat: 'AUTO', escape: '\\', trimSpace: 'Yes' },
      ...{ fieldOptionallyEnclosed: "'", nullIf: [['\\\\N'], ["it's"], ['\\x01']] },
      ...{ errorOnColumnCountMismatch: 'No', emptyFieldAsNull: 'No', replaceInvalidCharacters: 'Yes' },
      ...{ encodingType: 'WINDOWS1252', truncateColumns: 'Yes', onError: 'Skip File When n% Errors', n: '5' },
      ...{ sizeLimitB: '1000', purgeFiles: 'Yes', forceLoad: 'Yes' },
    });
    assert.deepEqual(sql, [
      'COPY INTO "other"."T" ("ID", "it""s")',
      "FROM 's3://lake/in/'",
      'STORAGE_INTEGRATION = LAKE',
      "PATTERN = '.*[.]csv'",
      "FILE_FORMAT = (TYPE = CSV COMPRESSION = RAW_DEFLATE ENCODING = 'WINDOWS1252' REPLACE_INVALID_CHARACTERS = TRUE FIELD_DELIMITER = '\\t' SKIP_HEADER = 1 SKIP_BLANK_LINES = TRUE DATE_FORMAT = 'DD/MM/YYYY' TIME_FORMAT = 'HH24:MI' ESCAPE = '\\\\' ESCAPE_UNENCLOSED_FIELD = '\\\\' TRIM_SPACE = TRUE FIELD_OPTIONALLY_ENCLOSED_BY = '''' NULL_IF = ('\\\\N', 'it''s', '\\x01') ERROR_ON_COLUMN_COUNT_MISMATCH = FALSE EMPTY_FIELD_AS_NULL = FALSE)",
      "ON_ERROR = 'SKIP_FILE_5%'",
      'SIZE_LIMIT = 1000',
      'TRUNCATECOLUMNS = TRUE',
      'PURGE = TRUE',
      'FORCE = TRUE',
    ]);
    assert.match((await load({ recordDelimiter: '||' })).join(), /RECORD_DELIMITER = '\|\|'/);
    assert.match((await load({ onError: 'Skip File' })).join(), /ON_ERROR = SKIP_FILE$/);
    assert.match((await load({ onError: 'Skip File When n Errors', n: '3' })).join(), /= SKIP_FILE_3$/);
  });

  it('loads JSON, Parquet and Avro', async () => {
    for (const [parameters, format, ...more] of [
      [
        { fileType: 'JSON', stripOuterArray: 'Yes', stripNullValues: 'Yes', compression: 'GZIP' },
        '(TYPE = JSON COMPRESSION = GZIP STRIP_OUTER_ARRAY = TRUE STRIP_NULL_VALUES = TRUE)',
      ],
      [
        { fileType: 'PARQUET', matchByColumnName: 'Case Insensitive' },
        '(TYPE = PARQUET)',
        'MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE',
      ],
      [
        { fileType: 'AVRO', matchByColumnName: 'Case Sensitive' },
        '(TYPE = AVRO COMPRESSION = AUTO)',
        'MATCH_BY_COLUMN_NAME = CASE_SENSITIVE',
      ],
    ] as const)
      assert.deepEqual((await load(parameters)).slice(3, -1), [`FILE_FORMAT = ${format}`, ...more]);
  });

  it('loads from a stage of Snowflake, a public bucket, and by credentials', async () => {
    const stage = { stage: 'LAKE_STAGE', stageDatabase: 'RAW', stageSchema: 'IN', targetTable: 'T' };
    assert.deepEqual((await render('s3-load', stage)).slice(1, 3), [
      'FROM @"RAW"."IN"."LAKE_STAGE"',
      (await load({}))[3],
    ]);
    const open = await load({ authentication: 'None', storageIntegration: '' });
    assert.deepEqual([open[1], open[2]?.slice(0, 11)], ["FROM 's3://lake/in/'", 'FILE_FORMAT']);
    const named = await load({ authentication: 'Storage Integration', storageIntegration: '"a b"' });
    assert.equal(named[2], 'STORAGE_INTEGRATION = "a b"');
    for (const more of [{ credentials: 'lake' }, { authentication: 'Credentials' }])
      assert.equal((await load(more))[2], `CREDENTIALS = (${snowflakeCredentialsMark})`);
  });

  it('refuses what Snowflake cannot do, with what to do instead', async () => {
    for (const [parameters, words] of [
      [{ compression: 'ZIP' }, /does not unpack zip: unpack the objects before/],
      [{ fileType: 'PARQUET', compression: 'GZIP' }, /set "compression" to AUTO/],
      [{ fileType: 'JSON', encodingType: 'UTF16' }, /reads JSON in UTF8: clear "encodingType"/],
      [{ encodingType: 'MACINTOSH' }, /does not know this encoding/],
      [{ fileType: 'AVRO', stripNullValues: 'Yes' }, /set "stripNullValues" to No/],
      [{ fieldOptionallyEnclosed: '|' }, /single or double quotes/],
      [{ fileType: 'JSON', matchByColumnName: 'Case Sensitive', loadColumns: ['ID'] }, /clear "loadColumns"/],
      [{ endpoint: 'https://minio.example.com' }, /clear "endpoint", and name the stage/],
      [{ authentication: 'Machine role' }, /Storage Integration/],
      [{ authentication: 'Storage Integration', storageIntegration: '' }, /storageIntegration/],
      [{ storageIntegration: 'a b' }, /"storageIntegration" is "a b": write the name/],
      [{ storageIntegration: 'a" b"' }, /write the name/],
      [{ iamRoleArn: 'default' }, /"iamRoleArn" is for the warehouse REDSHIFT/],
      [{ format: 'MY_FORMAT' }, /"format" is MY_FORMAT/],
      [{ s3ObjectPrefix: 'sftp://me@host/in/', credentials: 'lake' }, /reaches no SFTP servers/],
    ] as const)
      await assert.rejects(load(parameters), words, JSON.stringify(parameters));
    const google = { gcsObjectPrefix: 'gs://lake/in/', targetTable: 'T', credentials: 'lake' };
    await assert.rejects(render('google-cloud-storage-load', google), /by an integration only/);
  });
});

describe('COPY INTO an address', () => {
  const unload = (parameters: object) =>
    render('s3-unload', { ...least, s3ObjectPrefix: 's3://lake/out', filePrefix: "it's", ...parameters });

  it('writes CSV', async () => {
    assert.deepEqual(
      await unload({
        ...{ singleFile: 'Yes', overwrite: 'Yes', nullIf: [['NULL']], fieldDelimiter: ';' },
        timestampFormat: 'YYYY-MM-DD',
      }),
      [
        "COPY INTO 's3://lake/out/it''s'",
        'FROM (SELECT * FROM "WH"."T")',
        'STORAGE_INTEGRATION = LAKE',
        "FILE_FORMAT = (TYPE = CSV COMPRESSION = GZIP FIELD_DELIMITER = ';' TIMESTAMP_FORMAT = 'YYYY-MM-DD' ESCAPE_UNENCLOSED_FIELD = NONE FIELD_OPTIONALLY_ENCLOSED_BY = '\"' NULL_IF = ('NULL'))",
        'HEADER = TRUE',
        'OVERWRITE = TRUE',
        'SINGLE = TRUE',
        'MAX_FILE_SIZE = 5368709120',
      ],
    );
    assert.match(
      (await unload({ fieldOptionallyEnclosed: 'NONE', includeHeaders: 'No', compression: 'NONE' })).join(),
      /COMPRESSION = NONE .* FIELD_OPTIONALLY_ENCLOSED_BY = NONE NULL_IF = \(''\) EMPTY_FIELD_AS_NULL = FALSE\)$/,
    );
  });

  it('writes JSON from objects, and Parquet with names', async () => {
    assert.deepEqual((await unload({ fileType: 'JSON' })).slice(1), [
      'FROM (SELECT OBJECT_CONSTRUCT_KEEP_NULL(*) FROM (SELECT * FROM "WH"."T"))',
      'STORAGE_INTEGRATION = LAKE',
      'FILE_FORMAT = (TYPE = JSON COMPRESSION = GZIP)',
    ]);
    assert.deepEqual((await unload({ fileType: 'PARQUET', maxFileSize: '1000' })).slice(3), [
      'FILE_FORMAT = (TYPE = PARQUET)',
      'HEADER = TRUE',
      'MAX_FILE_SIZE = 1000',
    ]);
    await assert.rejects(unload({ fileType: 'PARQUET', compression: 'GZIP' }), /compresses Parquet inside/);
    await assert.rejects(unload({ maxFileSize: '5368709121' }), /at most 5 GB/);
  });
});
