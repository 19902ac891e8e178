/** Components of the product's earlier generation that call an endpoint of a connector profile. */
import { renderConditions } from '../condition-sql.ts';
import { type EndpointLoad, type EndpointSource, requireConsistent } from '../connectors/endpoint-load.ts';
import { type Parameters, readCellText } from '../parameters.ts';
import { type OrchestrationContext, type OrchestrationDefinition, readTableReference } from './component.ts';
import {
  noValues,
  plainLoad,
  readChildTables,
  readIncremental,
  readMode,
  readPairs,
  readPositive,
  readSchemaChange,
} from './connector-parameters.ts';
import {
  choiceParameter,
  conditionCells,
  mapParameter,
  namesParameter,
  numberParameter,
  placeParameters,
  rowsParameter,
  textParameter,
} from './declared-parameters.ts';

const pair = ['name', 'value'];

const requestParameters = {
  uriParams: rowsParameter('Values of parameters in the address.', pair),
  queryParams: rowsParameter('Values of query parameters.', pair),
  headerParams: rowsParameter('Values of headers.', pair),
};

const connectionParameters = {
  connectionOptions: rowsParameter(
    'How it authenticates: `authType`, `username`, `password`, `token`, `apiKey` or `oauth`. A secret is the name of a [secret reference](../../secrets.md).',
    pair,
  ),
};

const loadParameters = {
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
  dataLoading: mapParameter('As in modular-api-extract-input.'),
};

/** Parameters of staging areas, and of an interactive mode. */
const noEffect = [
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

export const apiQuery: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about:
    'Calls an endpoint of a [connector profile](../connectors.md) page by page, and loads columns of its rows into a table. Nothing is loaded if a page fails.',
  group: 'files',
  parameters: {
    profile: textParameter('The profile: `flex-…`, `custom-…`, or its name.', { required: true }),
    dataSource: textParameter('The endpoint.', { required: true, otherNames: ['endpoint'] }),
    dataSelection: namesParameter('The columns. None: all.'),
    dataSourceFilter: rowsParameter('Which rows are loaded.', conditionCells),
    combineFilters: choiceParameter('Whether all or any of the conditions must hold.', ['And', 'Or'], {
      standard: 'And',
    }),
    limit: numberParameter('At most how many rows are read.'),
    basicAdvancedMode: choiceParameter('Only Basic.', ['Basic'], { standard: 'Basic' }),
    ...requestParameters,
    ...connectionParameters,
    ...loadParameters,
  },
  noEffect,
  example: `type: api-query
parameters:
  profile: flex-shop
  dataSource: Orders
  dataSelection: [id, amount]
  connectionOptions:
    - [token, shop-token]
  targetTable: orders`,
  plan(context) {
    const { parameters, dialect } = context;
    parameters.choice('basicAdvancedMode', { Basic: true }, true);
    const conditions = parameters.rows('dataSourceFilter', 3);
    const combine = parameters.choice('combineFilters', { And: 'AND', Or: 'OR' } as const, 'AND');
    const load: EndpointLoad = {
      ...readLoad(context),
      selection: parameters.names('dataSelection'),
      condition: conditions.length === 0 ? undefined : renderConditions(conditions, combine, dialect),
      rowLimit: readPositive(parameters, 'limit'),
    };
    requireConsistent(load);
    return { action: 'load-endpoint', source: readSource(parameters, undefined), load };
  },
};

export const apiExtract: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about:
    'Calls an endpoint of a [connector profile](../connectors.md) page by page. Each page becomes one row of a table with the column `DATA_VALUE`, or with `loadSelectedData` each row of the page. Nothing is loaded if a page fails.',
  group: 'files',
  parameters: {
    profile: textParameter('The profile: `flex-…`, `custom-…`, or its name.', {
      required: true,
      otherNames: ['api', 'apiProfile'],
    }),
    dataSource: textParameter('The endpoint.', { required: true, otherNames: ['endpoint'] }),
    postBody: textParameter('The body, instead of that of the profile.', { otherNames: ['requestBody'] }),
    pageLimit: numberParameter('How many rows a page has.'),
    loadSelectedData: choiceParameter(
      'No: each page is one row. Yes: the repeating element of the profile becomes rows.',
      ['Yes', 'No'],
      {
        standard: 'No',
      },
    ),
    ...requestParameters,
    ...connectionParameters,
    ...loadParameters,
  },
  noEffect,
  example: `type: api-extract
parameters:
  profile: flex-shop
  dataSource: Orders
  connectionOptions:
    - [token, shop-token]
  targetTable: orders_pages`,
  plan(context) {
    const { parameters } = context;
    const load = { ...readLoad(context), wholePages: !parameters.yes('loadSelectedData', false) };
    requireConsistent(load);
    const source = readSource(parameters, parameters.optionalText('postBody'));
    return {
      action: 'load-endpoint',
      source: { ...source, rowsPerPage: readPositive(parameters, 'pageLimit') },
      load,
    };
  },
};

function readLoad({ parameters }: OrchestrationContext): EndpointLoad {
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

function readSource(parameters: Parameters, body: string | undefined): EndpointSource {
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
