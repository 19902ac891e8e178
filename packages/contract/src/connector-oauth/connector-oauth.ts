/** OAuth configurations of a project, with which connectors authenticate. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import {
  DateTime,
  ifMatchHeader,
  mapOf,
  OpaqueId,
  oneOf,
  oneOfAnyCase,
  ProjectId,
  Uuid,
} from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { SecretReferenceName } from '../secret-reference/secret-reference.ts';

export const connectorGrantTypes = ['CLIENT_CREDENTIALS', 'AUTHORIZATION_CODE'] as const;
export type ConnectorGrantType = (typeof connectorGrantTypes)[number];
export const connectorOauthStates = ['PENDING', 'AUTHORIZED'] as const;
export type ConnectorOauthState = (typeof connectorOauthStates)[number];

export const connectorOauthLimit = 100;

export const ConnectorOauthName = named(
  'ConnectorOauthName',
  Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: '^[\\w() .-]{1,128}$',
    'x-form': 'a name of letters, digits, spaces, _, ., -, ( and ), such as crm-production',
    description: 'The name of the configuration in the project, by which profiles and pipelines use it',
  }),
);
export const ConnectorOauthText = Type.String({ maxLength: 4_096 });

const Address = Type.String({ minLength: 1, maxLength: 2_048 });
const secretReference = (description: string) =>
  Type.Optional(Type.Unsafe<string>({ ...SecretReferenceName, description }));

const written = {
  name: ConnectorOauthName,
  authorizationUrl: Type.Optional(
    Type.String({ ...Address, description: 'AUTHORIZATION_CODE: where people allow access' }),
  ),
  tokenUrl: Type.String({ ...Address, description: 'Where tokens are requested' }),
  scopes: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 1_000 }), { maxItems: 100 })),
  clientSecretReference: secretReference(
    'The secret reference with `clientId` and `clientSecret`, of the type OAUTH_CLIENT_CRED or OAUTH_CLIENT_CREDENTIALS',
  ),
  tokenSecretReference: secretReference(
    'AUTHORIZATION_CODE: the secret reference under which the agent stores the tokens, of the type OAUTH_AUTHORIZATION_CODE or OAUTH_USER_TOKENS',
  ),
  clientId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1_024,
      description:
        'AUTHORIZATION_CODE: the public id of the client, which stands in the address of the consent page',
    }),
  ),
  additionalParameters: Type.Optional(
    mapOf(ConnectorOauthText, {
      maxProperties: 50,
      description: 'Further parameters of the requests for a token, such as `audience`. No secrets',
    }),
  ),
};

export const ConnectorOauth = named(
  'ConnectorOauth',
  Type.Object({
    connectorOauthId: Uuid,
    projectId: ProjectId,
    ...written,
    grantType: oneOf(connectorGrantTypes),
    agentId: Type.Optional(Uuid),
    state: oneOf(connectorOauthStates, {
      description:
        'PENDING: secret references are missing, or it is not authorized yet. It may stand in profiles, and cannot be tested',
    }),
    problem: Type.Optional(
      Type.String({
        maxLength: 1_000,
        description: 'Why the agent could not get a token, such as a revoked refresh token, and what to do',
      }),
    ),
    authorizedAt: Type.Optional(DateTime),
    createdBy: Uuid,
    createdAt: DateTime,
  }),
);
export type ConnectorOauth = Static<typeof ConnectorOauth>;

const body = Type.Object({
  ...written,
  grantType: oneOfAnyCase(connectorGrantTypes),
  agentId: Type.Optional(
    Type.String({ ...OpaqueId, description: 'The agent that exchanges the code, if several could' }),
  ),
});
export type ConnectorOauthBody = Static<typeof body>;

const oauthOperation = { surface: 'dpc', tag: 'Connector OAuths' } as const;
const path = '/v1/projects/{projectId}/connector-oauths';
const onePath = `${path}/{connectorOauthId}` as const;
const oneParams = Type.Object({ ...projectPath, connectorOauthId: OpaqueId });

export const listConnectorOauths = operation({
  ...oauthOperation,
  id: 'listConnectorOauths',
  method: 'GET',
  path,
  summary: 'List OAuth configurations',
  description: 'All of them as an array, oldest first.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  success: { status: 200, body: Type.Array(ConnectorOauth, { maxItems: connectorOauthLimit }) },
  problems: [],
  events: [],
});

export const createConnectorOauth = operation({
  ...oauthOperation,
  id: 'createConnectorOauth',
  method: 'POST',
  path,
  summary: 'Create an OAuth configuration',
  description:
    'Without its secret references it is PENDING. With them, one of CLIENT_CREDENTIALS is AUTHORIZED, and one of AUTHORIZATION_CODE is PENDING until it is authorized. Addresses are https; the agents of the project may allow http hosts.',
  permission: 'project:configure',
  params: Type.Object(projectPath),
  body,
  success: { status: 201, body: ConnectorOauth, headers: ['Location', 'ETag'] },
  problems: [
    'connector-oauth-taken',
    'connector-oauth-invalid',
    'too-many-connector-oauths',
    'unknown-agent',
  ],
  events: ['connector-oauth-created'],
});

export const getConnectorOauth = operation({
  ...oauthOperation,
  id: 'getConnectorOauth',
  method: 'GET',
  path: onePath,
  summary: 'Get an OAuth configuration',
  permission: 'project:read',
  params: oneParams,
  success: { status: 200, body: ConnectorOauth, headers: ['ETag'] },
  problems: ['connector-oauth-not-found'],
  events: [],
});

export const updateConnectorOauth = operation({
  ...oauthOperation,
  id: 'updateConnectorOauth',
  method: 'PUT',
  path: onePath,
  summary: 'Replace an OAuth configuration',
  description:
    'Replaces the whole configuration. Its name stays, since profiles use it: one that differs is refused. One of AUTHORIZATION_CODE is PENDING afterwards, and an authorization under way is void, unless only `agentId` and `additionalParameters` change: tokens of one server are never sent to another. The secrets in the vault stay.',
  permission: 'project:configure',
  params: oneParams,
  headers: ifMatchHeader,
  body,
  success: { status: 200, body: ConnectorOauth, headers: ['ETag'] },
  problems: ['connector-oauth-not-found', 'connector-oauth-invalid', 'unknown-agent', 'etag-mismatch'],
  events: ['connector-oauth-updated'],
});

export const deleteConnectorOauth = operation({
  ...oauthOperation,
  id: 'deleteConnectorOauth',
  method: 'DELETE',
  path: onePath,
  summary: 'Delete an OAuth configuration',
  description:
    'Refused while connector profiles of the account name it, unless `confirm` is true. The secrets in the vault are not deleted.',
  permission: 'project:configure',
  params: oneParams,
  headers: ifMatchHeader,
  query: Type.Object({ confirm: Type.Boolean({ default: false }) }),
  success: { status: 204 },
  problems: ['connector-oauth-not-found', 'connector-oauth-in-use', 'etag-mismatch'],
  events: ['connector-oauth-deleted'],
});

export const authorizeConnectorOauth = operation({
  ...oauthOperation,
  id: 'authorizeConnectorOauth',
  method: 'POST',
  path: `${onePath}/authorization`,
  summary: 'Start the authorization of an OAuth configuration',
  description:
    'Open `authorizationUrl` in a browser, and allow access there. The provider then leads the browser to a page of this server, and an agent exchanges the code for tokens (RFC 6749, with PKCE) and stores them in its vault. The address works once, for ten minutes, and as long as the caller has the permission. Starting again makes the earlier address void.',
  permission: 'project:configure',
  params: oneParams,
  answerHoldsSecret: true,
  success: {
    status: 201,
    body: named(
      'ConnectorAuthorization',
      Type.Object({
        authorizationUrl: Type.String({ maxLength: 16_384 }),
        redirectUri: Type.String({
          maxLength: 2_048,
          description: 'The redirect address to register at the provider',
        }),
        expiresAt: DateTime,
      }),
    ),
  },
  problems: ['connector-oauth-not-found', 'connector-oauth-invalid', 'connector-oauth-pending'],
  events: ['connector-authorization-requested'],
});

export const connectorOauthOperations = [
  listConnectorOauths,
  createConnectorOauth,
  getConnectorOauth,
  updateConnectorOauth,
  deleteConnectorOauth,
  authorizeConnectorOauth,
] as const;
