/**
 * Connectors in the agent protocol: the test of an endpoint, the exchange of an authorization code, and the OAuth
 * configurations that runs and tests use.
 */
import { type Static, Type } from 'typebox';
import {
  ConnectorOauthName,
  ConnectorOauthText,
  connectorGrantTypes,
} from '../connector-oauth/connector-oauth.ts';
import {
  ConnectorConnection,
  ConnectorParameters,
  connectorKinds,
} from '../connector-profile/connector-test.ts';
import { DateTime, EnvironmentName, mapOf, Name, oneOf, ProjectId, Uuid } from '../primitives.ts';
import { SecretCoordinates } from '../secret/secret-value.ts';
import { Holding } from './work.ts';

export const ConnectorTestWork = Type.Object({
  projectId: ProjectId,
  environmentName: EnvironmentName,
  connectorKind: oneOf(connectorKinds),
  profileName: Name,
  endpoint: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'As in the profile',
  }),
  parameters: ConnectorParameters,
  connection: ConnectorConnection,
  timeoutSeconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 600,
      description: 'After it the test completes with a problem: a request waits for it',
    }),
  ),
});
/** One request to one endpoint. Completes with `connectorTest`, also if the endpoint refuses the request. */
export type ConnectorTestWork = Static<typeof ConnectorTestWork>;

export const ConnectorAuthorizationWork = Type.Object({ connectorOauthId: Uuid, name: ConnectorOauthName });
/**
 * Exchange an authorization code for tokens, and write them to the vault. The lookup of the configuration with
 * this work has the code. Completes as SUCCESS when the vault has the tokens, else as FAILED with the reason.
 */
export type ConnectorAuthorizationWork = Static<typeof ConnectorAuthorizationWork>;

export const ConnectorOauthLookup = Type.Object({ instanceId: Uuid, ...Holding, name: ConnectorOauthName });
/** An instance that holds work of a project asks for one of its OAuth configurations. */
export type ConnectorOauthLookup = Static<typeof ConnectorOauthLookup>;

export const ConnectorOauthPlan = Type.Object({
  connectorOauthId: Uuid,
  projectId: Type.Unsafe<string>({ ...ProjectId, description: 'The owner of the tokens that are written' }),
  name: ConnectorOauthName,
  grantType: oneOf(connectorGrantTypes),
  tokenUrl: ConnectorOauthText,
  scopes: Type.Array(Type.String({ maxLength: 1_000 }), { maxItems: 100 }),
  additionalParameters: mapOf(ConnectorOauthText, {
    maxProperties: 50,
    description: 'Of each request for a token',
  }),
  clientSecret: Type.Optional({
    ...SecretCoordinates,
    description: 'A secret with the members clientId and clientSecret',
  }),
  tokens: Type.Optional({
    ...SecretCoordinates,
    description: 'Where the members projectId, accessToken and refreshToken are written',
  }),
  authorizedAt: Type.Optional(
    Type.Unsafe<string>({ ...DateTime, description: 'Tokens that came before it are not used' }),
  ),
  problem: Type.Optional(
    Type.String({ maxLength: 1_000, description: 'The last report of a problem, until one that it is over' }),
  ),
  grant: Type.Optional(
    Type.Object(
      {
        code: ConnectorOauthText,
        codeVerifier: Type.String({ maxLength: 128, description: 'RFC 7636' }),
        redirectUri: ConnectorOauthText,
      },
      { description: 'Only for work of the kind connector-authorization' },
    ),
  ),
});
export type ConnectorOauthPlan = Static<typeof ConnectorOauthPlan>;

export const ConnectorOauthProblemReport = Type.Object({
  instanceId: Uuid,
  ...Holding,
  connectorOauthId: Uuid,
  problem: Type.Union([Type.String({ minLength: 1, maxLength: 1_000 }), Type.Null()], {
    description:
      'Why tokens cannot be got any more, such as a revoked refresh token, without secrets; null: they were got',
  }),
});
export type ConnectorOauthProblemReport = Static<typeof ConnectorOauthProblemReport>;
