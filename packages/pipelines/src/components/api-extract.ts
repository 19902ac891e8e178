/** Loads the pages of an endpoint, or their rows. */
import { requireConsistent } from '../connectors/load/endpoint-load.ts';
import { readPositive } from './connector-parameters.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import { choiceParameter, numberParameter, textParameter } from './definition/declared-parameters.ts';
import {
  connectionParameters,
  loadParameters,
  readLoad,
  readSource,
  requestParameters,
  stagingParameters,
} from './endpoint-components.ts';

export const apiExtract: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  embeddedOnly: true,
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
  noEffect: stagingParameters,
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
