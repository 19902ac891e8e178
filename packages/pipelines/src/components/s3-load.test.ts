/** What loads from object stores take, and refuse before a run. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readPipelineFile } from '../check/outline.ts';
import { planAction } from '../plan/plan-fixture.ts';

const least = { s3ObjectPrefix: 's3://lake/in/', targetTable: 't' };

const plan = async (parameters: object, type = 's3-load') => {
  const action = await planAction({ type, parameters: { ...least, ...parameters } }, []);
  assert.ok(action.action === 'load-objects');
  return action;
};

function listFindings(parameters: object, type = 's3-load'): string[] {
  const start = { type: 'start', parameters: {}, transitions: { unconditional: ['It'] } };
  const components = { Start: start, It: { type, parameters } };
  const text = JSON.stringify({ type: 'orchestration', version: '1.0', pipeline: { components } });
  const read = readPipelineFile('p.orch.yaml', text);
  assert.ok(!('error' in read));
  return read.outline.notes.flatMap((note) => ('message' in note ? [note.message] : []));
}

describe('s3-load', () => {
  it('reads what a public file says', async () => {
    const { source, reading, load } = await plan({
      ...{ stage: '[Custom]', authentication: 'Credentials', pattern: '.*[.]csv', encryption: 'None' },
      ...{ warehouse: '[Environment Default]', database: '[Environment Default]', format: '[Custom]' },
      ...{ fileType: 'CSV', compression: 'AUTO', recordDelimiter: '\\n', fieldDelimiter: '\\t' },
      ...{ skipHeader: '1', skipBlankLines: 'False', dateFormat: 'AUTO', escape: 'NONE' },
      ...{
        fieldOptionallyEnclosed: '"',
        nullIf: [['\\\\N'], ['']],
        onError: 'Skip File When n Errors',
        n: '3',
      },
      ...{ purgeFiles: 'True', truncateColumns: 'True', forceLoad: 'False', sizeLimitB: '100' },
    });
    const credentials = { from: 'connection', cloud: 'aws' };
    const store = { kind: 's3', bucket: 'lake', credentials };
    assert.deepEqual(source, { place: { store, key: 'in/' }, pattern: '.*[.]csv' });
    assert.deepEqual(reading, { compression: 'auto', encoding: undefined, replacesInvalid: false });
    assert.ok(load.format.type === 'CSV');
    const { delimiter, quote, skippedLines, nullWords, dateFormat } = load.format;
    assert.deepEqual(
      [delimiter, quote, skippedLines, nullWords, dateFormat],
      ['\t', '"', 1, ['\\N', ''], undefined],
    );
    assert.deepEqual(load.onError, { how: 'skip-file', most: 3, unit: 'rows' });
    assert.deepEqual([load.purges, load.reloads, load.sizeLimit], [true, false, 100]);
  });

  it('reads the addresses of all stores', async () => {
    for (const [type, parameter, address, store, key] of [
      ['s3-load', 's3ObjectPrefix', 's3a://lake/a b/', { kind: 's3', bucket: 'lake' }, 'a b/'],
      ['google-cloud-storage-load', 'gcsObjectPrefix', 'gs://lake', { kind: 'gcs', bucket: 'lake' }, ''],
      [
        ...(['azure-blob-storage-load', 'azureStorageLocation'] as const),
        'azure://lake.blob.core.windows.net/data/in/',
        { kind: 'azure', account: 'lake', container: 'data' },
        'in/',
      ],
      [
        ...(['azure-blob-storage-load', 'azureStorageLocation'] as const),
        'wasbs://data@lake.blob.core.windows.net/in/',
        { kind: 'azure', account: 'lake', container: 'data' },
        'in/',
      ],
    ] as const) {
      const { source } = await plan({ [parameter]: address, credentials: 'key' }, type);
      const credentials = { from: 'reference', name: 'key' };
      assert.deepEqual(source.place, { store: { ...store, credentials }, key });
    }
  });

  it('names what is wrong, the value and what to do', async () => {
    for (const [parameters, reason] of [
      [
        { s3ObjectPrefix: 'lake/in' },
        /"s3ObjectPrefix" is "lake\/in": it is not the address of a store: write it as s3:/,
      ],
      [{ s3ObjectPrefix: 's3://Lake/in' }, /the name of a bucket has/],
      [{ s3ObjectPrefix: 's3://lake/../x' }, /must not have a part "\." or "\.\."/],
      [{ format: 'MY_FORMAT' }, /"format" is MY_FORMAT, a file format of a vendor’s warehouse/],
      [{ s3ObjectPrefix: '' }, /the parameter "s3ObjectPrefix" is missing/],
      [{ authentication: 'Storage Integration' }, /"storageIntegration" is missing/],
      [
        { authentication: 'None', credentials: 'key' },
        /"credentials" is given, but "authentication" is None/,
      ],
      [{ endpoint: 'https://minio.example/path' }, /"endpoint" is .*without a path/],
      [{ region: 'eu central' }, /"region" is "eu central"/],
      [{ pattern: '(a)\\1' }, /"pattern" is .*back-reference/],
      [
        { fileType: 'ORC' },
        /"fileType" is ORC, which is not supported: write the files as CSV, JSON, PARQUET or AVRO/,
      ],
      [{ fieldDelimiter: '|||||' }, /"fieldDelimiter" is .*from 1 to 4 bytes/],
      [{ fieldOptionallyEnclosed: 'ab' }, /"fieldOptionallyEnclosed" is "ab": it must be one character/],
      [{ recordDelimiter: ',;' }, /"recordDelimiter" is ",;", and "fieldDelimiter" ",": one must not be in/],
      [{ recordDelimiter: '123456789' }, /"recordDelimiter" is "123456789": it must have at most 8 bytes/],
      [{ encodingType: 'EBCDIC' }, /"encodingType" is "ebcdic", which is not known/],
      [{ onError: 'Skip File When n Errors' }, /the parameter "n" is missing/],
      [
        { onError: 'Skip File When n% Errors', n: '101' },
        /"n" is 101: it must be at least 1 and at most 100/,
      ],
      [{ matchByColumnName: 'Case Sensitive' }, /"matchByColumnName" is for JSON, Parquet and Avro/],
      [{ metadataFields: [['x']] }, /"metadataFields" has "x": the fields are METADATA\$FILENAME, /],
      [{ skipHeader: '-1' }, /"skipHeader" is -1/],
      [{ sizeLimitB: '0' }, /"sizeLimitB" is 0/],
    ] as const)
      await assert.rejects(plan(parameters), reason);
  });

  it('is checked at upload', () => {
    assert.match(listFindings({ s3ObjectPrefix: 's3://lake/in' }).join('\n'), /"targetTable" is missing/);
    assert.match(
      listFindings({ ...least, filetype: 'CSV' }).join('\n'),
      /"filetype".*did you mean "fileType"/,
    );
    assert.match(listFindings({ ...least, fileType: 'XML' }).join('\n'), /"fileType" is XML/);
    assert.deepEqual(listFindings({ ...least, s3ObjectPrefix: `\${bucket}` }), []);
    assert.match(listFindings({ targetTable: 't' }, 's3-unload').join('\n'), /"filePrefix" is missing/);
  });
});
