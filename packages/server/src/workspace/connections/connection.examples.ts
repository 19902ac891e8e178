/** A request that succeeds for each operation on connections. */
import type { Examples, Place } from '../../../testing/place.ts';

const buildConnection = ({ named, project }: Place) => ({
  name: named('orders-api'),
  platformConnectionType: 'COMPONENT_BASIC',
  authProvider: 'NONE',
  authType: 'GENERIC_SECRET',
  connectionDetails: {
    description: 'The key of the orders API',
    connectionProperties: { secretName: `${project.projectId}/orders-api-key` },
    secretsLocation: { type: 'AWS_SECRET_MANAGER', region: 'eu-north-1' },
  },
});

async function createConnection(place: Place) {
  const body = buildConnection(place);
  await place.account.admin.post(`${place.project.path}/connections`, body);
  return body;
}

async function buildConnectionOverride(place: Place) {
  const { name, authType } = await createConnection(place);
  const secretName = `${place.project.projectId}/orders-api-key-of-dev`;
  const connectionOverrides = { connectionProperties: { secretName } };
  return { environmentName: 'dev', connectionName: name, authType, connectionOverrides };
}

async function createConnectionOverride(place: Place) {
  const body = await buildConnectionOverride(place);
  await place.account.admin.post(`${place.project.path}/connections/environment-overrides`, body);
  return body;
}

const buildDataPlatformConnection = ({ named, project }: Place) => ({
  name: named('analytics'),
  platformConnectionType: 'DWH',
  authProvider: 'POSTGRES',
  authType: 'PASSWORD',
  connectionProperties: {
    host: { value: 'warehouse.example.com' },
    database: { value: 'analytics' },
    username: { value: 'loader' },
    password: { secretName: `${project.projectId}/warehouse-loader`, secretKey: 'password' },
  },
});

async function createDataPlatformConnection(place: Place) {
  const { name, ...body } = buildDataPlatformConnection(place);
  const path = `${place.project.path}/data-platform-connections`;
  await place.account.admin.post(path, { name, ...body });
  return { path: `${path}/${name}`, body };
}

export const connectionExamples: Examples = {
  async listConnections(place) {
    await createConnection(place);
    return { path: `${place.project.path}/connections?authProvider=NONE` };
  },
  createConnection: (place) => ({ path: `${place.project.path}/connections`, body: buildConnection(place) }),
  async updateConnection(place) {
    const { name, authProvider: _, ...body } = await createConnection(place);
    return { path: `${place.project.path}/connections?connectionName=${name}`, body };
  },
  async deleteConnection(place) {
    const { name } = await createConnection(place);
    return { path: `${place.project.path}/connections?connectionName=${name}` };
  },
  async listConnectionOverrides(place) {
    await createConnectionOverride(place);
    return { path: `${place.project.path}/connections/environment-overrides?environmentName=dev` };
  },
  async writeConnectionOverride(place) {
    const body = await buildConnectionOverride(place);
    return { path: `${place.project.path}/connections/environment-overrides`, body };
  },
  async deleteConnectionOverrides(place) {
    const { connectionName } = await createConnectionOverride(place);
    const path = `${place.project.path}/connections/environment-overrides`;
    return { path: `${path}?environmentName=dev&connectionNames=${connectionName}` };
  },
  async listDataPlatformConnections(place) {
    await createDataPlatformConnection(place);
    return { path: `${place.project.path}/data-platform-connections` };
  },
  createDataPlatformConnection: (place) => ({
    path: `${place.project.path}/data-platform-connections`,
    body: buildDataPlatformConnection(place),
  }),
  async getDataPlatformConnection(place) {
    const { path } = await createDataPlatformConnection(place);
    return { path };
  },
  async updateDataPlatformConnection(place) {
    const { path, body } = await createDataPlatformConnection(place);
    const connectionProperties = { ...body.connectionProperties, schema: { value: 'public' } };
    return { path, body: { ...body, connectionProperties } };
  },
  async deleteDataPlatformConnection(place) {
    const { path } = await createDataPlatformConnection(place);
    return { path };
  },
};
