/** Problems and events of delivery from Git. */
import { kind, quoted } from '../problem-kind.ts';
import type { Outcomes } from '../sum-of-outcomes.ts';

/** Of the address that providers send webhooks to. No problem tells which projects exist. */
const hookProblems = {
  'hook-refused': kind<{ reason: string }>(
    401,
    'A webhook of a Git provider did not prove that it knows the secret of the project.',
    ({ reason }) => `The webhook is refused: ${reason}`,
  ),
  'hook-invalid': kind<{ reason: string }>(
    400,
    'A webhook of a Git provider cannot be read, or is too old.',
    ({ reason }) => `The webhook cannot be used: ${reason}`,
  ),
  'hook-repeated': kind(
    409,
    'A webhook of a Git provider was received before. It has no further effect.',
    () => 'This webhook was received before; it has no further effect.',
  ),
} as const;

export const gitDeliveryOutcomes = {
  events: ['branch-published', 'branch-not-published', 'commit-status-not-set', 'git-hook-secret-created'],
  problems: {
    ...hookProblems,
    'branch-or-commit': kind(
      422,
      'The body names neither a branch nor a commit, or both.',
      () => 'The body must have either `branch` or `commit`, for example {"branch": "main"}.',
    ),
    'git-tree-refused': kind<{ commit: string; reason: string }>(
      422,
      'The commit holds files that cannot be published: too many, too large, or with names that are no valid paths. Nothing was stored.',
      ({ commit, reason }) => `The commit ${commit} cannot be published: ${reason}`,
    ),
    'hook-not-supported': kind<{ provider: string }>(
      422,
      'No webhook is known for repositories of this kind: hosted ones publish at each push, others are polled.',
      ({ provider }) =>
        `A repository of the provider ${quoted(provider)} has no webhook: hosted ones publish at each push, others are polled.`,
    ),
    'too-many-delivery-rules': kind<{ limit: number }>(
      422,
      'The body has more delivery rules than a project may have, or the same rule twice.',
      ({ limit }) => `body.deliveryRules has more than ${limit} items, or the same rule twice.`,
    ),
  },
} as const satisfies Outcomes;
