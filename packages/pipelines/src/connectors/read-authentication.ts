/** Reads how an endpoint authenticates. */
import { connectorNameLimit, connectorParameterLimit } from './bounds.ts';
import { describeHeaderFault } from './header.ts';
import type { ApiKey, AuthenticationOption, AuthenticationType, KeyPlace } from './profile.ts';
import { createMemberReader, type Findings, isJsonMap, type MemberReader } from './profile-reader.ts';

/** The words of profiles and of pipelines, in any case. */
const words: Readonly<Record<string, AuthenticationType>> = {
  none: 'NONE',
  'no-auth': 'NONE',
  basic: 'BASIC',
  'basic-auth': 'BASIC',
  'user-password': 'BASIC',
  'username-password': 'BASIC',
  bearer: 'BEARER',
  'bearer-token': 'BEARER',
  token: 'BEARER',
  'api-key': 'API_KEY',
  oauth: 'OAUTH',
  oauth2: 'OAUTH',
  'oauth-2.0': 'OAUTH',
  'oauth-client-cred': 'OAUTH',
  'oauth-client-credentials': 'OAUTH',
  'oauth-auth-code': 'OAUTH',
  'oauth-authorization-code': 'OAUTH',
  'oauth-user-tokens': 'OAUTH',
};

export function readAuthenticationType(reader: MemberReader, member: string): AuthenticationType | undefined {
  return reader.word(member, words);
}

/** The options, the endpoint's own type first. */
export function readAuthenticationOptions(
  reader: MemberReader,
  auth: AuthenticationType,
  findings: Findings,
): AuthenticationOption[] {
  const member = 'authenticationOptions';
  const options = reader.list(member, connectorParameterLimit).flatMap((raw, index) => {
    const place = `${reader.at(member)}[${index}]`;
    if (isJsonMap(raw)) return [readOption(createMemberReader(raw, place, findings), auth, findings)];
    findings.add(place, 'must be an object with a type');
    return [];
  });
  if (options.some(({ type }) => type === auth))
    return options.toSorted((one, other) => Number(other.type === auth) - Number(one.type === auth));
  return [createOption(auth, [], []), ...options];
}

function readOption(
  reader: MemberReader,
  auth: AuthenticationType,
  findings: Findings,
): AuthenticationOption {
  const type = readAuthenticationType(reader, 'type') ?? auth;
  const keys = type === 'API_KEY' ? readKeys(reader, findings) : [];
  return createOption(type, keys, type === 'OAUTH' ? readOAuthNames(reader) : []);
}

function createOption(
  type: AuthenticationType,
  keys: readonly ApiKey[],
  names: readonly string[],
): AuthenticationOption {
  if (type === 'API_KEY') return { type, keys };
  if (type === 'OAUTH') return { type, names };
  return { type };
}

const keyPlaceWords: Readonly<Record<string, KeyPlace>> = {
  query: 'QUERY',
  'query-parameter': 'QUERY',
  'query-param': 'QUERY',
  header: 'HEADER',
  'header-parameter': 'HEADER',
};

/** Each parameter is a key with `name` and `addTo`; `addTo` may stand in `additionalParameters` too. */
function readKeys(reader: MemberReader, findings: Findings): ApiKey[] {
  const shared = reader.child('additionalParameters')?.word('addTo', keyPlaceWords);
  const keys = reader.list('parameters', connectorParameterLimit).flatMap((raw, index) => {
    const place = `${reader.at('parameters')}[${index}]`;
    if (!isJsonMap(raw)) {
      findings.add(place, 'must be an object with the name of the key and addTo');
      return [];
    }
    const one = createMemberReader(raw, place, findings);
    const name = one.requiredText('name');
    if (!one.has('addTo') && shared === undefined) one.refuse('addTo', 'is missing: use QUERY or HEADER');
    const addTo = one.word('addTo', keyPlaceWords) ?? shared ?? 'HEADER';
    const fault = addTo === 'HEADER' && name !== '' ? describeHeaderFault(name, undefined) : undefined;
    if (fault !== undefined) one.refuse('name', `is refused: ${fault}`);
    return [{ name, addTo }];
  });
  const names = keys.map(({ name }) => name.toLowerCase());
  if (new Set(names).size < names.length)
    reader.refuse('parameters', 'has the same API key twice: the name of a key is unique');
  return keys;
}

/** Each parameter is the name of an OAuth configuration, or an object whose `value` or `name` is it. */
function readOAuthNames(reader: MemberReader): string[] {
  return reader.list('parameters', connectorParameterLimit).flatMap((raw, index) => {
    const name = isJsonMap(raw) ? (raw.value ?? raw.name) : raw;
    if (typeof name === 'string' && name !== '' && name.length <= connectorNameLimit) return [name];
    reader.refuse(`parameters[${index}]`, 'must name an OAuth configuration');
    return [];
  });
}
