/** The rules of a test, as pure functions. */
import type { ConnectorConnection, ConnectorParameters } from '@headgate/contract';
import {
  type Authentication,
  type ConnectionValue,
  ConnectorError,
  chooseAuthentication,
  createEndpointRequest,
  readProfile,
} from '@headgate/pipelines';
import { isPlainObject } from '../../kernel/http/json-schema.ts';
import { problem } from '../../kernel/http/problems.ts';
import { findObstacle } from '../../workspace/agents/index.ts';
import type { TestPlaceRow } from './connector-test-place.store.ts';

export interface TestedEndpoint {
  /** As in the profile. */
  endpoint: Record<string, unknown>;
  name: string;
  secretNames: string[];
  oauthName: string | undefined;
}

interface TestedRequest {
  endpointId: string;
  parameters?: ConnectorParameters;
  connection?: ConnectorConnection;
}

const shownEndpoints = 10;

/**
 * Finds the endpoint by its id or name, and what the connection names. Throws `connector-endpoint-not-found`,
 * `connector-profile-invalid` and `connector-connection-invalid`.
 */
export function findTestedEndpoint(
  text: string,
  { endpointId, parameters = {}, connection = {} }: TestedRequest,
): TestedEndpoint {
  const json = JSON.parse(text) as { endpoints: Record<string, unknown>[] };
  const { profile, findings } = readProfile(json);
  if (profile === undefined) {
    // A later version may have stricter rules than the one that stored it.
    const [{ path, message } = { path: '', message: 'cannot be read' }] = findings;
    const more = findings.length - 1;
    throw problem('connector-profile-invalid', { field: path || 'the profile', reason: message, more });
  }
  const at = [
    profile.endpoints.findIndex(({ id }) => id === endpointId),
    profile.endpoints.findIndex(({ name }) => name === endpointId),
  ].find((index) => index >= 0);
  const [read, endpoint] = at === undefined ? [] : [profile.endpoints[at], json.endpoints[at]];
  if (read === undefined || endpoint === undefined) {
    const known = profile.endpoints.slice(0, shownEndpoints).map(({ id }) => id);
    throw problem('connector-endpoint-not-found', { id: endpointId, known });
  }
  const authentication = refuseFault('body.connection', () => chooseAuthentication(read, connection));
  const { headerParameters = {}, queryParameters = {}, uriParameters = {}, body } = parameters;
  const values = {
    headers: Object.entries(headerParameters),
    query: Object.entries(queryParameters),
    uri: Object.entries(uriParameters),
    ...(body === undefined ? {} : { body }),
  };
  // The agent makes the request. Here a missing value is found before an agent is asked.
  refuseFault('body.parameters', () => createEndpointRequest(read, values, { parameters: [] }));
  const oauthName = authentication.type === 'OAUTH' ? authentication.name : undefined;
  return { endpoint, name: read.name, secretNames: listSecrets(authentication, connection), oauthName };
}

function refuseFault<Result>(field: string, work: () => Result): Result {
  try {
    return work();
  } catch (failure) {
    if (!(failure instanceof ConnectorError)) throw failure;
    throw problem('connector-connection-invalid', { field, reason: failure.message });
  }
}

/** Those with which the request authenticates, and all others that the connection names. */
function listSecrets(authentication: Authentication, connection: ConnectorConnection): string[] {
  const values: ConnectionValue[] = [];
  if (authentication.type === 'BASIC') values.push(authentication.username, authentication.password);
  if (authentication.type === 'BEARER') values.push(authentication.token);
  if (authentication.type === 'API_KEY') values.push(...authentication.keys.map(({ value }) => value));
  const used = values.flatMap((value) => ('secretName' in value ? [value.secretName] : []));
  const named = Object.values(connection).flatMap((value) =>
    isPlainObject(value) ? [String(value.secretName)] : [],
  );
  return [...new Set([...used, ...named])].sort();
}

/** Returns the agent. Throws `unknown-environment`, `unknown-agent` and `connector-agent-unavailable`. */
export function requireTestAgent(
  place: TestPlaceRow | undefined,
  environmentName: string,
  agentId: string | undefined,
): { agentId: string; agentName: string } {
  if (place === undefined || place.environment_name === null)
    throw problem('unknown-environment', { name: environmentName });
  const { agent_id: found, agent_name: name } = place;
  if (found === null || name === null) {
    if (agentId !== undefined) throw problem('unknown-agent', { id: agentId });
    const reason = `the environment ${JSON.stringify(environmentName)} has no agent: give it a default agent, or pass agentId`;
    throw problem('connector-agent-unavailable', { reason });
  }
  const obstacle = findObstacle(place, 'to test connectors');
  if (obstacle !== undefined) {
    const reason = `the agent ${JSON.stringify(name)} ${obstacle.words}`;
    throw problem('connector-agent-unavailable', { reason });
  }
  return { agentId: found, agentName: name };
}
