/** A successful request for each operation on the changes of AI tasks. */
import type { AiTaskChanges } from '@headgate/contract';
import type { Examples, Place } from '../../../testing/place.ts';

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

/** As a person has seen it. */
export async function readDigest({ account }: Place, path: string): Promise<string> {
  return (await account.admin.get<AiTaskChanges>(`${path}/changes`)).body.digest;
}

export const aiChangesExamples: Examples = {
  getAiTaskChanges: async (place) => ({ path: `${await createEdited(place)}/changes` }),
  async mergeAiTask(place) {
    const path = await createEdited(place);
    return {
      path: `${path}/merge`,
      body: { digest: await readDigest(place, path), versionName: place.named('v2') },
    };
  },
  discardAiTask: async (place) => ({ path: `${await createEdited(place)}/discard` }),
};
