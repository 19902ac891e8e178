/** Loads columns of the rows of an endpoint. */

import { type EndpointLoad, requireConsistent } from '../connectors/load/endpoint-load.ts';
import { readPositive } from './connector-parameters.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { renderConditions } from './definition/condition-sql.ts';
import {
  choiceParameter,
  conditionCells,
  namesParameter,
  numberParameter,
  rowsParameter,
  textParameter,
} from './definition/declared-parameters.ts';
import {
  connectionParameters,
  loadParameters,
  readLoad,
  readSource,
  requestParameters,
  stagingParameters,
} from './endpoint-components.ts';

export const apiQuery: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  embeddedOnly: true,
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
  noEffect: stagingParameters,
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
