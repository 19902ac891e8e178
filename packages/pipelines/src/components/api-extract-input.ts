/**
 * Calls an endpoint of a connector profile and loads what comes into a table, as the product's newer component writes
 * it.
 */
import {
  type EndpointLoad,
  type EndpointSource,
  requireConsistent,
} from '../connectors/load/endpoint-load.ts';
import type { Parameters } from '../expressions/parameters.ts';
import {
  noValues,
  plainLoad,
  readChildTables,
  readConnection,
  readIncremental,
  readInner,
  readIsVerbose,
  readMode,
  readPairs,
  readPositive,
  readSchemaChange,
} from './connector-parameters.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { mapParameter, textParameter } from './definition/declared-parameters.ts';
import { readTableReference } from './definition/plan-parts.ts';

const input = 'api-extract-input-v2';
const output = 'snowflake-output-connector-v0';

const inputParameters = [
  'profile',
  'endpoint',
  'connectionRef',
  'uriParams',
  'queryParams',
  'headerParams',
  'postBody',
  'pageLimit',
  'logLevel',
  'loadSelectedData',
  'nestedData',
  'schemaChange',
];
const outputParameters = ['database', 'schema', 'tableName', 'createTableMode', 'primaryKeys'];

export const apiExtractInput: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  embeddedOnly: true,
  about:
    'Calls an endpoint of a [connector profile](../connectors.md) page by page, and loads the rows into a table. Nothing is loaded if a page fails.',
  group: 'files',
  parameters: {
    [input]: mapParameter(
      'What is called: `profile` (`flex-…` or `custom-…`, as in the version), `endpoint`, `connectionRef.overrides` (how it authenticates), `uriParams`, `queryParams`, `headerParams` (rows of name and value), `postBody`, `pageLimit` (rows of a page), `logLevel`, `loadSelectedData` (No: each page is one row with the column `DATA_VALUE`; Yes: the repeating element of the profile becomes rows), `nestedData` (JSON or Child tables), `schemaChange` (Stop, Stop on new members or Widen).',
      { required: true, otherNames: ['api-extract-input-v1', 'api-extract-input'] },
    ),
    [output]: mapParameter(
      'Where it goes: `database`, `schema`, `tableName`, `createTableMode` (REPLACE_IF_EXISTS, TRUNCATE_AND_INSERT, APPEND or FAIL_IF_EXISTS) and `primaryKeys` (with APPEND, rows with the same keys are replaced).',
      {
        required: true,
        otherNames: ['databricks-output-connector-v0', 'redshift-output-connector-v0', 'output-connector-v0'],
      },
    ),
    dataLoading: mapParameter(
      'What an incremental load needs: `loadType` (FULL_LOAD or INCREMENTAL_LOAD) and `incrementalLoading`: `highWaterMarkSelection` (the column whose largest value is kept), `parameter` and `parameterIn` (where the next load sends it).',
    ),
    componentId: textParameter('Has no effect here.'),
    inputId: textParameter('Has no effect here.'),
    outputId: textParameter('Has no effect here.'),
  },
  // The suffix of another version is dropped before the type is looked up.
  aliases: ['modular-api-extract-input'],
  example: `type: modular-api-extract-input-v2
parameters:
  api-extract-input-v2:
    profile: flex-shop
    endpoint: Orders
    connectionRef:
      overrides:
        authType: BEARER
        token: shop-token
    queryParams:
      - [status, paid]
    loadSelectedData: "Yes"
  snowflake-output-connector-v0:
    tableName: orders
    createTableMode: TRUNCATE_AND_INSERT`,
  plan({ parameters }) {
    const value = readInner(parameters, input, inputParameters);
    const target = readInner(parameters, output, outputParameters);
    const load: EndpointLoad = {
      ...plainLoad,
      target: readTableReference(target, 'tableName'),
      mode: readMode(target, 'createTableMode', 'fail-if-exists'),
      primaryKeys: target.names('primaryKeys'),
      wholePages: !value.yes('loadSelectedData', false),
      schemaChange: readSchemaChange(value),
      childTables: readChildTables(value),
      incremental: readIncremental(parameters),
      isVerbose: readIsVerbose(value),
    };
    requireConsistent(load);
    return { action: 'load-endpoint', source: readSource(value), load };
  },
};

function readSource(value: Parameters): EndpointSource {
  const body = value.optionalText('postBody');
  return {
    profile: value.text('profile'),
    endpoint: value.text('endpoint'),
    connection: readConnection(value),
    values: {
      ...noValues,
      uri: readPairs(value, 'uriParams'),
      query: readPairs(value, 'queryParams'),
      headers: readPairs(value, 'headerParams'),
      ...(body === undefined ? {} : { body }),
    },
    rowsPerPage: readPositive(value, 'pageLimit'),
  };
}
