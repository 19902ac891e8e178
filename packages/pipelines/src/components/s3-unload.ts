/** Writes the rows of a table to an object of a store. */
import { ParameterError, type Parameters, readCellText } from '../expressions/parameters.ts';
import type { Dialect, FileFormat } from '../sql/dialect/dialect.ts';
import { createDialectStores } from '../stores/dialect-stores.ts';
import type { TargetColumn } from '../stores/object-load.ts';
import { nameObject, readStorePlace, type StorePlace } from '../stores/store-address.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import {
  choiceParameter,
  numberParameter,
  placeParameters,
  rowsParameter,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';
import { readTableReference } from './definition/plan-parts.ts';
import { csvParameters, readMomentFormat, readSeparators, requireLineEnds } from './object-format.ts';
import {
  readStoreAccess,
  readStoreRole,
  refuseStage,
  roleParameters,
  type StoreKind,
  stageParameter,
  storeIntegration,
  storeKinds,
  storeParameters,
} from './store-parameters.ts';

const { recordDelimiter, fieldDelimiter, dateFormat, timeFormat, timestampFormat } = csvParameters;

const unloadParameters = {
  stage: stageParameter,
  filePrefix: textParameter('The name of the object after the prefix, or how it begins.', { required: true }),
  ...storeParameters,
  ...storeIntegration,
  targetTable: textParameter('The table whose rows are written.', { required: true }),
  ...placeParameters,
  fileType: choiceParameter('The format.', ['CSV', 'JSON', 'PARQUET'], { standard: 'CSV' }),
  compression: choiceParameter(
    'AUTO: gzip for CSV and JSON. Parquet is compressed inside.',
    ['AUTO', 'NONE', 'GZIP'],
    { standard: 'AUTO' },
  ),
  ...{ recordDelimiter, fieldDelimiter, dateFormat, timeFormat, timestampFormat },
  fieldOptionallyEnclosed: textParameter('The character that encloses values where it is needed.', {
    standard: '"',
  }),
  nullIf: rowsParameter('The first is written for NULL. None: nothing is.', ['value'], {
    otherNames: ['nullIf2'],
  }),
  overwrite: yesNoParameter('Whether an object with this name is replaced. No: it is an error.', 'No'),
  singleFile: yesNoParameter(
    'Whether the object is named exactly as filePrefix says. No: _0_0_0 and an extension are added.',
    'No',
  ),
  maxFileSize: numberParameter(
    'How many bytes the object may have. A larger one is not written, and the component fails. In a REDSHIFT project: from 5 MB to 6.2 GB, in a SNOWFLAKE project up to 5 GB, and more objects are written.',
  ),
  includeHeaders: yesNoParameter('Whether the first line of a CSV file has the names of the columns.', 'Yes'),
};

function createObjectUnload({ type, prefix, name, example }: StoreKind): OrchestrationDefinition {
  return {
    kind: 'orchestration',
    warehouse: true,
    embeddedOnly: type === 's3' ? ['POSTGRES', 'REDSHIFT', 'SNOWFLAKE'] : ['POSTGRES', 'SNOWFLAKE'],
    changesElsewhere: 'writes to an object store',
    about: `Writes the rows of a table to one object of ${name}, which is there when it is complete. [Object stores](../../stores.md) says how to reach one.`,
    group: 'files',
    parameters: {
      [prefix]: textParameter(`How the name of the object begins, such as ${example}/out/.`, {
        required: true,
      }),
      ...unloadParameters,
      ...(type === 's3' ? roleParameters : {}),
    },
    noEffect: [
      ...['format', 'warehouse', 'encryption', 'masterKey', 'kmsKeyId'],
      ...['escape', 'escapeUnenclosedField', 'stageDatabase', 'stageSchema'],
    ],
    example: `type: ${type}-unload
parameters:
  ${prefix}: ${example}/out/
  filePrefix: totals.csv
  credentials: lake-writer
  targetTable: totals
  compression: NONE
  singleFile: "True"
  overwrite: "True"`,
    plan({ parameters, dialect }) {
      refuseStage(parameters);
      const fileType = parameters.choice(
        'fileType',
        { CSV: 'CSV', JSON: 'JSON', PARQUET: 'PARQUET' } as const,
        'CSV',
      );
      const compressions = { AUTO: fileType !== 'PARQUET', NONE: false, GZIP: true };
      const gzips = parameters.choice('compression', compressions, compressions.AUTO);
      const table = readTableReference(parameters, 'targetTable');
      const { format, query } = createQuery(fileType, parameters, dialect.table(table), dialect);
      const isNew = !parameters.yes('overwrite', false);
      const role = readStoreRole(parameters, dialect);
      const maxBytes = parameters.optionalInteger('maxFileSize');
      const isSingle = parameters.yes('singleFile', false);
      const ending = `${fileType.toLowerCase()}${gzips ? '.gz' : ''}`;
      const place = readTarget(prefix, parameters, dialect, ending);
      const stores = createDialectStores(dialect);
      if (stores !== undefined) {
        if (dialect.stores === 'redshift') refuseFormats(parameters);
        const moments = readMoments(parameters);
        return {
          action: 'run-in-store',
          store: place.store,
          ...stores.unload({
            ...{ query: query([]), place, format, gzips, isNew, isSingle, maxBytes, role, moments },
          }),
        };
      }
      if (maxBytes !== undefined && maxBytes < 1)
        throw new ParameterError(`"maxFileSize" is ${maxBytes}: it must be at least 1`);
      return { action: 'unload-object', table, place, gzips, isNew, maxBytes, format, query, role };
    },
  };
}

/** A warehouse that writes objects itself has its own way to write moments. @throws ParameterError */
function refuseFormats(parameters: Parameters): void {
  for (const name of ['dateFormat', 'timeFormat', 'timestampFormat'])
    if (readMomentFormat(parameters, name) !== undefined)
      throw new ParameterError(
        `"${name}" has no effect here: clear it, and unload a view whose columns are written by TO_CHAR`,
      );
}

const readMoments = (parameters: Parameters) => ({
  dateFormat: readMomentFormat(parameters, 'dateFormat'),
  timeFormat: readMomentFormat(parameters, 'timeFormat'),
  timestampFormat: readMomentFormat(parameters, 'timestampFormat'),
});

/** @param ending of a name that is not complete, unless the warehouse adds one */
function readTarget(prefix: string, parameters: Parameters, dialect: Dialect, ending: string): StorePlace {
  const access = readStoreAccess(parameters, {}, true);
  const { store, key } = readStorePlace(prefix, parameters.text(prefix), access);
  const name = parameters.text('filePrefix').trim();
  const end = parameters.yes('singleFile', false) || dialect.stores !== undefined ? '' : `_0_0_0.${ending}`;
  const folder = key === '' || key.endsWith('/') ? key : `${key}/`;
  const place = { store, key: `${folder}${name}${end}` };
  return readStorePlace('filePrefix', nameObject(place), {
    ...access,
    credentials: () => store.credentials,
  });
}

function createQuery(
  type: 'CSV' | 'JSON' | 'PARQUET',
  parameters: Parameters,
  table: string,
  dialect: Dialect,
): { format: FileFormat; query(columns: readonly TargetColumn[]): string } {
  if (type !== 'CSV') return { format: { type }, query: () => `SELECT * FROM ${table}` };
  requireLineEnds(parameters);
  const { delimiter, quote } = readSeparators(parameters, '"');
  const nullWord = parameters.rows('nullIf', 1).map((row) => readCellText(row, 0))[0] ?? '';
  const { dateFormat, timeFormat, timestampFormat } = readMoments(parameters);
  const formats = { DATE: dateFormat, TIME: timeFormat, TIMESTAMP: timestampFormat };
  const header = parameters.yes('includeHeaders', true);
  const query = (columns: readonly TargetColumn[]) => {
    const values = columns.map(({ name, type: columnType }) => {
      const kind = (['DATE', 'TIMESTAMP', 'TIME'] as const).find((each) => columnType.startsWith(each));
      const format = kind === undefined ? undefined : formats[kind];
      const column = dialect.name(name);
      if (format === undefined) return column;
      return `${dialect.user.expression(`TO_CHAR(${column}, ${dialect.literal(format)})`).sql} AS ${column}`;
    });
    return `SELECT ${values.length === 0 ? '*' : values.join(', ')} FROM ${table}`;
  };
  return { format: { type, header, delimiter, quote, nullWord }, query };
}

export const s3Unload = createObjectUnload(storeKinds.s3);
export const azureBlobStorageUnload = createObjectUnload(storeKinds.azure);
export const googleCloudStorageUnload = createObjectUnload(storeKinds.google);
