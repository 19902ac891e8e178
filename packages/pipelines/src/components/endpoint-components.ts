/** What components of the product's earlier generation that call endpoints have in common. */
import type { EndpointLoad, EndpointSource } from '../connectors/load/endpoint-load.ts';
import { type Parameters, readCellText } from '../expressions/parameters.ts';
import {
  noValues,
  plainLoad,
  readChildTables,
  readIncremental,
  readMode,
  readPairs,
  readSchemaChange,
} from './connector-parameters.ts';
import type { OrchestrationContext } from './definition/component.ts';
import {
  choiceParameter,
  mapParameter,
  namesParameter,
  placeParameters,
  rowsParameter,
  textParameter,
} from './definition/declared-parameters.ts';
import { readTableReference } from './definition/plan-parts.ts';

const pair = ['name', 'value'];

export const requestParameters = {
  uriParams: rowsParameter('Values of parameters in the address.', pair),
  queryParams: rowsParameter('Values of query parameters.', pair),
  headerParams: rowsParameter('Values of headers.', pair),
};

export const connectionParameters = {
  connectionOptions: rowsParameter(
    'How it authenticates: `authType`, `username`, `password`, `token`, `apiKey` or `oauth`. A secret is the name of a [secret reference](../../secrets.md).',
    pair,
  ),
};

export const loadParameters = {
  targetTable: textParameter('The table.', { required: true }),
  ...placeParameters,
  createTableMode: choiceParameter(
    'What to do with a table that exists.',
    ['Replace', 'Truncate and insert', 'Append', 'Fail if exists'],
    {
      standard: 'Replace',
    },
  ),
  primaryKeys: namesParameter(
    'The columns that identify a row. With Append, rows with the same values are replaced.',
  ),
  schemaChange: choiceParameter(
    'What to do if rows do not fit the schema of the profile. Stop: a wrong value fails, members without a column are left out and named. Widen: columns are added, and get a type that fits.',
    ['Stop', 'Stop on new members', 'Widen'],
    { standard: 'Stop' },
  ),
  nestedData: choiceParameter(
    'Lists of objects stay JSON, or become tables of their own.',
    ['JSON', 'Child tables'],
    {
      standard: 'JSON',
    },
  ),
  dataLoading: mapParameter('As in modular-api-extract-input-v2.'),
};

/** Parameters of staging areas, and of an interactive mode. */
export const stagingParameters = [
  'warehouse',
  'stage',
  'stagePlatform',
  'stageAuthentication',
  's3StagingArea',
  'encryption',
  'loadOptions',
  'autoDebug',
  'debugLevel',
  'type',
  'location',
  'tableType',
  'authenticationMethod',
  'authentication',
];

export function readLoad({ parameters }: OrchestrationContext): EndpointLoad {
  return {
    ...plainLoad,
    target: readTableReference(parameters, 'targetTable'),
    mode: readMode(parameters, 'createTableMode', 'replace'),
    primaryKeys: parameters.names('primaryKeys'),
    schemaChange: readSchemaChange(parameters),
    childTables: readChildTables(parameters),
    incremental: readIncremental(parameters),
  };
}

export function readSource(parameters: Parameters, body: string | undefined): EndpointSource {
  const options = parameters.rows('connectionOptions', 2);
  return {
    profile: parameters.text('profile'),
    endpoint: parameters.text('dataSource'),
    connection: Object.fromEntries(options.map((row) => [readCellText(row, 0), readCellText(row, 1)])),
    values: {
      ...noValues,
      uri: readPairs(parameters, 'uriParams'),
      query: readPairs(parameters, 'queryParams'),
      headers: readPairs(parameters, 'headerParams'),
      ...(body === undefined ? {} : { body }),
    },
    rowsPerPage: undefined,
  };
}
