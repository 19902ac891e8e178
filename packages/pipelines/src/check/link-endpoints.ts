/** Checks what components of connectors name, against the profiles of their version. */
import { chooseAuthentication } from '../connectors/connection.ts';
import { listConnectionSecrets, listUnknownProperties } from '../connectors/connection-properties.ts';
import { type ConnectorEndpoint, ConnectorError, type ConnectorProfile } from '../connectors/profile.ts';
import { connectorProfileName, connectorProfilePath } from '../connectors/profile-file.ts';
import type { JsonMap } from '../connectors/profile-reader.ts';
import type { Suggestions } from '../format/nearest.ts';
import type { FindingCode, Question } from '../validate/finding.ts';

/** What the check of a pipeline needs of an endpoint. */
export type EndpointOutline = Pick<ConnectorEndpoint, 'id' | 'name' | 'auth' | 'authenticationOptions'>;
export interface ProfileOutline {
  name: string;
  endpoints: readonly EndpointOutline[];
}

export type EndpointQuestion = Extract<Question, { asks: 'endpoint' }>;

/** The profiles that could be read, by the path of their file. `files`: all paths of the version. */
export interface KnownProfiles {
  files: ReadonlySet<string>;
  profiles?: ReadonlyMap<string, ProfileOutline>;
}

export interface EndpointFault {
  code: FindingCode;
  message: string;
}

/** The part of a profile that is kept until all files have arrived. */
export function outlineProfile({ name, endpoints }: ConnectorProfile): ProfileOutline {
  return {
    name,
    endpoints: endpoints.map(({ id, name, auth, authenticationOptions }) => ({
      id,
      name,
      auth,
      authenticationOptions,
    })),
  };
}

/** The endpoint that a component names: by its name, by its id, or by its name in another case. */
export function findNamedEndpoint<Endpoint extends Pick<ConnectorEndpoint, 'id' | 'name'>>(
  endpoints: readonly Endpoint[],
  expected: string,
): Endpoint | undefined {
  const lower = expected.toLowerCase();
  return (
    endpoints.find(({ name }) => name === expected) ??
    endpoints.find(({ id }) => id === expected) ??
    endpoints.find(({ name }) => name.toLowerCase() === lower)
  );
}

const isOpen = (text: string) => text === '' || text.includes('${');

/** Undefined if it is not in the version, or only the run knows it. */
function findProfile({ files, profiles }: KnownProfiles, expected: string): ProfileOutline | undefined {
  const path = connectorProfilePath(expected);
  if (files.has(path)) return profiles?.get(path);
  return [...(profiles?.values() ?? [])].find(({ name }) => name === expected);
}

function isMissing(known: KnownProfiles, expected: string): boolean {
  if (known.files.has(connectorProfilePath(expected)) || findProfile(known, expected) !== undefined)
    return false;
  // One that was not read may have this name inside.
  return [...known.files].every(
    (path) => connectorProfileName(path) === undefined || known.profiles?.has(path) === true,
  );
}

/** The secret references of API keys, whose names the profile decides. */
export function listKeySecrets(question: EndpointQuestion, known: KnownProfiles): string[] {
  const endpoint = findProfile(known, question.profile)?.endpoints;
  const named = endpoint && findNamedEndpoint(endpoint, question.endpoint);
  if (named === undefined) return [];
  const usual = listConnectionSecrets(question.connection);
  return listConnectionSecrets(question.connection, named).filter(
    (name) => !usual.includes(name) && !isOpen(name),
  );
}

/** What is wrong with a call of an endpoint. Names that are expressions are known only in the run. */
export function listEndpointFaults(
  question: EndpointQuestion,
  known: KnownProfiles,
  title: string,
  suggest: Suggestions,
): EndpointFault[] {
  const { profile: expected, endpoint: name, connection } = question;
  if (isOpen(expected)) return [];
  if (isMissing(known, expected)) {
    const names = () => [...known.files].flatMap((path) => connectorProfileName(path) ?? []);
    const publish = `publish it as ${connectorProfilePath(expected)}`;
    const remedy = suggest(expected, names, [publish, ...listNames(names())].join(', or '));
    const message = `the connector profile "${expected}" is not in ${title}: ${remedy}`;
    return [{ code: 'missing-connector-profile', message }];
  }
  const profile = findProfile(known, expected);
  if (profile === undefined || isOpen(name)) return [];
  const endpoint = findNamedEndpoint(profile.endpoints, name);
  if (endpoint !== undefined) return listConnectionFaults(connection, endpoint);
  const names = () => profile.endpoints.map((each) => each.name);
  const remedy = suggest(name, names, listNames(names())[0] ?? 'it has none');
  const message = `the connector profile "${expected}" has no endpoint "${name}": ${remedy}`;
  return [{ code: 'missing-connector-endpoint', message }];
}

const namedAtMost = 20;

/** One part of a sentence, or none. */
function listNames(names: readonly string[]): string[] {
  const shown = names.slice(0, namedAtMost).map((name) => `"${name}"`);
  return shown.length === 0 ? [] : [`use one of ${shown.join(', ')}`];
}

function listConnectionFaults(connection: JsonMap, endpoint: EndpointOutline): EndpointFault[] {
  const unknown = listUnknownProperties(connection, endpoint);
  const describe = ({ name }: { name: string }): EndpointFault => {
    const message = `the property "${name}" of the connection has no effect: the endpoint "${endpoint.name}" does not use it`;
    return { code: 'no-effect', message };
  };
  const hasOpen = Object.values(connection).some((value) => JSON.stringify(value ?? null).includes('${'));
  try {
    if (!hasOpen) chooseAuthentication(endpoint, connection);
    return unknown.map(describe);
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    const strange = unknown.filter(({ nearest }) => nearest === undefined).map(describe);
    return [...strange, { code: 'invalid-connection', message: error.message }];
  }
}
