/** Loads a file from an address, the artifact or the agent's files folder into a table. */
import { ParameterError, type Parameters, readCellText } from '../expressions/parameters.ts';
import { findNearestName } from '../format/nearest.ts';
import { type Dialect, type FileColumn, SqlError } from '../sql/dialect/dialect.ts';
import { describeConverted, type FileConversion } from '../stores/conversion.ts';
import type { FileCreation } from '../stores/file-target.ts';
import type { FileSource } from '../stores/object-load.ts';
import { isStoreAddress } from '../stores/store-address.ts';
import type { ConvertedFile, OrchestrationDefinition } from './definition/component.ts';
import {
  choiceParameter,
  placeParameters,
  rowsParameter,
  textParameter,
} from './definition/declared-parameters.ts';
import { readTableReference } from './definition/plan-parts.ts';
import { fileFormatParameters, isFileAddress, readFileFormat } from './file-format.ts';
import { readCellRange } from './sheet-parameters.ts';

const fileTypes = { CSV: 'CSV', JSON: 'JSON', PARQUET: 'PARQUET', AVRO: 'AVRO', XLSX: 'XLSX' } as const;

export const fileLoad: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  embeddedOnly: ['POSTGRES'],
  elsewhere: 'copy the file to an object store by data-transfer-object, and load it there by s3-load',
  about:
    'Loads a file from the version, from the agent’s files folder, or from an https address into a table.',
  group: 'files',
  parameters: {
    source: textParameter(
      'The path of the file, or its address, such as https://example.com/orders.csv. The agent downloads it without credentials, up to 10 GiB in 4 hours, unpacks gzip and zstd, and follows up to five redirects: an API that needs credentials has a connector profile. The address must be public and https, unless the setting HEADGATE_AGENT_EGRESS_ALLOW of the agent names the host or its range.',
      { required: true, file: true, address: true },
    ),
    ...fileFormatParameters,
    fileType: choiceParameter('The format of the file.', Object.keys(fileTypes), {
      required: true,
    }),
    sheet: textParameter('The sheet of an XLSX file. Empty: the first.'),
    cellRange: textParameter(
      'The cells of an XLSX file, such as A2:F100, A:F, or A2 for all from there. Empty: all.',
    ),
    targetTable: textParameter('The table.', { required: true }),
    ...placeParameters,
    createReplace: choiceParameter(
      'Replace: makes the table again, from the file. Create: fails if the table exists. Create if not exists: loads nothing if it exists. Append: adds rows to a table that exists, by the names of the columns.',
      ['Replace', 'Create', 'Create if not exists', 'Append'],
      { standard: 'Replace' },
    ),
    columns: rowsParameter(
      'The columns: all of a CSV file in their order; the header may have other names, but not the same names in another order; of a JSON or Parquet file those with these names; in JSON, case matters, and at least one record must have the name. A NUMBER without size and precision has no fraction. None: the columns are those of the file.',
      ['name', 'type', 'size?', 'precision?'],
    ),
  },
  example: `type: file-load
parameters:
  source: data/orders.csv
  fileType: CSV
  targetTable: orders`,
  plan({ parameters, dialect }) {
    const conversion = readConversion(parameters);
    const reference = readTableReference(parameters, 'targetTable');
    const table = dialect.table(reference);
    // What reads the file.
    const reading = dialect.copy?.between ?? dialect;
    const creations = {
      Replace: (query: string) => `CREATE OR REPLACE TABLE ${table} AS\n${query}`,
      Create: (query: string) => `CREATE TABLE ${table} AS\n${query}`,
      'Create if not exists': (query: string) => `CREATE TABLE IF NOT EXISTS ${table} AS\n${query}`,
      Append: (query: string) => dialect.insertRows(table, query, undefined),
    };
    const create = parameters.choice('createReplace', creations, creations.Replace);
    const words: Readonly<Record<string, FileCreation>> = {
      ...{ Replace: 'replace', Create: 'create', 'Create if not exists': 'if-missing', Append: 'append' },
    };
    const columns = parameters.rows('columns', 2).map((column) => ({
      name: readCellText(column, 0),
      type: dialect.type({
        type: readCellText(column, 1),
        size: readCellText(column, 2),
        precision: readCellText(column, 3),
      }),
    }));
    const before = dialect.makeSchema(reference);
    if (conversion !== undefined) {
      if (dialect.copy !== undefined)
        throw new ParameterError(
          `"fileType" ${parameters.text('fileType')} is for projects of the warehouse DUCKDB: use CSV, JSON or Parquet`,
        );
      return {
        action: 'load-converted',
        source: readConvertedSource(parameters),
        conversions: [conversion],
        plan([file]) {
          const chosen = chooseConverted(file, columns);
          const lines = { type: 'JSON', lineBytes: file?.lineBytes ?? 0 } as const;
          const statement = create(dialect.readFile(file?.path ?? '', lines, chosen));
          return { statements: [...before, statement], counted: before.length };
        },
      };
    }
    const format = readFileFormat(parameters);
    return {
      action: 'load-file',
      source: parameters.text('source'),
      target: reference,
      creation: parameters.choice('createReplace', words, 'replace'),
      format,
      columns,
      before,
      statement: (path) => create(dialect.readFile(path, format, columns)),
      checks: [
        {
          query: (path) => reading.readFileSize(path),
          // It would replace a table by one without columns.
          findFault: ([bytes]) =>
            bytes === '0' ? 'it is empty; it needs at least a header or a row' : undefined,
        },
        ...(format.type === 'CSV' && format.header ? [checkHeader(format.delimiter, columns, reading)] : []),
        ...(format.type === 'JSON' && columns.length > 0 ? [checkMembers(columns, reading)] : []),
      ],
    };
  },
};

/** Undefined for a format that the warehouse reads. @throws ParameterError */
function readConversion(parameters: Parameters): FileConversion | undefined {
  const type = parameters.choice('fileType', fileTypes);
  if (type === 'AVRO') return { from: 'avro' };
  if (type !== 'XLSX') return undefined;
  return {
    from: 'xlsx',
    sheet: parameters.optionalText('sheet'),
    range: readCellRange(parameters, 'cellRange'),
    hasHeader: parameters.yes('header', true),
  };
}

function readConvertedSource(parameters: Parameters): FileSource {
  const source = parameters.text('source');
  if (isStoreAddress(source))
    throw new ParameterError(
      `"source" is ${source}: load an Avro file of a store by s3-load, and an XLSX file by excel-query`,
    );
  return isFileAddress(source) ? { address: source } : { path: source };
}

/** @throws SqlError about a column that the file does not have */
function chooseConverted(
  file: ConvertedFile | undefined,
  columns: readonly FileColumn[],
): readonly FileColumn[] {
  const known = file?.columns ?? [];
  if (columns.length === 0) return describeConverted(known);
  const fault = findMissingMember(
    known.map(({ name }) => name),
    columns.map(({ name }) => name),
  );
  if (fault !== undefined) throw new SqlError(fault);
  return columns;
}

function checkHeader(delimiter: string, columns: readonly FileColumn[], dialect: Dialect) {
  const names = columns.map(({ name }) => name);
  return {
    query: (path: string) => dialect.readFirstLine(path, delimiter),
    findFault: (header: readonly string[]) => findHeaderFault(header, names, delimiter),
  };
}

function checkMembers(columns: readonly FileColumn[], dialect: Dialect) {
  const names = columns.map(({ name }) => name);
  return {
    query: (path: string) => dialect.readJsonMembers(path),
    findFault: ([members = '']: readonly string[]) =>
      members === '' ? undefined : findMissingMember(JSON.parse(members), names),
  };
}

const quote = (text: string) => `"${text}"`;

/** Characters that people separate cells by. */
const separators = [',', ';', '\t', '|'];

/**
 * What is wrong with the header, or undefined. The columns of a CSV file are taken in their order: with other
 * names in its header that is a choice, but with the same names in another order the values go astray.
 * @param columns the names that the component gives; none if it gives none
 */
function findHeaderFault(
  header: readonly string[],
  columns: readonly string[],
  delimiter: string,
): string | undefined {
  const [only = ''] = header;
  const separator = separators.find((each) => each !== delimiter && only.includes(each));
  if (header.length === 1 && columns.length === 0 && separator !== undefined) {
    const shown = separator === '\t' ? 'tabs' : quote(separator);
    return `the header has one column, ${quote(only)}, with ${shown} in its name: set the delimiter of the file, or name this column`;
  }
  const [found, named] = [header, columns].map((names) => names.map((each) => each.trim().toLowerCase()));
  if (found === undefined || named === undefined) return undefined;
  const isSame = (left: readonly string[], right: readonly string[]) =>
    left.length === right.length && left.every((each, index) => each === right[index]);
  if (isSame(found, named) || !isSame(found.toSorted(), named.toSorted())) return undefined;
  return `its header is ${header.map(quote).join(', ')}, but the columns are named in the order ${columns.map(quote).join(', ')}: name them in the order of the file`;
}

/** Names in a message. */
const shownLimit = 10;

/**
 * What is wrong, or undefined. A column that no record has would be NULL in all rows: usually its name is
 * misspelled, or has another case.
 */
function findMissingMember(members: readonly string[], columns: readonly string[]): string | undefined {
  const missing = columns.find((column) => !members.includes(column));
  if (missing === undefined) return undefined;
  const nearest = findNearestName(missing, members);
  const shown = members
    .slice(0, shownLimit)
    .map((name) => JSON.stringify(name))
    .join(', ');
  const hint =
    nearest === undefined
      ? `its records have ${shown}${members.length > shownLimit ? ', …' : ''}`
      : `did you mean ${JSON.stringify(nearest)}?`;
  return `no record has the member ${JSON.stringify(missing)}; ${hint}`;
}
