/** Problems of roles and members of groups. Those of groups are in directory/directory.outcomes.ts. */
import { kind } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const groupOutcomes = {
  events: [],
  problems: {
    'group-member-not-found': kind<{ id: string }>(
      404,
      'The user is no member of the group.',
      ({ id }) => `The group has no member ${id}.`,
    ),
    'super-admin-for-a-time': kind<{ until: string }>(
      403,
      'The caller is a Super Admin for a time, and cannot give this role for longer.',
      ({ until }) =>
        `You are a Super Admin until ${until}, and can give this role at most until then. Ask a Super Admin without an end.`,
    ),
    'place-without-role': kind<{ member: string }>(
      422,
      'The group has a project or environment, but no role there.',
      ({ member }) => `body.${member} needs body.role: what the group gives there, such as VIEWER.`,
    ),
    'environment-without-project': kind(
      422,
      'The group has an environment, but no project.',
      () => 'body.environmentName needs body.projectId: the project of the environment.',
    ),
    'unknown-user': kind<{ ids: readonly string[] }>(
      422,
      'The body names a user that the account does not have.',
      ({ ids }) => `The account has no user ${ids.join(', ')}.`,
    ),
  },
} as const satisfies Outcomes;
