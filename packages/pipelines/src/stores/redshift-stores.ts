/** COPY from S3 and UNLOAD to S3. https://docs.aws.amazon.com/redshift/latest/dg/r_COPY.html, r_UNLOAD.html */

import { type Dialect, SqlError } from '../sql/dialect/dialect.ts';
import type { ObjectFormat } from './object-load.ts';
import { nameObject, type StorePlace } from './store-address.ts';
import {
  credentialsMark,
  type WarehouseLoad,
  type WarehouseStores,
  type WarehouseUnload,
} from './warehouse-stores.ts';

type Names = Pick<Dialect, 'name' | 'table' | 'literal'>;
type Csv = Extract<ObjectFormat, { type: 'CSV' }>;

/** Rows that may be left out. */
const mostErrors = 100_000;
const namedFaults = 1_000;

function refuse(what: string): never {
  throw new SqlError(`Redshift ${what}`);
}

export function createRedshiftStores(names: Names): WarehouseStores {
  const { name, table, literal } = names;

  function renderAccess({ store }: StorePlace, role: string | undefined): string[] {
    if (store.kind !== 's3')
      return refuse('loads from and unloads to S3 only: copy the objects to S3 before');
    if (store.endpoint !== undefined)
      return refuse(
        'reaches Amazon S3 only: clear "endpoint", or load the objects in the embedded warehouse',
      );
    const region = store.region === undefined ? [] : [`REGION AS ${literal(store.region)}`];
    if (role !== undefined)
      return [`IAM_ROLE ${/^default$/i.test(role) ? 'default' : literal(role)}`, ...region];
    if (store.credentials.from === 'machine')
      return refuse('has a role of its own, not that of the agent: set "iamRoleArn" to it, or to default');
    if (store.credentials.from === 'nobody')
      return refuse('needs credentials also for a public bucket: name them, or set "iamRoleArn"');
    return [credentialsMark, ...region];
  }

  return {
    load({ load, source, reading, role }) {
      const { place } = source;
      if (!('store' in place))
        return refuse('has no stages: clear "stage", and give the address of the objects');
      refuseLoad(load, source.pattern, reading);
      const columns = load.columns.length === 0 ? '' : ` (${load.columns.map(name).join(', ')})`;
      const parts = [
        `COPY ${table(load.target)}${columns}`,
        `FROM ${literal(nameObject(place))}`,
        ...renderAccess(place, role),
        ...renderFormat(load, literal),
        ...renderReading(load.format, reading, place.key),
        ...(load.onError.how === 'continue' ? [`MAXERROR AS ${mostErrors}`] : []),
      ];
      return {
        sql: parts.join('\n'),
        counted: 'SELECT pg_last_copy_count()',
        faults: load.onError.how === 'continue' ? listFaults('query = pg_last_copy_id()') : undefined,
        failure: listFaults('session = pg_backend_pid()'),
        notes: load.reloads
          ? []
          : ['Redshift loads all objects that begin with the prefix each time it runs'],
      };
    },
    unload({ query, place, format, gzips, isNew, isSingle, maxBytes, role }) {
      const parts = [
        `UNLOAD (${literal(query)})`,
        `TO ${literal(nameObject(place))}`,
        ...renderAccess(place, role),
        ...renderWritten({ format, gzips }, literal),
        ...(isNew ? [] : ['ALLOWOVERWRITE']),
        ...(isSingle ? ['PARALLEL OFF'] : []),
        ...(maxBytes === undefined ? [] : [`MAXFILESIZE AS ${readSize(maxBytes)} MB`]),
      ];
      return {
        sql: parts.join('\n'),
        counted: 'SELECT pg_last_unload_count()',
        faults: undefined,
        failure: undefined,
        notes: ['Redshift adds the number of the part to the name of each object, also of a single one'],
      };
    },
  };
}

const listFaults = (condition: string) =>
  `SELECT trim(filename), line_number, trim(colname), trim(raw_field_value), trim(err_reason) FROM stl_load_errors WHERE ${condition} ORDER BY starttime DESC, line_number LIMIT ${namedFaults}`;

function refuseLoad(
  { onError, purges, sizeLimit, match, format, conversion }: WarehouseLoad['load'],
  pattern: string,
  { recordEnd }: WarehouseLoad['reading'],
): void {
  if (conversion !== undefined)
    refuse(
      'loads no Avro files here: write them as CSV, JSON or Parquet, or load them in the embedded warehouse',
    );
  if (recordEnd !== undefined) refuse('ends rows with line breaks only: clear "recordDelimiter"');
  if (format.type === 'JSON' && format.stripsNulls === true)
    refuse('keeps members of JSON whose value is null: set "stripNullValues" to No');
  if (format.type === 'CSV' && format.timeFormat !== undefined)
    refuse('has no format for times of the day: clear "timeFormat"');
  if (pattern !== '' && pattern !== '.*')
    refuse('loads all objects that begin with the prefix: clear "pattern", and name a longer prefix');
  if (onError.how === 'skip-file')
    refuse('skips rows, not files: set "onError" to Abort Statement or Continue');
  if (purges) refuse('deletes no objects: set "purgeFiles" to No');
  if (sizeLimit !== undefined) refuse('has no limit of bytes: clear "sizeLimitB"');
  if (format.type === 'PARQUET' && match !== 'position')
    refuse('loads Parquet by the order of the columns: set "matchByColumnName" to None');
}

function renderFormat({ format, match }: WarehouseLoad['load'], literal: Names['literal']): string[] {
  if (format.type === 'PARQUET') return ['FORMAT AS PARQUET'];
  if (format.type === 'CSV') return renderCsv(format, literal);
  if (format.type !== 'JSON')
    return refuse('does not load this format: write the files as CSV, JSON or Parquet');
  if (format.stripsOuterArray)
    refuse(
      'loads one JSON object after the other: write the files without an array around, and set "stripOuterArray" to No',
    );
  const how = { position: 'noshred', name: 'auto ignorecase', 'name-exactly': 'auto' }[match];
  return [`FORMAT AS JSON ${literal(how)}`];
}

function renderCsv(format: Csv, literal: Names['literal']): string[] {
  const { delimiter, quote, escapeCharacter, nullWords } = format;
  if (delimiter.length !== 1) refuse('separates values by one character: change "fieldDelimiter"');
  if (nullWords.length > 1) refuse('knows one word for NULL: leave one in "nullIf"');
  if (quote !== '' && escapeCharacter !== '' && escapeCharacter !== quote)
    refuse('doubles the quote in values that are enclosed: clear "escape"');
  if (quote === '' && escapeCharacter !== '' && escapeCharacter !== '\\')
    refuse('escapes by a backslash only: change "escape"');
  const [word] = nullWords;
  return [
    ...(quote === '' ? [] : [`FORMAT AS CSV QUOTE AS ${literal(quote)}`]),
    `DELIMITER AS ${literal(delimiter)}`,
    ...(quote === '' && escapeCharacter !== '' ? ['ESCAPE'] : []),
    ...(format.skippedLines > 0 ? [`IGNOREHEADER AS ${format.skippedLines}`] : []),
    ...(format.skipsBlankLines ? ['IGNOREBLANKLINES'] : []),
    ...(word === undefined ? [] : [`NULL AS ${literal(word)}`]),
    ...(format.emptyIsNull ? ['EMPTYASNULL'] : []),
    ...(format.trims ? ['TRIMBLANKS'] : []),
    ...(format.countsCells ? [] : ['FILLRECORD']),
    ...(format.cutsTexts ? ['TRUNCATECOLUMNS'] : []),
    `DATEFORMAT AS ${literal(format.dateFormat ?? 'auto')}`,
    `TIMEFORMAT AS ${literal(format.timestampFormat ?? 'auto')}`,
  ];
}

const compressions: Readonly<Record<string, string>> = { gzip: 'GZIP', zstd: 'ZSTD' };
const endings: Readonly<Record<string, string>> = { gz: 'GZIP', zst: 'ZSTD', bz2: 'BZIP2' };
const encodings: Readonly<Record<string, string>> = {
  'utf-16le': 'UTF16LE',
  'utf-16be': 'UTF16BE',
  'iso-8859-1': 'ISO88591',
};

function renderReading(format: ObjectFormat, reading: WarehouseLoad['reading'], key: string): string[] {
  if (format.type === 'PARQUET') return [];
  const { compression, encoding, replacesInvalid } = reading;
  const word =
    compression === 'auto'
      ? endings[key.slice(key.lastIndexOf('.') + 1).toLowerCase()]
      : compressions[compression];
  if (word === undefined && compression !== 'auto' && compression !== 'none')
    refuse(`does not unpack ${compression}: set "compression" to GZIP, ZSTD or NONE`);
  const named = encoding === undefined ? undefined : encodings[encoding];
  if (encoding !== undefined && named === undefined)
    refuse('reads UTF8, UTF16LE, UTF16BE and ISO88591: change "encodingType"');
  return [
    ...(word === undefined ? [] : [word]),
    ...(named === undefined ? [] : [`ENCODING AS ${named}`]),
    ...(replacesInvalid ? ["ACCEPTINVCHARS AS '?'"] : []),
  ];
}

function renderWritten(
  { format, gzips }: Pick<WarehouseUnload, 'format' | 'gzips'>,
  literal: Names['literal'],
): string[] {
  const gzip = gzips ? ['GZIP'] : [];
  if (format.type !== 'CSV') return [`FORMAT AS ${format.type}`, ...(format.type === 'JSON' ? gzip : [])];
  const { header, delimiter, quote = '"', nullWord = '' } = format;
  if (delimiter.length !== 1) refuse('separates values by one character: change "fieldDelimiter"');
  if (quote !== '"' && quote !== '')
    refuse('encloses values by double quotes: clear "fieldOptionallyEnclosed"');
  return [
    ...(quote === '' ? [] : ['FORMAT AS CSV']),
    `DELIMITER AS ${literal(delimiter)}`,
    ...(header ? ['HEADER'] : []),
    ...(nullWord === '' ? [] : [`NULL AS ${literal(nullWord)}`]),
    ...gzip,
  ];
}

const megabyte = 1_000_000;

/** From 5 MB to 6.2 GB. */
function readSize(bytes: number): number {
  const size = Math.round(bytes / megabyte);
  return size >= 5 && size <= 6_200 ? size : refuse('writes objects of 5 MB to 6.2 GB: change "maxFileSize"');
}
