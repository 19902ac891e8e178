/** A successful request for each operation on AI tasks. */
import type { Examples, Place } from '../../../testing/place.ts';

const tasks = '/ai/agents/tasks';

function makeBody({ project }: Place) {
  return {
    agentConfig: {
      name: 'data_engineer_agent',
      projectId: project.projectId,
      environmentName: 'dev',
      mode: 'ACT',
      sourceBranchName: 'main',
      generateBranch: true,
    },
    message: 'Why did last night fail?',
    grantedPermissions: [{ toolName: 'run_pipeline', environmentName: 'dev', uses: 3 }],
  };
}

async function createOne(place: Place): Promise<{ taskId: string; path: string }> {
  const { taskId } = (await place.account.admin.post<{ taskId: string }>(tasks, makeBody(place))).body;
  return { taskId, path: `${tasks}/${taskId}` };
}

export const aiTaskExamples: Examples = {
  createAiTask: (place) => ({ path: tasks, body: makeBody(place) }),
  async listAiTasks(place) {
    await createOne(place);
    return { path: `${tasks}?status=RUNNING&page=0&size=20` };
  },
  getAiTask: async (place) => ({ path: (await createOne(place)).path }),
  stopAiTask: async (place) => ({ path: `${(await createOne(place)).path}/stop` }),
  deleteAiTask: async (place) => ({ path: (await createOne(place)).path }),
  replaceAiTaskPermissions: async (place) => ({
    path: `${(await createOne(place)).path}/permissions`,
    body: { grantedPermissions: [{ toolName: 'write_file' }] },
  }),
  listAiTaskMessages: async (place) => ({ path: `${(await createOne(place)).path}/messages?limit=100` }),
  streamAiTaskMessages: async (place) => ({
    path: `${(await createOne(place)).path}/messages/stream?seconds=0`,
  }),
  sendAiTaskMessage: async (place) => ({
    path: `${(await createOne(place)).path}/messages`,
    body: { message: 'Look at the run before it too.' },
  }),
  async decideAiTask(place) {
    const { taskId, path } = await createOne(place);
    const callId = await place.account.waitingCall(taskId);
    return {
      path: `${path}/decisions`,
      body: { decisions: [{ type: 'ALLOW_ONCE', id: callId }] },
    };
  },
};
