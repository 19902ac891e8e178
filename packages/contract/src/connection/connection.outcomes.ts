/** Problems and events of connections, data warehouse connections and connection overrides. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const connectionOutcomes = {
  events: [
    'connection-created',
    'connection-updated',
    'connection-deleted',
    'connection-override-written',
    'connection-override-deleted',
    'connection-test-requested',
    'connection-test-claimed',
    'connection-test-ended',
  ],
  problems: {
    'connection-not-found': kind<{ name: string }>(
      404,
      'The project has no connection with this name.',
      ({ name }) => `The project has no connection ${quoted(name)}.`,
    ),
    'connection-override-not-found': kind<{ names: readonly string[]; environmentName: string }>(
      404,
      'One of the named connections has no override in the environment. Nothing was deleted.',
      ({ names, environmentName }) =>
        `The environment ${quoted(environmentName)} has no override of: ${names.map(quoted).join(', ')}. Nothing was deleted.`,
    ),
    'connection-name-taken': kind<{ name: string }>(
      409,
      'Another connection of the project has this name.',
      ({ name }) => `A connection named ${quoted(name)} already exists in this project.`,
    ),
    'connection-triple': kind<{
      platformConnectionType: string;
      authProvider: string;
      authType: string;
      allowed: string;
    }>(
      422,
      '`platformConnectionType`, `authProvider` and `authType` cannot be combined in this way.',
      ({ platformConnectionType, authProvider, authType, allowed }) =>
        `A ${platformConnectionType} connection with the authProvider ${quoted(authProvider)} cannot have the authType ${authType}: ${allowed}.`,
    ),
    'connection-properties': kind<{ field: string; reason: string }>(
      422,
      'The properties are not valid for this kind of connection.',
      ({ field, reason }) => `${field}: ${reason}`,
    ),
    'connection-provider-fixed': kind<{ provider: string; found: string }>(
      422,
      'The request names a different provider from the one that the connection was created with.',
      ({ provider, found }) =>
        `body.authProvider is ${found}, but the provider of a connection cannot be changed: it is ${provider}. Create another connection for ${found}.`,
    ),
    'connection-test-agent-unavailable': kind<{ reason: string }>(
      409,
      'No agent can test the connection now.',
      ({ reason }) => `The connection cannot be tested: ${reason}.`,
    ),
    'connection-test-timeout': kind<{ agentName: string; seconds: number }>(
      504,
      'The agent did not answer in time.',
      ({ agentName, seconds }) =>
        `The agent ${quoted(agentName)} did not answer within ${seconds} s. Try again, or check its status.`,
    ),
    'connection-override': kind<{ reason: string }>(
      422,
      'The connection cannot be overridden in this way.',
      ({ reason }) => reason,
    ),
  },
} as const satisfies Outcomes;
