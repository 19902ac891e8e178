/** Loads sheets of a workbook into a table, which it replaces. */
import { ParameterError, type Parameters } from '../expressions/parameters.ts';
import { type Dialect, SqlError } from '../sql/dialect/dialect.ts';
import { tokenize } from '../sql/tokens/tokens.ts';
import { describeConverted, type FileConversion } from '../stores/conversion.ts';
import type { FileSource } from '../stores/object-load.ts';
import { isStoreAddress, readStorePlace } from '../stores/store-address.ts';
import type { ConvertedFile, OrchestrationDefinition } from './definition/component.ts';
import { renderConditions } from './definition/condition-sql.ts';
import {
  choiceParameter,
  conditionCells,
  namesParameter,
  numberParameter,
  placeParameters,
  rowsParameter,
  sqlParameter,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';
import { readTableReference } from './definition/plan-parts.ts';
import { isFileAddress } from './file-format.ts';
import { readCellRange } from './sheet-parameters.ts';
import { readStoreAccess, storeParameters } from './store-parameters.ts';

export const excelQuery: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  embeddedOnly: true,
  about:
    'Loads a sheet of an XLSX file, or a query over its sheets, into a table, which it replaces. Rows without any value are left out. Dates and times are numbers with a format of dates in the file. The values of formulas are those that were saved with the file. [XLSX files](../../stores.md#xlsx-files) says more.',
  group: 'files',
  parameters: {
    basicAdvancedMode: choiceParameter(
      'Basic: a sheet. Advanced: a query, in which the sheets are tables.',
      ['Basic', 'Advanced'],
      { standard: 'Basic' },
    ),
    storageType: textParameter('Where the file is. The address says it too.'),
    storageUrl: textParameter(
      'The file: a path of the version or the agent’s files folder, an https address, or an address such as s3://bucket/in/a.xlsx.',
      { required: true },
    ),
    containsHeaderRow: yesNoParameter(
      'Whether the first row has the names of the columns. No: they are A, B, C and so on.',
      'Yes',
    ),
    cellRange: textParameter('The cells, such as A2:F100, A:F, or A2 for all from there. Empty: all.'),
    dataSource: textParameter('The name of the sheet in the mode Basic. Empty: the first.'),
    dataSelection: namesParameter('Its columns. None: all.'),
    dataSourceFilter: rowsParameter('Which rows are loaded.', conditionCells),
    combineFilters: choiceParameter('Whether all or any of the conditions must hold.', ['And', 'Or'], {
      standard: 'And',
    }),
    limit: numberParameter('At most how many rows are loaded in the mode Basic.'),
    sqlQuery: sqlParameter('The query of the mode Advanced, such as `SELECT * FROM "Sheet1"`.'),
    type: choiceParameter('Only Standard.', ['Standard'], { standard: 'Standard' }),
    targetTable: textParameter('The table.', { required: true }),
    ...placeParameters,
    ...storeParameters,
  },
  noEffect: [
    ...['connectionOptions', 'primaryKeys', 'warehouse', 'stage', 'stagePlatform', 'stageAuthentication'],
    ...['s3StagingArea', 'encryption', 'loadOptions', 'autoDebug', 'debugLevel'],
  ],
  example: `type: excel-query
parameters:
  storageUrl: data/orders.xlsx
  dataSource: Orders
  cellRange: A3:F
  targetTable: orders`,
  plan({ parameters, dialect }) {
    parameters.choice('type', { Standard: true }, true);
    const isAdvanced = parameters.choice('basicAdvancedMode', { Basic: false, Advanced: true }, false);
    const table = readTableReference(parameters, 'targetTable');
    const base = {
      from: 'xlsx',
      range: readCellRange(parameters, 'cellRange'),
      hasHeader: parameters.yes('containsHeaderRow', true),
    } as const;
    const { conversions, query } = isAdvanced
      ? planQuery(parameters, base, dialect)
      : planSheet(parameters, base, dialect);
    return {
      action: 'load-converted',
      source: readFileSource('storageUrl', parameters),
      conversions,
      plan: (files) => dialect.replaceTable(table, query(files)),
    };
  },
};

interface PlannedSheets {
  conversions: readonly FileConversion[];
  query(files: readonly ConvertedFile[]): string;
}
type SheetFrame = Omit<Extract<FileConversion, { from: 'xlsx' }>, 'sheet' | 'isOptional'>;

const selectAll = (file: ConvertedFile, dialect: Dialect) =>
  dialect.readFile(file.path, { type: 'JSON', lineBytes: file.lineBytes }, describeConverted(file.columns));

function planSheet(parameters: Parameters, frame: SheetFrame, dialect: Dialect): PlannedSheets {
  const names = parameters.names('dataSelection');
  const rows = parameters.rows('dataSourceFilter', 3);
  const combine = parameters.choice('combineFilters', { And: 'AND', Or: 'OR' } as const, 'AND');
  const limit = parameters.optionalInteger('limit');
  if (limit !== undefined && limit < 1)
    throw new ParameterError(`"limit" is ${limit}: it must be at least 1`);
  const list = names.length === 0 ? '*' : names.map((name) => dialect.name(name)).join(', ');
  const where = rows.length === 0 ? '' : `\nWHERE ${renderConditions(rows, combine, dialect)}`;
  const end = limit === undefined ? '' : `\nLIMIT ${limit}`;
  return {
    conversions: [{ ...frame, sheet: parameters.optionalText('dataSource') }],
    query([file]) {
      if (file === undefined) throw new SqlError('the file was not converted');
      requireColumns(names, file);
      return `SELECT ${list} FROM (${selectAll(file, dialect)}) AS sheet${where}${end}`;
    },
  };
}

function requireColumns(names: readonly string[], { columns }: ConvertedFile): void {
  const known = columns.map(({ name }) => name);
  for (const name of names)
    if (!known.some((column) => column.toLowerCase() === name.toLowerCase()))
      throw new SqlError(
        `"dataSelection" has "${name}", which is not a column of the sheet: it has ${known.slice(0, 20).join(', ')}`,
      );
}

/** Names of one query that may be sheets. */
const nameLimit = 50;

/** The sheets that a query names come before it as common tables. */
function planQuery(parameters: Parameters, frame: SheetFrame, dialect: Dialect): PlannedSheets {
  const written = parameters.text('sqlQuery');
  const { sql: query } = dialect.user.query(written);
  const names = listTableNames(written, dialect);
  if (names.length === 0 || names.length > nameLimit)
    throw new ParameterError(
      `"sqlQuery" names ${names.length} tables: it must read from 1 to ${nameLimit} sheets, such as SELECT * FROM "Sheet1"`,
    );
  return {
    conversions: names.map((sheet) => ({ ...frame, sheet, isOptional: true })),
    query(files) {
      const tables = files.flatMap((file, index) =>
        file.isMissing === true
          ? []
          : [`${dialect.name(names[index] ?? '')} AS (${selectAll(file, dialect)})`],
      );
      if (tables.length === 0)
        throw new SqlError(
          `"sqlQuery" reads none of the sheets of the file: it names ${names.slice(0, 10).join(', ')}`,
        );
      return `WITH ${tables.join(', ')}\nSELECT * FROM (${query}) AS result`;
    },
  };
}

/** What stands after FROM, JOIN or a comma. Names that are no sheets do no harm. */
function listTableNames(sql: string, { user }: Dialect): string[] {
  const { tokens } = tokenize(sql, user.lexical);
  const found = tokens.filter(({ kind }, index) => {
    const [before, after] = [tokens[index - 1], tokens[index + 1]];
    const isName = kind === 'quoted' || kind === 'word';
    return isName && ['FROM', 'JOIN', ','].includes(before?.value ?? '') && after?.value !== '.';
  });
  return [...new Map(found.map(({ text }) => [text.toLowerCase(), text])).values()];
}

/** @throws ParameterError */
function readFileSource(name: string, parameters: Parameters): FileSource {
  const url = parameters.text(name).trim();
  if (isFileAddress(url)) return { address: url };
  if (isStoreAddress(url)) return { place: readStorePlace(name, url, readStoreAccess(parameters)) };
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined || scheme === 'file') return { path: scheme === undefined ? url : url.slice(7) };
  throw new ParameterError(
    `"${name}" is ${url}: ${scheme}:// is not supported; use https, s3, azure, gs or sftp, or a path`,
  );
}
