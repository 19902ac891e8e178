/** Problems and events of connector profiles and of testing them. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const connectorProfileOutcomes = {
  events: [
    'connector-profile-created',
    'connector-profile-updated',
    'connector-profile-deleted',
    'connector-test-requested',
    'connector-test-claimed',
    'connector-test-ended',
  ],
  problems: {
    'connector-profile-not-found': kind<{ id: string; kind: string }>(
      404,
      'The account has no such connector profile, or it was deleted.',
      ({ id, kind: of }) => `There is no ${of} connector profile ${id}.`,
    ),
    'connector-profile-taken': kind<{ field: string; value: string }>(
      409,
      'Another connector profile of the same kind has this name or `alternateId`.',
      ({ field, value }) =>
        `Another connector profile has the ${field} ${quoted(value)}. Choose another ${field}.`,
    ),
    'connector-profile-invalid': kind<{ field: string; reason: string; more: number }>(
      422,
      'A rule between the members of the connector profile is broken, such as a parameter of the path that the URL does not have.',
      ({ field, reason, more }) =>
        `${field}: ${reason}${more > 0 ? ` (and ${more} more ${more === 1 ? 'fault' : 'faults'})` : ''}`,
    ),
    'too-many-connector-profiles': kind<{ limit: string }>(
      409,
      'The account has as many connector profiles as it may have, by number or by size. Delete one.',
      ({ limit }) => `The connector profiles of a kind are limited to ${limit}; delete one first.`,
    ),
    'connector-endpoint-not-found': kind<{ id: string; known: readonly string[] }>(
      422,
      'The connector profile has no endpoint with this id or name.',
      ({ id, known }) =>
        `body.endpointId: the connector profile has no endpoint ${quoted(id)}; it has ${known.map(quoted).join(', ') || 'none'}.`,
    ),
    'connector-connection-invalid': kind<{ field: string; reason: string }>(
      422,
      'A property of the connection of a test is a plain secret, or names no secret reference or OAuth configuration of the project; or a parameter has no value, or no place in the address.',
      ({ field, reason }) => `${field}: ${reason}`,
    ),
    'connector-agent-unavailable': kind<{ reason: string }>(
      409,
      'No agent can do this: none is set, or it is not connected, too old, paused, or not allowed in this project and environment.',
      ({ reason }) => `No agent can do this: ${reason}.`,
    ),
    'connector-test-failed': kind<{ reason: string }>(
      502,
      'The agent could not test the endpoint, for example because a secret cannot be read.',
      ({ reason }) => `The agent could not test the endpoint: ${reason}`,
    ),
    'connector-test-timeout': kind<{ profileName: string; seconds: number }>(
      504,
      'The agent did not answer in time.',
      ({ profileName, seconds }) =>
        `The agent did not answer within ${seconds} s for the connector profile ${quoted(profileName)}. Try again, or test with another agent.`,
    ),
  },
} as const satisfies Outcomes;
