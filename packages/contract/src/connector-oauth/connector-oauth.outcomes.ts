/** Problems and events of the OAuth configurations of connectors. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const connectorOauthOutcomes = {
  events: [
    'connector-oauth-created',
    'connector-oauth-updated',
    'connector-oauth-deleted',
    'connector-oauth-problem-changed',
    'connector-authorization-requested',
    'connector-authorization-claimed',
    'connector-authorization-ended',
  ],
  problems: {
    'connector-oauth-not-found': kind<{ id: string }>(
      404,
      'The project has no such OAuth configuration.',
      ({ id }) => `The project has no OAuth configuration ${quoted(id)}.`,
    ),
    'connector-oauth-taken': kind<{ name: string }>(
      409,
      'Another OAuth configuration of the project has this name.',
      ({ name }) => `An OAuth configuration named ${quoted(name)} already exists in this project.`,
    ),
    'connector-oauth-invalid': kind<{ field: string; reason: string }>(
      422,
      'A member of the OAuth configuration is missing for its grant, or is not an address or reference that can be used.',
      ({ field, reason }) => `${field}: ${reason}`,
    ),
    'connector-oauth-pending': kind<{ name: string; reason: string }>(
      422,
      'The OAuth configuration is PENDING: it has no secret references, or was not authorized yet.',
      ({ name, reason }) => `The OAuth configuration ${quoted(name)} is PENDING: ${reason}`,
    ),
    'connector-oauth-in-use': kind<{ name: string; profiles: readonly string[]; total: number }>(
      409,
      'Connector profiles name the OAuth configuration. `confirm=true` deletes it anyway.',
      ({ name, profiles, total }) =>
        `The OAuth configuration ${quoted(name)} is named by ${total} connector ${total === 1 ? 'profile' : 'profiles'}: ${profiles.map(quoted).join(', ')}${total > profiles.length ? ', …' : ''}. Change them first, or send confirm=true.`,
    ),
    'too-many-connector-oauths': kind<{ limit: number }>(
      409,
      'The project has as many OAuth configurations as it may have. Delete one.',
      ({ limit }) =>
        `The project has ${limit} OAuth configurations, the most that a project may have; delete one first.`,
    ),
  },
} as const satisfies Outcomes;
