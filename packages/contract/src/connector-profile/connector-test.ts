/** The test of one endpoint of a connector profile: what it is sent, and what comes back. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { EnvironmentName, mapOf, OpaqueId, ProjectId } from '../primitives.ts';
import { SecretReferenceName } from '../secret-reference/secret-reference.ts';

export const connectorKinds = ['flex', 'custom'] as const;
export type ConnectorKind = (typeof connectorKinds)[number];

const ParameterText = Type.String({ maxLength: 8_192 });
const parameterMap = (where: string) =>
  Type.Optional(mapOf(ParameterText, { maxProperties: 200, description: `${where}, by name` }));

export const ConnectorParameters = named(
  'ConnectorParameters',
  Type.Object(
    {
      headerParameters: parameterMap('Values of header parameters'),
      queryParameters: parameterMap('Values of query parameters'),
      uriParameters: parameterMap('Values of parameters in the path'),
      body: Type.Optional(
        Type.String({
          maxLength: 65_536,
          description: 'The body of the request, in place of that of the profile',
        }),
      ),
    },
    { description: 'A parameter that is left out has the value of the profile' },
  ),
);
export type ConnectorParameters = Static<typeof ConnectorParameters>;

export const ConnectorSecret = named(
  'ConnectorSecret',
  Type.Object(
    {
      secretName: Type.Unsafe<string>({
        ...SecretReferenceName,
        description: 'The name of a secret reference of the project',
      }),
      secretKey: Type.Optional(
        Type.String({ maxLength: 1_024, description: 'The key within the secret in the vault' }),
      ),
    },
    { 'x-form': 'a reference to a secret, such as {"secretName": "orders-api-token"}' },
  ),
);

export const ConnectorConnection = named(
  'ConnectorConnection',
  mapOf(Type.Union([Type.String({ maxLength: 4_096 }), ConnectorSecret]), {
    maxProperties: 50,
    description:
      'How the request authenticates, by property: `username` and `password` (BASIC), `token` (BEARER), the names of keys (API_KEY), `oauth` (OAUTH: the name of an OAuth configuration of the project). Secrets are references',
  }),
);
export type ConnectorConnection = Static<typeof ConnectorConnection>;

const HeaderMap = mapOf(ParameterText, { maxProperties: 200 });

export const ConnectorTestResult = named(
  'ConnectorTestResult',
  Type.Object({
    status: Type.Optional(
      Type.Integer({ minimum: 100, maximum: 599, description: 'Of the response; absent without a response' }),
    ),
    headers: HeaderMap,
    rows: Type.Array(Type.Unknown(), { maxItems: 20, description: 'The first rows of the response' }),
    structure: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description:
          'Inferred from the response, as in a profile: `schema`, `containedInOuterArray`, `repeatingElementPath`',
      }),
    ),
    request: Type.Object(
      {
        method: Type.String({ maxLength: 20 }),
        url: Type.String({ maxLength: 16_384 }),
        headers: HeaderMap,
        body: Type.Optional(Type.String({ maxLength: 65_536 })),
      },
      { description: 'As it was sent. Secrets are masked' },
    ),
    durationMs: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    truncated: Type.Optional(
      Type.Boolean({ description: 'True if rows were left out because of their size' }),
    ),
    problem: Type.Optional(
      Type.String({
        maxLength: 2_000,
        description: 'What is wrong with the response or the connection, and what to do',
      }),
    ),
  }),
);
export type ConnectorTestResult = Static<typeof ConnectorTestResult>;

const connectorTest = {
  surface: 'dpc',
  tag: 'Connector profiles',
  method: 'POST',
  permission: 'environment:deliver',
  alsoRequires: 'agents:list',
  projectFrom: 'body.projectId',
  environmentFrom: 'body.environmentName',
  description:
    'Sends one request of one endpoint, from an agent of the environment and under its allowlist, and waits for the response. ' +
    'Secrets are secret references of the project; the agent reads them and sends them only to the host of the endpoint’s own address, over https. ' +
    'The status is 200 also if the endpoint refuses the request: see `status` and `problem` in the response.',
  params: Type.Object({ connectorProfileId: OpaqueId }),
  body: Type.Object({
    projectId: ProjectId,
    environmentName: EnvironmentName,
    endpointId: Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'The id of the endpoint, or its name',
    }),
    agentId: Type.Optional(
      Type.String({ ...OpaqueId, description: 'Default: the default agent of the environment' }),
    ),
    parameters: Type.Optional(ConnectorParameters),
    connection: Type.Optional(ConnectorConnection),
  }),
  success: { status: 200, body: ConnectorTestResult },
  problems: [
    'connector-profile-not-found',
    'connector-endpoint-not-found',
    'connector-profile-invalid',
    'connector-connection-invalid',
    'connector-oauth-pending',
    'unknown-environment',
    'unknown-agent',
    'connector-agent-unavailable',
    'connector-test-failed',
    'connector-test-timeout',
  ],
  events: ['connector-test-requested'],
} as const;

export const testFlexConnector = operation({
  ...connectorTest,
  id: 'testFlexConnector',
  path: '/v1/flex-connectors/{connectorProfileId}/test',
  summary: 'Test an endpoint of a flex connector',
});
export const testCustomConnector = operation({
  ...connectorTest,
  id: 'testCustomConnector',
  path: '/v1/custom-connectors/{connectorProfileId}/test',
  summary: 'Test an endpoint of a custom connector',
});

export const connectorTestOperations = [testFlexConnector, testCustomConnector] as const;
