/** Problems and events of environments. */
import { kind, quoted } from '../problem-kind.ts';
import type { Outcomes } from '../sum-of-outcomes.ts';

export const environmentOutcomes = {
  events: ['environment-created', 'environment-updated', 'environment-deleted'],
  problems: {
    'environment-not-found': kind<{ name: string }>(
      404,
      'The project has no environment with this name.',
      ({ name }) => `The project has no environment ${quoted(name)}.`,
    ),
    'environment-name-taken': kind<{ name: string }>(
      409,
      'Another environment of the project has this name.',
      ({ name }) => `An environment named ${quoted(name)} already exists in this project.`,
    ),
    'unknown-environment': kind<{ name: string }>(
      422,
      'The body names an environment that the project does not have.',
      ({ name }) => `The project has no environment ${quoted(name)}.`,
    ),
    'unknown-connection': kind<{ field: string; name: string; kind: string }>(
      422,
      'The body names a connection that the project does not have, or that is of another kind.',
      ({ field, name, kind }) => `${field}: the project has no ${kind} named ${quoted(name)}.`,
    ),
    'duplicate-connection': kind<{ field: string; name: string }>(
      422,
      'The body names a connection more than once.',
      ({ field, name }) => `${field} names ${quoted(name)} more than once.`,
    ),
  },
} as const satisfies Outcomes;
