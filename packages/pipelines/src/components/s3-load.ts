/** Loads objects of S3 into a table that exists. */
import { checkPattern } from '../expressions/linear-pattern.ts';
import { ParameterError, type Parameters, readCellText } from '../expressions/parameters.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import { createDialectStores } from '../stores/dialect-stores.ts';
import type { MetadataColumn, ObjectLoad } from '../stores/object-load.ts';
import { metadataFieldNames } from '../stores/object-metadata.ts';
import { planStage, type Stage } from '../stores/stages.ts';
import { readStorePlace, type StorePlace } from '../stores/store-address.ts';
import type { Action, OrchestrationDefinition } from './definition/component.ts';
import {
  namesParameter,
  numberParameter,
  placeParameters,
  rowsParameter,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';
import { readTableReference } from './definition/plan-parts.ts';
import {
  objectFormatParameters,
  onErrorParameters,
  planRecords,
  readColumnMatch,
  readObjectFormat,
  readObjectReading,
  readOnError,
} from './object-format.ts';
import {
  readStoreAccess,
  readStoreRole,
  refuseNamed,
  roleParameters,
  type StoreKind,
  storeIntegration,
  storeKinds,
  storeParameters,
} from './store-parameters.ts';

const sourceParameters = {
  stage: textParameter(
    'A stage that CREATE STAGE made: the objects of its address are loaded. In a SNOWFLAKE project one of Snowflake. [Custom]: those that the prefix names.',
    { standard: '[Custom]' },
  ),
  stageDatabase: textParameter(
    'The database of the stage. Empty or `[Environment Default]`: the environment’s.',
  ),
  stageSchema: textParameter('The schema of the stage. Empty or `[Environment Default]`: the environment’s.'),
  encryption: textParameter('How the store encrypts the objects. Encryption by the client is not supported.'),
  pattern: textParameter(
    'A regular expression in the syntax of RE2 that the whole name of an object, or what follows the prefix, must match. Empty: all objects.',
  ),
  ...storeParameters,
  ...storeIntegration,
  targetTable: textParameter('The table, which must exist.', { required: true }),
  ...placeParameters,
  loadColumns: namesParameter('The columns to load, in the order of the values. None: all of the table.'),
  ...objectFormatParameters,
  ...onErrorParameters,
  metadataFields: rowsParameter(
    'Columns that are filled from what is known of the object: METADATA$FILENAME (its name in the bucket), METADATA$FILE_ROW_NUMBER (the number of the row in the file, from 1), METADATA$FILE_CONTENT_KEY (its version), METADATA$FILE_LAST_MODIFIED and METADATA$START_SCAN_TIME (in UTC). The table must have the column. Without one, it has the name of the field.',
    ['field', 'column?'],
  ),
  sizeLimitB: numberParameter('No further object is loaded after this number of bytes.'),
  purgeFiles: yesNoParameter('Whether the loaded objects are deleted afterwards.', 'No'),
  forceLoad: yesNoParameter('Whether objects are loaded again that this table has.', 'No'),
};

const ofVendor = [
  ...['format', 'warehouse', 'masterKey', 'kmsKeyId'],
  ...['allowDuplicates', 'enableOctal', 'preserveSpace', 'stripOuterElement', 'disableSnowflakeData'],
  'disableAutoConvert',
];

function createObjectLoad({ type, prefix, name, example }: StoreKind): OrchestrationDefinition {
  return {
    kind: 'orchestration',
    warehouse: true,
    embeddedOnly: type === 's3' ? ['POSTGRES', 'REDSHIFT', 'SNOWFLAKE'] : ['POSTGRES', 'SNOWFLAKE'],
    about: `Loads objects of ${name} into a table that exists, all or none of them. An object that the table has is not loaded again. [Object stores](../../stores.md) says how to reach one.`,
    group: 'files',
    parameters: {
      [prefix]: textParameter(
        `How the names of the objects begin, such as ${example}/orders/. Required unless \`stage\` names one.`,
      ),
      ...sourceParameters,
      ...(type === 's3' ? roleParameters : {}),
    },
    noEffect: ofVendor,
    example: `type: ${type}-load
parameters:
  ${prefix}: ${example}/orders/
  pattern: ".*[.]csv"
  credentials: lake-reader
  targetTable: orders
  fileType: CSV
  skipHeader: "1"
  fieldOptionallyEnclosed: '"'`,
    plan: ({ parameters, dialect }) => planLoad(prefix, parameters, dialect),
  };
}

function planLoad(prefix: string, parameters: Parameters, dialect: Dialect): Action {
  refuseUnsupported(parameters);
  const pattern = parameters.optionalText('pattern') ?? '';
  checkPattern('pattern', pattern);
  const place = readPlace(prefix, parameters, dialect);
  const format = readObjectFormat(parameters);
  const load: ObjectLoad = {
    target: readTableReference(parameters, 'targetTable'),
    columns: parameters.names('loadColumns'),
    metadata: readMetadataColumns(parameters),
    format,
    ...(format.type === 'JSON' && format.isByLine === true ? { conversion: { from: 'avro' } as const } : {}),
    match: readColumnMatch(parameters),
    onError: readOnError(parameters),
    sizeLimit: readSizeLimit(parameters),
    purges: parameters.yes('purgeFiles', false),
    reloads: parameters.yes('forceLoad', false),
  };
  if (load.format.type === 'CSV' && load.match !== 'position')
    throw new ParameterError(
      '"matchByColumnName" is for JSON, Parquet and Avro: set it to None, and name the columns of a CSV file in loadColumns',
    );
  if (load.format.type === 'CSV' && load.onError.how !== 'abort' && load.metadata.some(countsRows))
    throw new ParameterError(
      '"metadataFields" has METADATA$FILE_ROW_NUMBER, which cannot be told if rows of a CSV file are left out: set "onError" to Abort Statement, or remove the field',
    );
  const role = readStoreRole(parameters, dialect);
  const reading = readObjectReading(parameters);
  const source = { place, pattern };
  const stores = createDialectStores(dialect);
  if (stores !== undefined) {
    if (load.metadata.length > 0)
      throw new ParameterError(
        '"metadataFields" is not supported in this warehouse, whose COPY fills columns from the objects alone: clear it, and set a column afterwards',
      );
    const store = 'store' in place ? place.store : undefined;
    return { action: 'run-in-store', store, ...stores.load({ load, source, reading, role }) };
  }
  const { records, ...plain } = planRecords(load.format, load.match !== 'position');
  return {
    ...{ action: 'load-objects', source, role, notes: [] },
    reading: { ...reading, ...(records === undefined ? {} : { records }) },
    load: { ...load, ...plain },
  };
}

function readPlace(prefix: string, parameters: Parameters, dialect: Dialect): StorePlace | Stage {
  const access = readStoreAccess(parameters, {}, true);
  const stage = parameters.optionalText('stage')?.trim() ?? '';
  if (stage === '' || stage === '[Custom]') return readStorePlace(prefix, parameters.text(prefix), access);
  const [database, schema] = ['stageDatabase', 'stageSchema'].map((name) => parameters.optionalText(name));
  if (dialect.copy !== undefined)
    throw new ParameterError(
      `"stage" is ${stage}: this warehouse has no stages; set it to [Custom] and give the address of the objects`,
    );
  return planStage({ database, schema, table: stage }, access, dialect);
}

function refuseUnsupported(parameters: Parameters): void {
  refuseNamed(parameters, 'format', 'a file format', 'its parameters here');
  const encryption = parameters.optionalText('encryption');
  if (encryption !== undefined && /client/i.test(encryption))
    throw new ParameterError(
      `"encryption" is ${encryption}, which is not supported: the store must encrypt the objects itself`,
    );
}

const countsRows = ({ field }: MetadataColumn) => field === 'METADATA$FILE_ROW_NUMBER';

/** @throws ParameterError */
function readMetadataColumns(parameters: Parameters): MetadataColumn[] {
  // A single name, too, and an empty text for none.
  const value = parameters.value('metadataFields');
  if (value === undefined || value === null || value === '') return [];
  const list = parameters.rows('metadataFields', 1).map((row): MetadataColumn => {
    const written = readCellText(row, 0).trim();
    const field = metadataFieldNames.find((each) => each === written.toUpperCase());
    if (field === undefined)
      throw new ParameterError(
        `"metadataFields" has "${written}": the fields are ${metadataFieldNames.join(', ')}`,
      );
    return { field, column: readCellText(row, 1).trim() || field };
  });
  const columns = [...list.map(({ column }) => column), ...parameters.names('loadColumns')];
  const lower = columns.map((column) => column.toLowerCase());
  const twice = columns.find((_, index) => lower.indexOf(lower[index] ?? '') !== index);
  if (twice !== undefined)
    throw new ParameterError(
      `the column "${twice}" is filled twice: correct "metadataFields" or "loadColumns"`,
    );
  return list;
}

function readSizeLimit(parameters: Parameters): number | undefined {
  const limit = parameters.optionalInteger('sizeLimitB');
  if (limit === undefined || limit > 0) return limit;
  throw new ParameterError(`"sizeLimitB" is ${limit}: it must be at least 1`);
}

export const s3Load = createObjectLoad(storeKinds.s3);
export const azureBlobStorageLoad = createObjectLoad(storeKinds.azure);
export const googleCloudStorageLoad = createObjectLoad(storeKinds.google);
