/** The parameters of files that components load from object stores. */
import { ParameterError, type Parameters, readCellText } from '../expressions/parameters.ts';
import type { CsvFormat } from '../sql/dialect/dialect.ts';
import type {
  ColumnMatch,
  Compression,
  JsonRecords,
  ObjectFormat,
  ObjectReading,
  OnError,
} from '../stores/object-load.ts';
import {
  choiceParameter,
  numberParameter,
  rowsParameter,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';

const none = 'Empty or NONE: nothing.';

export const csvParameters = {
  recordDelimiter: textParameter(
    'What ends a row of a CSV file: a line feed, a carriage return or both. Or up to 8 other characters, if values are neither enclosed nor escaped, and have no line breaks.',
  ),
  fieldDelimiter: textParameter(
    'What separates the values of a row: up to four characters. `\\t` is a tab, `\\x01` a character by its code.',
    { standard: ',' },
  ),
  skipHeader: numberParameter('Lines before the first row.', { standard: '0' }),
  skipBlankLines: yesNoParameter('Whether rows without any value are left out.', 'No'),
  dateFormat: textParameter('The format of dates, such as DD/MM/YYYY. Empty or AUTO: the usual ones.'),
  timeFormat: textParameter('The format of times. Empty or AUTO: the usual ones.'),
  timestampFormat: textParameter('The format of timestamps. Empty or AUTO: the usual ones.'),
  escape: textParameter(`The character before a quote, or a delimiter, that is a part of a value. ${none}`),
  escapeUnenclosedField: textParameter(
    'The same in values that are not enclosed. It must be that of `escape` if values are enclosed by a character.',
  ),
  trimSpace: yesNoParameter('Whether blanks around values are removed.', 'No', {
    otherNames: ['trimSpace1', 'trimSpace2'],
  }),
  fieldOptionallyEnclosed: textParameter(
    `The character that encloses values; doubled, it is a part of one. ${none}`,
  ),
  nullIf: rowsParameter('Values that mean NULL.', ['value'], { otherNames: ['nullIf1', 'nullIf2'] }),
  errorOnColumnCountMismatch: yesNoParameter(
    'Whether a row with more or fewer values than columns is a fault. No: further values are left out, missing ones are NULL.',
    'Yes',
  ),
  emptyFieldAsNull: yesNoParameter(
    'Whether an empty value that is not enclosed means NULL. No: an empty text.',
    'Yes',
  ),
  replaceInvalidCharacters: yesNoParameter(
    'Whether bytes that are no character are replaced by U+FFFD. No: they are a fault.',
    'No',
    { otherNames: ['ignoreUtf8Errors', 'ignoreUtf8Errors1'] },
  ),
  encodingType: textParameter('The encoding of the file, such as UTF8, ISO88591 or WINDOWS1252.', {
    standard: 'UTF8',
  }),
  truncateColumns: yesNoParameter(
    'Whether a text that is longer than its column is cut. No: it is a fault.',
    'No',
  ),
};

export const jsonParameters = {
  stripOuterArray: yesNoParameter('Whether each element of a JSON file that is an array is a row.', 'No'),
  stripNullValues: yesNoParameter('Whether members of JSON whose value is null are removed.', 'No'),
  matchByColumnName: choiceParameter(
    'Whether members of JSON, Parquet or Avro go to the columns with their names. None: each record goes to a single column of the type VARIANT.',
    ['None', 'Case Insensitive', 'Case Sensitive'],
    { standard: 'None' },
  ),
};

export const objectFormatParameters = {
  fileType: choiceParameter('The format of the files.', ['CSV', 'JSON', 'PARQUET', 'AVRO'], {
    standard: 'CSV',
  }),
  compression: choiceParameter(
    'How the files are compressed. AUTO: their first bytes say so. ZIP: each file in the archive is loaded.',
    ['AUTO', 'NONE', 'GZIP', 'ZSTD', 'BROTLI', 'DEFLATE', 'RAW_DEFLATE', 'ZIP'],
    { standard: 'AUTO' },
  ),
  ...csvParameters,
  ...jsonParameters,
};

export const onErrorParameters = {
  onError: choiceParameter(
    'What to do if a row does not fit. Abort Statement: nothing is loaded. Continue: the row is left out, and named. Skip File: nothing of the file is loaded.',
    ['Abort Statement', 'Continue', 'Skip File', 'Skip File When n Errors', 'Skip File When n% Errors'],
    { standard: 'Abort Statement' },
  ),
  n: numberParameter('How many faults, or which percentage of the rows, make a file be skipped.'),
};

/** @throws ParameterError */
export function readObjectFormat(parameters: Parameters): ObjectFormat {
  const refuse = (word: string): never => {
    throw new ParameterError(
      `"fileType" is ${word}, which is not supported: write the files as CSV, JSON, PARQUET or AVRO`,
    );
  };
  const type = parameters.choice(
    'fileType',
    { CSV: 'CSV', JSON: 'JSON', PARQUET: 'PARQUET', AVRO: 'AVRO', ORC: 'ORC', XML: 'XML' } as const,
    'CSV',
  );
  if (type === 'ORC' || type === 'XML') return refuse(type);
  if (type === 'CSV') return { type, ...readCsvFormat(parameters) };
  // The agent writes a line of JSON for each row.
  if (type === 'AVRO')
    return {
      ...{ type: 'JSON', isByLine: true, stripsOuterArray: false },
      stripsNulls: parameters.yes('stripNullValues', false),
    };
  if (type !== 'JSON') return { type };
  return {
    type,
    stripsOuterArray: parameters.yes('stripOuterArray', false),
    stripsNulls: parameters.yes('stripNullValues', false),
  };
}

/** @throws ParameterError */
export function readObjectReading(parameters: Parameters): ObjectReading {
  const compressions: Readonly<Record<string, Compression>> = {
    ...{ AUTO: 'auto', NONE: 'none', GZIP: 'gzip', ZSTD: 'zstd', BROTLI: 'brotli' },
    ...{ DEFLATE: 'deflate', RAW_DEFLATE: 'raw-deflate', ZIP: 'zip' },
  };
  const recordEnd = readRecordEnd(parameters);
  return {
    ...(recordEnd === undefined ? {} : { recordEnd }),
    compression: parameters.choice('compression', compressions, 'auto'),
    encoding: readEncoding(parameters),
    replacesInvalid: parameters.yes('replaceInvalidCharacters', false),
  };
}

/**
 * What the agent does so that the warehouse reads a record of JSON from each line.
 *
 * @param readsMembers whether the warehouse takes values out of the records
 */
export function planRecords(
  format: ObjectFormat,
  readsMembers: boolean,
): { format: ObjectFormat; records?: JsonRecords } {
  if (format.type !== 'JSON' || format.isByLine === true) return { format };
  const { stripsOuterArray, stripsNulls } = format;
  return {
    format: { ...format, isByLine: true, stripsOuterArray: false },
    records: { stripsOuterArray, keepsDigits: readsMembers || stripsNulls },
  };
}

/** @throws ParameterError */
export function readColumnMatch(parameters: Parameters): ColumnMatch {
  const words = {
    None: 'position',
    'Case Insensitive': 'name',
    CASE_INSENSITIVE: 'name',
    'Case Sensitive': 'name-exactly',
    CASE_SENSITIVE: 'name-exactly',
  } as const;
  return parameters.choice<ColumnMatch>('matchByColumnName', words, 'position');
}

/** @throws ParameterError */
export function readOnError(parameters: Parameters): OnError {
  const words = {
    'Abort Statement': 'abort',
    ABORT_STATEMENT: 'abort',
    Continue: 'continue',
    'Skip File': 'skip',
    SKIP_FILE: 'skip',
    'Skip File When n Errors': 'rows',
    'Skip File When n% Errors': 'percent',
  } as const;
  const word = parameters.choice('onError', words, 'abort');
  if (word === 'abort' || word === 'continue') return { how: word };
  if (word === 'skip') return { how: 'skip-file', most: 1, unit: 'rows' };
  const most = parameters.integer('n');
  if (most < 1 || (word === 'percent' && most > 100))
    throw new ParameterError(
      `"n" is ${most}: it must be at least 1${word === 'percent' ? ' and at most 100' : ''}`,
    );
  return { how: 'skip-file', most, unit: word };
}

/** @throws ParameterError */
export function readSeparators(
  parameters: Parameters,
  quoteOtherwise: string,
): { delimiter: string; quote: string } {
  const delimiter = readDelimiter(parameters);
  const isAbsent = parameters.optionalText('fieldOptionallyEnclosed') === undefined;
  const quote = isAbsent ? quoteOtherwise : readCharacter(parameters, 'fieldOptionallyEnclosed');
  if (quote !== '' && delimiter.includes(quote))
    throw new ParameterError(
      `"fieldOptionallyEnclosed" is ${JSON.stringify(quote)}, which is in the delimiter too`,
    );
  return { delimiter, quote };
}

function readCsvFormat(parameters: Parameters): CsvFormat {
  const { delimiter, quote } = readSeparators(parameters, '');
  const escapeCharacter = readCharacter(parameters, 'escape');
  const unenclosed = readCharacter(parameters, 'escapeUnenclosedField');
  const recordEnd = readRecordEnd(parameters);
  if (recordEnd !== undefined && `${quote}${escapeCharacter}${unenclosed}` !== '')
    throw new ParameterError(
      `"recordDelimiter" is ${JSON.stringify(recordEnd)}, and values are enclosed or escaped, in which it could stand too: clear fieldOptionallyEnclosed, escape and escapeUnenclosedField, or end rows with \\n`,
    );
  if (recordEnd !== undefined && (delimiter.includes(recordEnd) || recordEnd.includes(delimiter)))
    throw new ParameterError(
      `"recordDelimiter" is ${JSON.stringify(recordEnd)}, and "fieldDelimiter" ${JSON.stringify(delimiter)}: one must not be in the other`,
    );
  if (unenclosed !== '' && quote !== '' && unenclosed !== escapeCharacter)
    throw new ParameterError(
      `"escapeUnenclosedField" is ${JSON.stringify(unenclosed)}, and values are enclosed by ${quote}: set "escape" to the same character, or clear it`,
    );
  if (escapeCharacter !== '' && delimiter.includes(escapeCharacter))
    throw new ParameterError(`"escape" is ${JSON.stringify(escapeCharacter)}, which is in the delimiter too`);
  const skippedLines = parameters.optionalInteger('skipHeader') ?? 0;
  if (skippedLines < 0) throw new ParameterError(`"skipHeader" is ${skippedLines}: it must be 0 or more`);
  return {
    delimiter,
    quote,
    escapeCharacter: quote === '' && escapeCharacter === '' ? unenclosed : escapeCharacter,
    skippedLines,
    nullWords: parameters.rows('nullIf', 1).map((row) => decodeEscapes(readCellText(row, 0))),
    emptyIsNull: parameters.yes('emptyFieldAsNull', true),
    trims: parameters.yes('trimSpace', false),
    countsCells: parameters.yes('errorOnColumnCountMismatch', true),
    cutsTexts: parameters.yes('truncateColumns', false),
    skipsBlankLines: parameters.yes('skipBlankLines', false),
    dateFormat: readMomentFormat(parameters, 'dateFormat'),
    timeFormat: readMomentFormat(parameters, 'timeFormat'),
    timestampFormat: readMomentFormat(parameters, 'timestampFormat'),
  };
}

/** Undefined for the usual ones. @throws ParameterError */
export function readMomentFormat(parameters: Parameters, name: string): string | undefined {
  const format = parameters.optionalText(name)?.trim();
  return format === undefined || /^(?:auto)?$/i.test(format) ? undefined : format;
}

const lineEnds = ['\n', '\r', '\r\n'];
const recordEndLimit = 8;

/** What ends rows, if it is no line break. @throws ParameterError */
function readRecordEnd(parameters: Parameters): string | undefined {
  const text = parameters.optionalText('recordDelimiter');
  if (text === undefined || /^(?:none|auto|newline)$/i.test(text.trim())) return undefined;
  const end = decodeEscapes(text);
  if (lineEnds.includes(end)) return undefined;
  if (Buffer.byteLength(end) <= recordEndLimit && !end.includes('\0')) return end;
  throw new ParameterError(
    `"recordDelimiter" is ${JSON.stringify(text)}: it must have at most ${recordEndLimit} bytes, such as \\n`,
  );
}

/** @throws ParameterError */
export function requireLineEnds(parameters: Parameters): void {
  const end = readRecordEnd(parameters);
  if (end !== undefined)
    throw new ParameterError(
      `"recordDelimiter" is ${JSON.stringify(end)}, which is not supported: rows must end with \\n, \\r or \\r\\n`,
    );
}

const delimiterLimit = 4;

function readDelimiter(parameters: Parameters): string {
  const text = decodeEscapes(parameters.optionalText('fieldDelimiter') ?? ',');
  const bytes = Buffer.byteLength(text);
  if (bytes >= 1 && bytes <= delimiterLimit && !/[\n\r\0]/.test(text)) return text;
  throw new ParameterError(
    `"fieldDelimiter" is ${JSON.stringify(text)}: it must have from 1 to ${delimiterLimit} bytes, and no line break`,
  );
}

/** '' for none. */
function readCharacter(parameters: Parameters, name: string): string {
  const text = parameters.optionalText(name) ?? '';
  if (/^(?:none)?$/i.test(text.trim())) return '';
  const character = decodeEscapes(text);
  if (character.length === 1 && character < '\x7f' && !/[\n\r\0]/.test(character)) return character;
  throw new ParameterError(
    `"${name}" is ${JSON.stringify(text)}: it must be one character of ASCII, or NONE`,
  );
}

const escapes: Readonly<Record<string, string>> = {
  '\\t': '\t',
  '\\n': '\n',
  '\\r': '\r',
  '\\\\': '\\',
  "\\'": "'",
  '\\"': '"',
};

/** A text with the escapes of the vendor's literals: `\t`, `\\`, `\x01`, `\001`. A single backslash is one. */
function decodeEscapes(text: string): string {
  return text.replaceAll(/\\(?:x[0-9a-f]{2}|[0-7]{3}|[tnr\\'"])/gi, (found) => {
    const known = escapes[found];
    if (known !== undefined) return known;
    const digits = found.slice(found[1] === 'x' || found[1] === 'X' ? 2 : 1);
    return String.fromCharCode(Number.parseInt(digits, digits.length === 2 ? 16 : 8));
  });
}

const utf8 = ['utf8', 'utf-8', ''];
/** Names of the vendor in the Encoding Standard. */
const encodings: Readonly<Record<string, string>> = {
  ...{ big5: 'big5', eucjp: 'euc-jp', euckr: 'euc-kr', gb18030: 'gb18030', shiftjis: 'shift_jis' },
  ...{ koi8r: 'koi8-r', iso2022jp: 'iso-2022-jp', utf16: 'utf-16le', utf16le: 'utf-16le' },
  ...{ utf16be: 'utf-16be', gbk: 'gbk', macintosh: 'macintosh', ibm866: 'ibm866' },
  ...Object.fromEntries(
    Array.from({ length: 16 }, (_, index) => [`iso8859${index + 1}`, `iso-8859-${index + 1}`]),
  ),
  ...Object.fromEntries(
    Array.from({ length: 9 }, (_, index) => [`windows125${index}`, `windows-125${index}`]),
  ),
};

function readEncoding(parameters: Parameters): string | undefined {
  const text = parameters.optionalText('encodingType')?.trim().toLowerCase() ?? '';
  if (utf8.includes(text)) return undefined;
  const label = encodings[text.replaceAll(/[-_]/g, '')];
  if (label !== undefined) return label;
  throw new ParameterError(
    `"encodingType" is ${JSON.stringify(text)}, which is not known: use UTF8, UTF16, ISO88591, WINDOWS1252, SHIFTJIS, GB18030 or another name of the Encoding Standard`,
  );
}
