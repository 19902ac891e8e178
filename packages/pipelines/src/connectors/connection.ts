/** With what an endpoint's request authenticates. Secrets are named here, never held. */
import { shorten } from '../format/template.ts';
import { connectionProperties, listUnknownProperties } from './connection-properties.ts';
import { describeHeaderFault } from './header.ts';
import {
  type ApiKey,
  type AuthenticationOption,
  type AuthenticationType,
  type ConnectorEndpoint,
  ConnectorError,
} from './profile.ts';
import { createFindings, createMemberReader, foldWord, isJsonMap, type JsonMap } from './profile-reader.ts';
import { readAuthenticationType } from './read-authentication.ts';

/** A value of a connection: plain text, or the name of a secret reference of the project. */
export type ConnectionValue = { text: string } | { secretName: string; secretKey?: string };

/** How one request authenticates. */
export type Authentication =
  | { type: 'NONE' }
  | { type: 'BASIC'; username: ConnectionValue; password: ConnectionValue }
  | { type: 'BEARER'; token: ConnectionValue }
  | { type: 'API_KEY'; keys: readonly (ApiKey & { value: ConnectionValue })[] }
  | { type: 'OAUTH'; name: string };

type AuthenticatedEndpoint = Pick<ConnectorEndpoint, 'name' | 'auth' | 'authenticationOptions'>;

/**
 * Chooses the authentication from what the endpoint allows and the connection gives.
 *
 * @param overrides `connectionRef.overrides` of a component, or `connection` of a test: `authType` and
 * properties. A secret property is the name of a secret reference, or `{secretName}`.
 * @throws ConnectorError that names what is missing
 */
export function chooseAuthentication(
  endpoint: AuthenticatedEndpoint,
  overrides: JsonMap = {},
): Authentication {
  const type = readWantedType(overrides) ?? endpoint.auth;
  requireKnownProperties(endpoint, overrides, type);
  const option = chooseOption(endpoint, type);
  switch (option.type) {
    case 'NONE':
      return { type: 'NONE' };
    case 'BASIC':
      return {
        type: 'BASIC',
        username: readValue(overrides, connectionProperties.username, 'plain', endpoint),
        password: readValue(overrides, connectionProperties.password, 'secret', endpoint),
      };
    case 'BEARER':
      return {
        type: 'BEARER',
        token: readValue(overrides, connectionProperties.token, 'secret', endpoint),
      };
    case 'API_KEY':
      return { type: 'API_KEY', keys: readKeys(option.keys, overrides, endpoint) };
    case 'OAUTH':
      return { type: 'OAUTH', name: readOAuthName(option.names, overrides, endpoint) };
  }
}

/** A misspelled property would have no effect. Others may be for another endpoint or type. @throws ConnectorError */
function requireKnownProperties(
  endpoint: AuthenticatedEndpoint,
  overrides: JsonMap,
  type: AuthenticationType,
): void {
  const misspelled = listUnknownProperties(overrides, endpoint, type).find(
    ({ nearest }) => nearest !== undefined,
  );
  if (misspelled === undefined) return;
  throw new ConnectorError(
    `the connection has "${shorten(misspelled.name)}", which is not one of its properties: did you mean "${misspelled.nearest}"?`,
  );
}

function chooseOption(endpoint: AuthenticatedEndpoint, expected: AuthenticationType): AuthenticationOption {
  // Sending no secret is always allowed.
  if (expected === 'NONE') return { type: 'NONE' };
  const option = endpoint.authenticationOptions.find(({ type }) => type === expected);
  if (option !== undefined) return option;
  const known = endpoint.authenticationOptions.map(({ type }) => type).join(', ');
  throw new ConnectorError(
    `the endpoint "${shorten(endpoint.name)}" does not authenticate by ${expected}: its profile has ${known}`,
  );
}

function readWantedType(overrides: JsonMap): AuthenticationType | undefined {
  const findings = createFindings();
  const reader = createMemberReader(overrides, '', findings);
  const type = connectionProperties.authType
    .map((member) => readAuthenticationType(reader, member))
    .find((each) => each !== undefined);
  const [fault] = findings.list;
  if (fault !== undefined) throw new ConnectorError(`"${fault.path}" of the connection ${fault.message}`);
  return type;
}

function findProperty(overrides: JsonMap, names: readonly string[]): unknown {
  const folded = names.map(foldWord);
  const found = Object.entries(overrides).find(
    ([name, value]) => folded.includes(foldWord(name)) && value !== null && value !== '',
  );
  return found?.[1];
}

/** A text is the value itself where it is no secret, else the name of a secret reference. */
function readValue(
  overrides: JsonMap,
  names: readonly string[],
  kind: 'plain' | 'secret',
  { name }: AuthenticatedEndpoint,
): ConnectionValue {
  const value = findProperty(overrides, names);
  if (isJsonMap(value) && typeof value.secretName === 'string' && value.secretName !== '') {
    const { secretName, secretKey } = value;
    return typeof secretKey === 'string' ? { secretName, secretKey } : { secretName };
  }
  if (typeof value === 'string' || typeof value === 'number')
    return kind === 'secret' ? { secretName: String(value) } : { text: String(value) };
  const what = kind === 'secret' ? 'the name of a secret reference' : 'a text';
  throw new ConnectorError(
    `the connection of the endpoint "${shorten(name)}" has no "${names[0]}": set it to ${what}`,
  );
}

function readKeys(
  declared: readonly ApiKey[],
  overrides: JsonMap,
  endpoint: AuthenticatedEndpoint,
): (ApiKey & { value: ConnectionValue })[] {
  const keys = declared.length > 0 ? declared : [readKeyOfConnection(overrides, endpoint)];
  // The only key may be given under a usual name, several each by its own.
  const usual = keys.length === 1 ? connectionProperties.key : [];
  return keys.map((key) => ({
    ...key,
    value: readValue(overrides, [key.name, ...usual], 'secret', endpoint),
  }));
}

function readKeyOfConnection(overrides: JsonMap, { name: endpoint }: AuthenticatedEndpoint): ApiKey {
  const name = findProperty(overrides, connectionProperties.keyName);
  if (typeof name !== 'string')
    throw new ConnectorError(
      `the profile does not name the API key of the endpoint "${shorten(endpoint)}": set "keyName" in the connection`,
    );
  const place = String(findProperty(overrides, connectionProperties.addTo) ?? 'HEADER');
  const addTo = foldWord(place).startsWith('query') ? 'QUERY' : 'HEADER';
  const fault = addTo === 'HEADER' ? describeHeaderFault(name, undefined) : undefined;
  if (fault !== undefined) throw new ConnectorError(`"keyName" of the connection is refused: ${fault}`);
  return { name, addTo };
}

function readOAuthName(
  names: readonly string[],
  overrides: JsonMap,
  endpoint: AuthenticatedEndpoint,
): string {
  const chosen = findProperty(overrides, connectionProperties.oauth);
  if (chosen === undefined) {
    const [usual] = names;
    if (usual !== undefined) return usual;
    throw new ConnectorError(
      `neither the profile nor the connection names the OAuth configuration of the endpoint "${shorten(endpoint.name)}": set "oauth" in the connection`,
    );
  }
  if (typeof chosen !== 'string') throw new ConnectorError('"oauth" of the connection must be a name');
  if (names.length === 0 || names.includes(chosen)) return chosen;
  throw new ConnectorError(
    `the endpoint "${shorten(endpoint.name)}" has no OAuth configuration "${shorten(chosen)}": its profile has ${names.map((name) => `"${shorten(name)}"`).join(', ')}`,
  );
}
