/** What the tests over all operations need from this slice. */
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { aiTaskExamples } from './ai-task.examples.ts';

export const aiTaskGuards: SliceGuards = {
  examples: aiTaskExamples,
  permissions: {
    'lists of what the caller may read': ['listAiTasks'],
    'read a project and what is in it': ['getAiTask', 'listAiTaskMessages', 'streamAiTaskMessages'],
    'create and change variables, connections, secret references': [
      'createAiTask',
      'stopAiTask',
      'sendAiTaskMessage',
      'decideAiTask',
      'replaceAiTaskPermissions',
      'deleteAiTask',
    ],
  },
};
