/** Problems and events of delivery from Git. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

/** Of the address that providers send webhooks to. No problem tells which projects exist. */
const hookProblems = {
  'hook-not-found': kind(
    404,
    'No project takes the webhook: the project does not exist or has no secret for webhooks, or the webhook does not show or sign with that secret.',
    () =>
      'No project takes this webhook: the project in the address does not exist or has no secret for webhooks, or the webhook does not show or sign with that secret. Create one: POST /v1/projects/{projectId}/repositories/hook-secret.',
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
      'The body names no branch, tag or commit, or more than one of them.',
      () => 'The body must have exactly one of `branch`, `tag` and `commit`, for example {"branch": "main"}.',
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
  },
} as const satisfies Outcomes;
