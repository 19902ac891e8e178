/** A request that succeeds for each operation on connector profiles. */
import type { ConnectorProfile } from '@headgate/contract';
import type { Examples, Place } from '../../../testing/place.ts';

const endpoint = {
  id: 'orders',
  name: 'Orders',
  url: 'https://api.example.com/v1/shops/{shop}/orders',
  httpMethod: 'GET',
  auth: 'BEARER',
  authTemplate: null,
  authenticationOptions: [{ type: 'BEARER', parameters: [], additionalParameters: null }],
  paging: { type: 'page', parameter: 'page', first: 1, sizeParameter: 'size', size: 100 },
  headerParameters: [],
  queryParameters: [{ name: 'status', value: 'paid', required: false }],
  uriParameters: [{ name: 'shop', value: null, required: true }],
  structure: {
    schema: {
      type: 'object',
      properties: {
        orders: {
          type: 'array',
          items: { type: 'object', properties: { id: { type: 'integer' }, total: { type: 'number' } } },
        },
      },
    },
    containedInOuterArray: false,
    repeatingElementPath: ['orders'],
  },
  body: null,
};

/** A profile that can be written. */
export function buildConnectorProfile(name: string) {
  return {
    name,
    icon: 'mdi-cart',
    logo: { type: 'URL', image: { url: 'https://api.example.com/logo.svg' } },
    endpoints: [endpoint],
  };
}

export async function createConnectorProfile(place: Place, kind: 'flex' | 'custom') {
  const path = `/${kind}-connectors`;
  const { body } = await place.account.admin.post<ConnectorProfile>(
    path,
    buildConnectorProfile(place.named('Shop')),
  );
  return { id: body.id, path: `${path}/${body.id}` };
}

const examplesOf = (kind: 'flex' | 'custom', Kind: 'Flex' | 'Custom'): Examples => ({
  async [`list${Kind}Connectors`](place) {
    await createConnectorProfile(place, kind);
    return { path: `/${kind}-connectors` };
  },
  [`create${Kind}Connector`]: (place) => ({
    path: `/${kind}-connectors`,
    body: buildConnectorProfile(place.named('Shop')),
  }),
  [`get${Kind}Connector`]: (place) => createConnectorProfile(place, kind),
  async [`update${Kind}Connector`](place) {
    const { path } = await createConnectorProfile(place, kind);
    return { path, body: { ...buildConnectorProfile(place.named('Shop')), icon: null } };
  },
  [`delete${Kind}Connector`]: (place) => createConnectorProfile(place, kind),
});

export const connectorProfileExamples: Examples = {
  ...examplesOf('flex', 'Flex'),
  ...examplesOf('custom', 'Custom'),
};
