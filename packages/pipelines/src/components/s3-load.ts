/** Loads objects of S3 into a table that exists. */
import { checkPattern } from '../expressions/linear-pattern.ts';
import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import type { ObjectLoad } from '../stores/object-load.ts';
import { createRedshiftStores } from '../stores/redshift-stores.ts';
import { readStorePlace } from '../stores/store-address.ts';
import { type Action, type OrchestrationDefinition, readTableReference } from './definition/component.ts';
import {
  namesParameter,
  numberParameter,
  placeParameters,
  rowsParameter,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';
import {
  objectFormatParameters,
  onErrorParameters,
  readColumnMatch,
  readObjectFormat,
  readObjectReading,
  readOnError,
} from './object-format.ts';
import { readStoreAccess, readStoreRole, roleParameters, storeParameters } from './store-parameters.ts';

const sourceParameters = {
  stage: textParameter('Only [Custom]: stages belong to the warehouses of vendors.', {
    standard: '[Custom]',
  }),
  encryption: textParameter('How the store encrypts the objects. Encryption by the client is not supported.'),
  pattern: textParameter(
    'A regular expression in the syntax of RE2 that the whole name of an object, or what follows the prefix, must match. Empty: all objects.',
  ),
  ...storeParameters,
  targetTable: textParameter('The table, which must exist.', { required: true }),
  ...placeParameters,
  loadColumns: namesParameter('The columns to load, in the order of the values. None: all of the table.'),
  ...objectFormatParameters,
  ...onErrorParameters,
  metadataFields: rowsParameter(
    'Must be empty: columns for the name of the file and the like are not supported.',
    ['field'],
  ),
  sizeLimitB: numberParameter('No further object is loaded after this number of bytes.'),
  purgeFiles: yesNoParameter('Whether the loaded objects are deleted afterwards.', 'No'),
  forceLoad: yesNoParameter('Whether objects are loaded again that this table has.', 'No'),
};

const ofVendor = [
  ...['stageDatabase', 'stageSchema', 'format', 'warehouse', 'masterKey', 'kmsKeyId'],
  ...['allowDuplicates', 'enableOctal', 'preserveSpace', 'stripOuterElement', 'disableSnowflakeData'],
  ...['disableAutoConvert', 'storageIntegration'],
];

interface Kind {
  type: string;
  prefix: string;
  store: string;
  example: string;
}

function createObjectLoad({ type, prefix, store, example }: Kind): OrchestrationDefinition {
  return {
    kind: 'orchestration',
    warehouse: true,
    embeddedOnly: type === 's3-load' ? ['POSTGRES', 'REDSHIFT'] : ['POSTGRES'],
    about: `Loads objects of ${store} into a table that exists, all or none of them. An object that the table has is not loaded again. [Object stores](../../stores.md) says how to reach one.`,
    group: 'files',
    parameters: {
      [prefix]: textParameter(`How the names of the objects begin, such as ${example}.`, { required: true }),
      ...sourceParameters,
      ...(type === 's3-load' ? roleParameters : {}),
    },
    noEffect: ofVendor,
    example: `type: ${type}
parameters:
  ${prefix}: ${example}
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
  refuseNamed(parameters);
  const pattern = parameters.optionalText('pattern') ?? '';
  checkPattern('pattern', pattern);
  const place = readStorePlace(prefix, parameters.text(prefix), readStoreAccess(parameters));
  const load: ObjectLoad = {
    target: readTableReference(parameters, 'targetTable'),
    columns: parameters.names('loadColumns'),
    format: readObjectFormat(parameters),
    match: readColumnMatch(parameters),
    onError: readOnError(parameters),
    sizeLimit: readSizeLimit(parameters),
    purges: parameters.yes('purgeFiles', false),
    reloads: parameters.yes('forceLoad', false),
  };
  if (load.format.type === 'CSV' && load.match !== 'position')
    throw new ParameterError(
      '"matchByColumnName" is for JSON and Parquet: set it to None, and name the columns of a CSV file in loadColumns',
    );
  const role = readStoreRole(parameters);
  const reading = readObjectReading(parameters);
  const source = { place, pattern };
  if (dialect.stores !== undefined)
    return {
      action: 'run-in-store',
      store: place.store,
      table: load.target,
      ...createRedshiftStores(dialect).load({ load, source, reading, role }),
    };
  return { action: 'load-objects', source, reading, load, role, notes: [] };
}

/** Stages and file formats of a vendor's warehouse are not here. */
function refuseNamed(parameters: Parameters): void {
  for (const [name, what, remedy] of [
    ['stage', 'a stage', 'set it to [Custom] and give the address of the objects'],
    ['format', 'a file format', 'set it to [Custom] and give its parameters here'],
  ] as const) {
    const value = parameters.optionalText(name);
    if (value !== undefined && value !== '[Custom]')
      throw new ParameterError(`"${name}" is ${value}, ${what} of a vendor’s warehouse: ${remedy}`);
  }
  const fields = parameters.value('metadataFields');
  if (Array.isArray(fields) ? fields.length > 0 : (fields ?? '') !== '')
    throw new ParameterError('"metadataFields" is not supported: clear it');
  const encryption = parameters.optionalText('encryption');
  if (encryption !== undefined && /client/i.test(encryption))
    throw new ParameterError(
      `"encryption" is ${encryption}, which is not supported: the store must encrypt the objects itself`,
    );
}

function readSizeLimit(parameters: Parameters): number | undefined {
  const limit = parameters.optionalInteger('sizeLimitB');
  if (limit === undefined || limit > 0) return limit;
  throw new ParameterError(`"sizeLimitB" is ${limit}: it must be at least 1`);
}

export const s3Load = createObjectLoad({
  type: 's3-load',
  prefix: 's3ObjectPrefix',
  store: 'S3',
  example: 's3://example-lake/orders/',
});

export const azureBlobStorageLoad = createObjectLoad({
  type: 'azure-blob-storage-load',
  prefix: 'azureStorageLocation',
  store: 'Azure Blob Storage',
  example: 'azure://examplelake.blob.core.windows.net/orders/2026/',
});

export const googleCloudStorageLoad = createObjectLoad({
  type: 'google-cloud-storage-load',
  prefix: 'gcsObjectPrefix',
  store: 'Google Cloud Storage',
  example: 'gs://example-lake/orders/',
});
