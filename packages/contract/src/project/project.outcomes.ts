/** Problems and events of projects. */
import { kind, quoted } from '../problem-kind.ts';
import type { Outcomes } from '../sum-of-outcomes.ts';

export const projectOutcomes = {
  events: ['project-created', 'project-updated', 'project-deleted'],
  problems: {
    'project-not-found': kind<{ projectId: string }>(
      404,
      'The project does not exist, or the caller has no role in it.',
      ({ projectId }) => `There is no project ${projectId}.`,
    ),
    'project-name-taken': kind<{ name: string }>(
      409,
      'Another project of the account has this name.',
      ({ name }) => `A project named ${quoted(name)} already exists in this account.`,
    ),
    'unknown-project': kind<{ id: string }>(
      422,
      'The body names a project that the account does not have.',
      ({ id }) => `The account has no project ${id}.`,
    ),
  },
} as const satisfies Outcomes;
