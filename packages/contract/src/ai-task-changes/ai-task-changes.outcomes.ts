/** Problems and events of the changes of AI tasks. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const aiTaskChangesOutcomes = {
  events: ['ai-task-merged', 'ai-task-discarded'],
  problems: {
    'ai-task-no-changes': kind<{ id: string }>(
      409,
      'The AI task has changed no files.',
      ({ id }) => `The AI task ${id} has changed no files, so there is nothing to merge or discard.`,
    ),
    'ai-task-changes-closed': kind<{ id: string; state: string }>(
      409,
      'The changes of the AI task were merged or discarded before.',
      ({ id, state }) => `The changes of the AI task ${id} are ${state} already.`,
    ),
    'ai-task-changes-busy': kind<{ id: string }>(
      409,
      'The changes of the AI task are being merged or discarded.',
      ({ id }) =>
        `Another request merges or discards the changes of the AI task ${id}: read the changes again. After a failure of a server, try again in 5 minutes.`,
    ),
    'ai-task-changes-committed': kind<{ branch: string; commitId: string }>(
      409,
      'The AI task has committed to a branch that it did not make, which a discard does not change.',
      ({ branch, commitId }) =>
        `The commits of the task are on the branch ${quoted(branch)} up to ${commitId.slice(0, 12)}, and the task did not make that branch: ` +
        'revert them by Git, and delete the task. Nothing was discarded.',
    ),
    'ai-task-merge-conflict': kind<{ paths: readonly string[]; total: number; branch: string | null }>(
      409,
      'Somebody else has changed a file that the AI task changed too.',
      ({ paths, total, branch }) =>
        `Changed by somebody else in between: ${paths.map(quoted).join(', ')}${total > paths.length ? ` and ${total - paths.length} more` : ''}. ` +
        `Nothing was merged. ${branch === null ? 'Discard' : `Merge the branch ${quoted(branch)} by Git, or discard`} the changes and send the task a message to make them again.`,
    ),
  },
} as const satisfies Outcomes;
