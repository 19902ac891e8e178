/** Tables over files of an object store, and their refresh. */
import { checkPattern } from '../expressions/linear-pattern.ts';
import {
  createParameters,
  ParameterError,
  type Parameters,
  readCellText,
} from '../expressions/parameters.ts';
import type { ResolvedMap } from '../expressions/resolve.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import {
  type ComputedColumn,
  createExternalTable,
  type ExternalTable,
  findExternalTable,
  noteExternalTable,
  valueColumn,
} from '../stores/external-tables.ts';
import { planStage } from '../stores/stages.ts';
import { readStorePlace } from '../stores/store-address.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import {
  choiceParameter,
  placeParameters,
  rowsParameter,
  textParameter,
} from './definition/declared-parameters.ts';
import { readTableReference, wrapUserExpression } from './definition/plan-parts.ts';
import { objectFormatParameters, planRecords, readObjectFormat, readObjectReading } from './object-format.ts';
import { readStoreAccess, refuseNamed, storeParameters } from './store-parameters.ts';

const { matchByColumnName: _, ...formatParameters } = objectFormatParameters;

const elsewhere =
  'load the files with s3-load there, or in Snowflake and Redshift write the statement for external tables in a sql-script';

const parameterTable = {
  createReplace: choiceParameter(
    'What to do if the table exists. Create: fails. Replace: makes it again. Create if not exists: keeps it as it is.',
    ['Create', 'Replace', 'Create if not exists'],
    { standard: 'Create' },
  ),
  newTableName: textParameter('The table.', { required: true }),
  ...placeParameters,
  partitionColumns: rowsParameter(
    'Columns besides VALUE. The expression reads VALUE, METADATA$FILENAME (the name of the object in the bucket), METADATA$FILE_ROW_NUMBER, METADATA$FILE_CONTENT_KEY, METADATA$FILE_LAST_MODIFIED and METADATA$START_SCAN_TIME.',
    ['name', 'type', 'expression'],
  ),
  location: textParameter(
    'Where the files are, such as s3://example-lake/orders/. Required unless `stage` names a stage.',
  ),
  stage: textParameter(
    'A stage that CREATE STAGE made. [Custom] or empty: `location` says where the files are.',
    {
      standard: '[Custom]',
    },
  ),
  stageDatabase: textParameter(
    'The database of the stage. Empty or `[Environment Default]`: the environment’s.',
  ),
  stageSchema: textParameter('The schema of the stage. Empty or `[Environment Default]`: the environment’s.'),
  relativePath: textParameter('The folder below the stage, or below `location`. Empty: all of it.'),
  pattern: textParameter(
    'A regular expression in the syntax of RE2 that the whole name of an object, or what follows the place, must match. Empty: all objects.',
  ),
  ...storeParameters,
  ...formatParameters,
};

export const createExternalTableComponent: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  embeddedOnly: true,
  elsewhere,
  about:
    'Creates a table over files of an object store. Each row of a file is a JSON object in the column VALUE; values of CSV have the names c1, c2 and so on. The table has the files as they were when it was created or last [refreshed](refresh-external-table.md). [Object stores](../../stores.md) says how to reach one.',
  group: 'files',
  parameters: parameterTable,
  noEffect: ['format', 'warehouse'],
  example: `type: create-external-table
parameters:
  newTableName: landed_orders
  location: s3://example-lake/orders/
  pattern: ".*[.]csv"
  credentials: lake-reader
  fileType: CSV
  skipHeader: "1"
  partitionColumns:
    - [day, DATE, "SPLIT_PART(METADATA$FILENAME, '/', 2)"]`,
  plan({ parameters, dialect }) {
    const external = readExternalTable(parameters, dialect);
    const { target } = external.load;
    const creation = parameters.choice(
      'createReplace',
      { Create: 'create', Replace: 'replace', 'Create if not exists': 'if-missing' } as const,
      'create',
    );
    const begin = creation === 'replace' ? 'CREATE OR REPLACE TABLE' : 'CREATE TABLE';
    return {
      action: 'fill-external-table',
      table: external,
      // It is looked up first.
      unless: creation === 'if-missing' ? dialect.tableExists(target) : undefined,
      before: [
        ...createExternalTable(target, external.computed, begin, dialect),
        ...noteExternalTable(target, listValues(parameters), dialect),
      ],
    };
  },
};

export const refreshExternalTable: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  embeddedOnly: true,
  elsewhere,
  about:
    'Reads the files of an external table again, which create-external-table made. Rows of files that are gone or were changed are replaced, all or nothing.',
  group: 'files',
  parameters: {
    targetTable: textParameter('The table.', { required: true }),
    ...placeParameters,
    relativeSubpath: textParameter(
      'It has no effect on the rows: all files of the table are read again, not only those below this folder.',
    ),
  },
  noEffect: ['warehouse', 'catalog'],
  example: `type: refresh-external-table
parameters:
  targetTable: landed_orders`,
  plan({ parameters, dialect }) {
    const target = readTableReference(parameters, 'targetTable');
    const read = (definition: string): ExternalTable => {
      const stored = JSON.parse(definition) as ResolvedMap;
      const external = readExternalTable(createParameters(stored), dialect);
      return { ...external, load: { ...external.load, target } };
    };
    return {
      action: 'fill-external-table',
      table: findExternalTable(target, read, dialect),
      unless: undefined,
      before: [`DELETE FROM ${dialect.table(target)}`],
    };
  },
};

const listValues = (parameters: Parameters): ResolvedMap =>
  Object.fromEntries(
    Object.keys(parameterTable).flatMap((name) => {
      const value = parameters.value(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** @throws ParameterError, SqlError */
function readExternalTable(parameters: Parameters, dialect: Dialect): ExternalTable {
  refuseNamed(parameters, 'format', 'a file format', 'its parameters here');
  const pattern = parameters.optionalText('pattern') ?? '';
  checkPattern('pattern', pattern);
  const { format, records } = planRecords(readObjectFormat(parameters), false);
  return {
    source: { place: readPlace(parameters, dialect), pattern },
    reading: { ...readObjectReading(parameters), ...(records === undefined ? {} : { records }) },
    load: {
      target: readTableReference(parameters, 'newTableName'),
      ...{ columns: [], metadata: [], match: 'position', onError: { how: 'abort' } },
      format,
      ...(format.type === 'JSON' && records === undefined ? { conversion: { from: 'avro' } as const } : {}),
      ...{ sizeLimit: undefined, purges: false, reloads: true },
    },
    computed: readComputed(parameters, dialect),
  };
}

function readPlace(parameters: Parameters, dialect: Dialect): ExternalTable['source']['place'] {
  const access = readStoreAccess(parameters);
  const below = parameters.optionalText('relativePath')?.replace(/^\/+/, '') ?? '';
  const stage = parameters.optionalText('stage')?.trim() ?? '';
  if (stage === '' || stage === '[Custom]') {
    const place = readStorePlace('location', parameters.text('location'), access);
    return { ...place, key: joinKey(place.key, below) };
  }
  const [database, schema] = ['stageDatabase', 'stageSchema'].map((name) => parameters.optionalText(name));
  const planned = planStage({ database, schema, table: stage }, access, dialect);
  return {
    ...planned,
    locate(row) {
      const place = planned.locate(row);
      return { ...place, key: joinKey(place.key, below) };
    },
  };
}

const joinKey = (key: string, below: string) =>
  below === '' || key === '' || key.endsWith('/') ? `${key}${below}` : `${key}/${below}`;

/** Rows of name, type and expression, or with size and precision after the type. */
function readComputed(parameters: Parameters, dialect: Dialect): ComputedColumn[] {
  const columns = parameters.rows('partitionColumns', 3).map((row): ComputedColumn => {
    const cell = (index: number) => readCellText(row, index);
    const isSized = row.length >= 5;
    return {
      name: cell(0),
      type: dialect.type({
        ...{ type: cell(1), size: isSized ? cell(2) : '', precision: isSized ? cell(3) : '' },
      }),
      sql: wrapUserExpression(cell(isSized ? 4 : 2), dialect),
    };
  });
  const names = [valueColumn, ...columns.map(({ name }) => name)].map((name) => name.toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new ParameterError(
      `"partitionColumns" has "${twice}", which is a column already: name it otherwise`,
    );
  return columns;
}
