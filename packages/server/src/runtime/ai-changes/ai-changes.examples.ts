/** A successful request for each operation on the changes of AI tasks. */
import type { Examples, Place } from '../../testing/place.ts';

/** Creates a task that has ended with an edit. Returns its path. */
export async function createEdited({ account, project }: Place): Promise<string> {
  const { projectId } = project;
  const body = {
    agentConfig: { name: 'data_engineer_agent', projectId, environmentName: 'dev', mode: 'ACT' },
    message: 'Add a note.',
  };
  const { taskId } = (await account.admin.post<{ taskId: string }>('/ai/agents/tasks', body)).body;
  await account.endTaskWithEdit(taskId);
  return `/ai/agents/tasks/${taskId}`;
}

export const aiChangesExamples: Examples = {
  getAiTaskChanges: async (place) => ({ path: `${await createEdited(place)}/changes` }),
  mergeAiTask: async (place) => ({
    path: `${await createEdited(place)}/merge`,
    body: { versionName: place.named('v2') },
  }),
  discardAiTask: async (place) => ({ path: `${await createEdited(place)}/discard` }),
};
