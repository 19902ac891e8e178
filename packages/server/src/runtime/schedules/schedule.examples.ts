/** A successful request for each operation on schedules. */
import type { Examples, Place } from '../../../testing/place.ts';

const pipeline = { pipelineName: 'main', environmentName: 'dev' };

/** Creates a schedule and returns its path. */
async function createOne({ account, project, agent, named }: Place): Promise<string> {
  const path = `${project.path}/schedules`;
  const answer = await account.admin.post<{ scheduleId: string }>(path, {
    pipeline: { ...pipeline, agentId: agent.agentId },
    schedule: { name: named('nightly load'), cronExpression: '0 0 2 * * ?', cronTimezone: 'Europe/Oslo' },
  });
  return `${path}/${answer.body.scheduleId}`;
}

export const scheduleExamples: Examples = {
  async listSchedules(place) {
    await createOne(place);
    return { path: `${place.project.path}/schedules?environmentName=dev&page=0&size=10` };
  },
  createSchedule: ({ project, agent, named }) => ({
    path: `${project.path}/schedules`,
    body: {
      pipeline: { ...pipeline, agentId: agent.agentId, scalarVariables: { city: 'Bodø' } },
      schedule: {
        name: named('weekday mornings'),
        cronExpression: '0 30 6 ? * MON-FRI',
        cronTimezone: 'Europe/Oslo',
        allowConcurrentExecutions: false,
      },
    },
  }),
  getSchedule: async (place) => ({ path: await createOne(place) }),
  updateSchedule: async (place) => ({
    path: await createOne(place),
    body: { intervalExpression: { interval: 15, unit: 'MINUTES' }, scalarVariables: { city: 'Tromsø' } },
  }),
  deleteSchedule: async (place) => ({ path: await createOne(place) }),
  listScheduleTicks: async (place) => ({ path: `${await createOne(place)}/ticks?count=3` }),
  runSchedule: async (place) => ({ path: `${await createOne(place)}/run` }),
  pauseSchedule: async (place) => ({ path: `${await createOne(place)}/pause` }),
  async resumeSchedule(place) {
    const path = await createOne(place);
    await place.account.admin.post(`${path}/pause`);
    return { path: `${path}/resume` };
  },
};
