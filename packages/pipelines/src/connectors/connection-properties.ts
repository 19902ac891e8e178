/** The properties of a connection: their usual names, those that hold secrets, and those that mean nothing. */
import { findNearestName } from '../format/nearest.ts';
import type { AuthenticationType, ConnectorEndpoint } from './profile.ts';
import { foldWord, isJsonMap, type JsonMap } from './profile-reader.ts';

/** The names of each property, the documented one first. Case and separators do not matter. */
export const connectionProperties = {
  authType: ['authType', 'authenticationType', 'auth'],
  username: ['username', 'user'],
  password: ['password'],
  token: ['token', 'bearerToken', 'accessToken'],
  /** The value of the only key. Several keys are given by their own names. */
  key: ['apiKey', 'apiKeyValue', 'keyValue', 'value'],
  keyName: ['keyName', 'apiKeyName'],
  addTo: ['addTo'],
  oauth: ['oauth', 'oauthName', 'oauthConnection', 'authentication'],
} as const;

type Authenticating = Pick<ConnectorEndpoint, 'authenticationOptions'>;
type Option = Authenticating['authenticationOptions'][number];

const usualNames: readonly string[] = Object.values(connectionProperties).flat();
const usualSecrets = [
  ...connectionProperties.password,
  ...connectionProperties.token,
  ...connectionProperties.key,
];

const listKeyNames = ({ authenticationOptions }: Authenticating): string[] =>
  authenticationOptions.flatMap((option) =>
    option.type === 'API_KEY' ? option.keys.map(({ name }) => name) : [],
  );

const isGiven = (value: unknown) => value !== undefined && value !== null && value !== '';

/**
 * The names of the secret references that a connection gives.
 *
 * @param endpoint undefined: keys that are given by their own names are not found
 */
export function listConnectionSecrets(overrides: JsonMap, endpoint?: Authenticating): string[] {
  const secret = new Set(
    [...usualSecrets, ...(endpoint === undefined ? [] : listKeyNames(endpoint))].map(foldWord),
  );
  const names = Object.entries(overrides).flatMap(([name, value]) => {
    if (isJsonMap(value)) return typeof value.secretName === 'string' ? [value.secretName] : [];
    return secret.has(foldWord(name)) && typeof value === 'string' ? [value] : [];
  });
  return [...new Set(names)].filter((name) => name !== '');
}

/** The names of each property that requests need. Others, such as `auth`, are too short to be compared. */
function listNeeded(option: Option): (readonly string[])[] {
  const { username, password, token, key, keyName, oauth } = connectionProperties;
  switch (option.type) {
    case 'NONE':
      return [];
    case 'BASIC':
      return [username, password];
    case 'BEARER':
      return [token];
    case 'API_KEY':
      if (option.keys.length === 0) return [key, keyName];
      return option.keys.map(({ name }) => (option.keys.length === 1 ? [name, ...key] : [name]));
    case 'OAUTH':
      return [oauth];
  }
}

/**
 * Properties that no authentication of the endpoint uses: other endpoints may use them. Each has the absent one that
 * it is probably meant to be, if any.
 *
 * @param type undefined: any type of the endpoint may be meant
 */
export function listUnknownProperties(
  overrides: JsonMap,
  endpoint: Authenticating,
  type?: AuthenticationType,
): { name: string; nearest: string | undefined }[] {
  const folded = new Set([...usualNames, ...listKeyNames(endpoint)].map(foldWord));
  const setNames = Object.keys(overrides).filter((name) => isGiven(overrides[name]));
  const present = new Set(setNames.map(foldWord));
  const isAbsent = (names: readonly string[]) => !names.some((name) => present.has(foldWord(name)));
  const options = endpoint.authenticationOptions.filter((each) => type === undefined || each.type === type);
  const absent = [...options.flatMap(listNeeded).filter(isAbsent).flat()];
  if (isAbsent(connectionProperties.authType)) absent.push('authType', 'authenticationType');
  return setNames
    .filter((name) => !folded.has(foldWord(name)))
    .map((name) => {
      const nearest = findNearestName(foldWord(name), absent.map(foldWord));
      return { name, nearest: absent.find((each) => foldWord(each) === nearest) };
    });
}
