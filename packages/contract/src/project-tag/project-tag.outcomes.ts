/** Problems and events of project tags. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const projectTagOutcomes = {
  events: ['project-tag-created', 'project-tag-updated', 'project-tag-deleted'],
  problems: {
    'project-tag-not-found': kind<{ name: string }>(
      404,
      'The project has no tag with this name.',
      ({ name }) => `The project has no tag ${quoted(name)}.`,
    ),
    'project-tag-name-taken': kind<{ name: string }>(
      409,
      'Another tag of the project has this name.',
      ({ name }) => `A tag named ${quoted(name)} already exists in this project.`,
    ),
  },
} as const satisfies Outcomes;
