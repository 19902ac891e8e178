/**
 * COPY INTO a table, and COPY INTO an address. https://docs.snowflake.com/en/sql-reference/sql/copy-into-table,
 * copy-into-location. Each is one statement that is whole by itself.
 */
import { type Dialect, SqlError } from '../sql/dialect/dialect.ts';
import type { ObjectFormat, OnError } from './object-load.ts';
import { nameObject, type StorePlace } from './store-address.ts';
import {
  snowflakeCredentialsMark,
  type WarehouseLoad,
  type WarehouseStores,
  type WarehouseUnload,
} from './warehouse-stores.ts';

type Names = Pick<Dialect, 'name' | 'table' | 'literal'>;
type Csv = Extract<ObjectFormat, { type: 'CSV' }>;

const namedFaults = 1_000;
/** Of one object. */
const mostBytes = 5_368_709_120;

function refuse(what: string): never {
  throw new SqlError(`Snowflake ${what}`);
}

export function createSnowflakeStores({ name, table }: Names): WarehouseStores {
  return {
    load({ load, source: { place, pattern }, reading, role }) {
      const { columns, format, match, conversion, onError } = load;
      if (columns.length > 0 && match !== 'position')
        refuse('fills all columns that records have by their names: clear "loadColumns"');
      const type = conversion?.from === 'avro' ? 'AVRO' : format.type;
      const list = columns.length === 0 ? '' : ` (${columns.map(name).join(', ')})`;
      const parts = [
        `COPY INTO ${table(load.target)}${list}`,
        `FROM ${'store' in place ? quote(nameLocation(place)) : `@${table(place.reference)}`}`,
        ...('store' in place ? renderAccess(place, role) : []),
        ...(pattern === '' ? [] : [`PATTERN = ${quote(pattern)}`]),
        renderFormat(type, format, reading),
        ...(match === 'position'
          ? []
          : [`MATCH_BY_COLUMN_NAME = ${match === 'name' ? 'CASE_INSENSITIVE' : 'CASE_SENSITIVE'}`]),
        `ON_ERROR = ${renderOnError(onError)}`,
        ...(load.sizeLimit === undefined ? [] : [`SIZE_LIMIT = ${load.sizeLimit}`]),
        ...(format.type === 'CSV' && format.cutsTexts ? ['TRUNCATECOLUMNS = TRUE'] : []),
        ...(load.purges ? ['PURGE = TRUE'] : []),
        ...(load.reloads ? ['FORCE = TRUE'] : []),
      ];
      return {
        sql: parts.join('\n'),
        isWhole: true,
        counted: `SELECT COALESCE(SUM(r:rows_loaded::NUMBER), 0), COALESCE(SUM(r:errors_seen::NUMBER), 0) FROM ${readResult(1)}`,
        faults:
          onError.how === 'abort'
            ? undefined
            : `SELECT r:file::VARCHAR, r:first_error_line::VARCHAR, r:first_error_column_name::VARCHAR, NULL, r:first_error::VARCHAR || ', the first of ' || r:errors_seen::VARCHAR || ' in this object' FROM ${readResult(2)} WHERE r:errors_seen::NUMBER > 0 ORDER BY 1 LIMIT ${namedFaults}`,
        failure: undefined,
        notes: [],
      };
    },
    unload({ query, place, format, gzips, isNew, isSingle, maxBytes, role, moments }) {
      // JSON is written from one column of objects, and Parquet without a header has columns without their names.
      const rows = format.type === 'JSON' ? `SELECT OBJECT_CONSTRUCT_KEEP_NULL(*) FROM (${query})` : query;
      const parts = [
        `COPY INTO ${quote(nameLocation(place))}`,
        `FROM (${rows})`,
        ...renderAccess(place, role),
        renderWritten({ format, gzips, moments }),
        ...(format.type === 'PARQUET' || (format.type === 'CSV' && format.header) ? ['HEADER = TRUE'] : []),
        ...(isNew ? [] : ['OVERWRITE = TRUE']),
        ...(isSingle ? ['SINGLE = TRUE'] : []),
        ...(isSingle || maxBytes !== undefined ? [`MAX_FILE_SIZE = ${readSize(maxBytes)}`] : []),
      ];
      return {
        sql: parts.join('\n'),
        isWhole: true,
        counted: `SELECT COALESCE(SUM(r:rows_unloaded::NUMBER), 0), 0 FROM ${readResult(1)}`,
        faults: undefined,
        failure: undefined,
        notes: isSingle ? [] : ['Snowflake adds the number of the part to the name of each object'],
      };
    },
  };
}

/** What one of the last statements answered, as objects `r`: without an object it has other columns. */
const readResult = (ago: number) =>
  `(SELECT OBJECT_CONSTRUCT(*) AS r FROM TABLE(RESULT_SCAN(LAST_QUERY_ID(-${ago}))))`;

const controls: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** A text, with control characters as Snowflake's options describe them. */
function quote(text: string): string {
  if (text.includes('\0')) throw new SqlError('a name or a value contains a NUL character: remove it');
  const escaped = [...text.replaceAll('\\', '\\\\').replaceAll("'", "''")].map((character) =>
    character < ' '
      ? (controls[character] ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`)
      : character,
  );
  return `'${escaped.join('')}'`;
}

const nameLocation = (place: StorePlace) => nameObject(place).replace(/^gs:/, 'gcs:');

function renderAccess({ store }: StorePlace, integration: string | undefined): string[] {
  if (store.kind === 'sftp')
    return refuse(
      'reaches no SFTP servers: copy the files to an object store by data-transfer-object before',
    );
  if (store.endpoint !== undefined)
    return refuse(
      'reaches servers with an address of their own by stages only: clear "endpoint", and name the stage in "stage"',
    );
  if (integration !== undefined) return [`STORAGE_INTEGRATION = ${readIdentifier(integration)}`];
  const { from } = store.credentials;
  if (from === 'nobody') return [];
  if (from === 'machine')
    return refuse(
      'has no access to the role of the agent: set "authentication" to Storage Integration, and name it in "storageIntegration"',
    );
  if (store.kind === 'gcs')
    return refuse(
      'reaches Google Storage by an integration only: set "authentication" to Storage Integration, and name it in "storageIntegration"',
    );
  return [`CREDENTIALS = (${snowflakeCredentialsMark})`];
}

/** A name that is not in double quotes is in upper case there. */
function readIdentifier(text: string): string {
  if (/^(?:[A-Za-z_][\w$]{0,254}|"(?:[^"\0]|""){1,255}")$/.test(text)) return text;
  throw new SqlError(
    `"storageIntegration" is ${JSON.stringify(text)}: write the name of the integration, such as LAKE, in double quotes if it has other characters than letters, digits and _`,
  );
}

function renderOnError(onError: OnError): string {
  if (onError.how === 'abort') return 'ABORT_STATEMENT';
  if (onError.how === 'continue') return 'CONTINUE';
  if (onError.unit === 'percent') return `'SKIP_FILE_${onError.most}%'`;
  return onError.most === 1 ? 'SKIP_FILE' : `SKIP_FILE_${onError.most}`;
}

const writeList = (texts: readonly string[]) => `(${texts.map(quote).join(', ')})`;
const writeChoice = (character: string) => (character === '' ? 'NONE' : quote(character));

function renderFormat(type: string, format: ObjectFormat, reading: WarehouseLoad['reading']): string {
  const options = [
    `TYPE = ${type}`,
    ...renderReading(type, reading),
    ...(format.type === 'CSV' ? renderCsv(format) : []),
    ...(format.type === 'JSON' && type === 'JSON' && format.stripsOuterArray
      ? ['STRIP_OUTER_ARRAY = TRUE']
      : []),
    ...(format.type === 'JSON' && format.stripsNulls ? [renderNulls(type)] : []),
  ];
  return `FILE_FORMAT = (${options.join(' ')})`;
}

const renderNulls = (type: string): string =>
  type === 'JSON'
    ? 'STRIP_NULL_VALUES = TRUE'
    : refuse('keeps members of Avro whose value is null: set "stripNullValues" to No');

/** All that differs from the defaults of Snowflake, which escapes by backslashes and takes `\N` for NULL. */
function renderCsv(format: Csv): string[] {
  const { quote: enclosing, escapeCharacter, nullWords } = format;
  if (!['', '"', "'"].includes(enclosing))
    refuse('encloses values by single or double quotes: change "fieldOptionallyEnclosed"');
  // Doubling the quote is always possible.
  const escaping = escapeCharacter === enclosing ? '' : escapeCharacter;
  return [
    `FIELD_DELIMITER = ${quote(format.delimiter)}`,
    ...(format.skippedLines > 0 ? [`SKIP_HEADER = ${format.skippedLines}`] : []),
    ...(format.skipsBlankLines ? ['SKIP_BLANK_LINES = TRUE'] : []),
    ...renderMoments(format),
    ...(enclosing === '' ? [] : [`ESCAPE = ${writeChoice(escaping)}`]),
    `ESCAPE_UNENCLOSED_FIELD = ${writeChoice(escaping)}`,
    ...(format.trims ? ['TRIM_SPACE = TRUE'] : []),
    `FIELD_OPTIONALLY_ENCLOSED_BY = ${writeChoice(enclosing)}`,
    `NULL_IF = ${writeList(nullWords)}`,
    ...(format.countsCells ? [] : ['ERROR_ON_COLUMN_COUNT_MISMATCH = FALSE']),
    ...(format.emptyIsNull ? [] : ['EMPTY_FIELD_AS_NULL = FALSE']),
  ];
}

function renderMoments({ dateFormat, timeFormat, timestampFormat }: WarehouseUnload['moments']): string[] {
  const options = { DATE_FORMAT: dateFormat, TIME_FORMAT: timeFormat, TIMESTAMP_FORMAT: timestampFormat };
  return Object.entries(options).flatMap(([option, format]) =>
    format === undefined ? [] : [`${option} = ${quote(format)}`],
  );
}

const compressions: Readonly<Record<string, string>> = {
  ...{ auto: 'AUTO', none: 'NONE', gzip: 'GZIP', zstd: 'ZSTD', brotli: 'BROTLI' },
  ...{ deflate: 'DEFLATE', 'raw-deflate': 'RAW_DEFLATE' },
};

/** By labels of the Encoding Standard. */
const encodings: Readonly<Record<string, string>> = {
  ...{ big5: 'BIG5', 'euc-jp': 'EUCJP', 'euc-kr': 'EUCKR', gb18030: 'GB18030', shift_jis: 'SHIFTJIS' },
  ...{ 'koi8-r': 'KOI8R', 'iso-2022-jp': 'ISO2022JP', 'utf-16le': 'UTF16LE', 'utf-16be': 'UTF16BE' },
  ...Object.fromEntries([1, 2, 5, 6, 7, 8, 9, 15].map((each) => [`iso-8859-${each}`, `ISO8859${each}`])),
  ...Object.fromEntries(
    Array.from({ length: 7 }, (_, index) => [`windows-125${index}`, `WINDOWS125${index}`]),
  ),
};

function renderReading(
  type: string,
  { compression, encoding, replacesInvalid, recordEnd }: WarehouseLoad['reading'],
): string[] {
  const isParquet = type === 'PARQUET';
  const word = isParquet && !['auto', 'none'].includes(compression) ? undefined : compressions[compression];
  if (word === undefined)
    return refuse(
      isParquet
        ? 'reads Parquet as it is compressed inside: set "compression" to AUTO'
        : `does not unpack ${compression}: unpack the objects before`,
    );
  const named = encoding === undefined ? undefined : encodings[encoding];
  if (encoding !== undefined && (named === undefined || type !== 'CSV'))
    refuse(
      type === 'CSV'
        ? 'does not know this encoding: change "encodingType", or write the files in UTF8'
        : `reads ${type} in UTF8: clear "encodingType"`,
    );
  return [
    ...(isParquet ? [] : [`COMPRESSION = ${word}`]),
    ...(recordEnd === undefined ? [] : [`RECORD_DELIMITER = ${quote(recordEnd)}`]),
    ...(named === undefined ? [] : [`ENCODING = ${quote(named)}`]),
    ...(replacesInvalid ? ['REPLACE_INVALID_CHARACTERS = TRUE'] : []),
  ];
}

function renderWritten({
  format,
  gzips,
  moments,
}: Pick<WarehouseUnload, 'format' | 'gzips' | 'moments'>): string {
  if (format.type === 'PARQUET')
    return gzips
      ? refuse('compresses Parquet inside: set "compression" to AUTO')
      : 'FILE_FORMAT = (TYPE = PARQUET)';
  const compression = `COMPRESSION = ${gzips ? 'GZIP' : 'NONE'}`;
  if (format.type === 'JSON') return `FILE_FORMAT = (TYPE = JSON ${compression})`;
  const { delimiter, quote: enclosing = '"', nullWord = '' } = format;
  if (!['', '"', "'"].includes(enclosing))
    refuse('encloses values by single or double quotes: change "fieldOptionallyEnclosed"');
  const options = [
    `TYPE = CSV ${compression}`,
    `FIELD_DELIMITER = ${quote(delimiter)}`,
    ...renderMoments(moments),
    'ESCAPE_UNENCLOSED_FIELD = NONE',
    `FIELD_OPTIONALLY_ENCLOSED_BY = ${writeChoice(enclosing)}`,
    `NULL_IF = ${writeList([nullWord])}`,
    ...(enclosing === '' ? ['EMPTY_FIELD_AS_NULL = FALSE'] : []),
  ];
  return `FILE_FORMAT = (${options.join(' ')})`;
}

function readSize(bytes = mostBytes): number {
  return bytes >= 1 && bytes <= mostBytes
    ? bytes
    : refuse('writes objects of at most 5 GB: change "maxFileSize"');
}
