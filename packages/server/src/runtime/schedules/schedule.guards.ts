/** What the tests over all operations need from this slice. */
import type { Place } from '../../../testing/place.ts';
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { scheduleExamples } from './schedule.examples.ts';

const createOne = ({ account, project, agent }: Place, name: string) =>
  account.admin.post<{ scheduleId: string }>(`${project.path}/schedules`, {
    pipeline: { pipelineName: 'main', environmentName: 'dev', agentId: agent.agentId },
    schedule: { name, ...readInterval(0) },
  });

/** By project: the path of the schedule that counts. */
const counting = new Map<string, string>();

export const scheduleGuards: SliceGuards = {
  examples: scheduleExamples,
  uniqueNames: {
    createSchedule: createOne,
    async updateSchedule(place, name) {
      const { body } = await createOne(place, place.named('schedule'));
      return place.account.admin.patch(`${place.project.path}/schedules/${body.scheduleId}`, { name });
    },
  },
  counted: {
    updateSchedule: {
      async create(place) {
        const answer = await createOne(place, 'count');
        counting.set(place.project.path, `${place.project.path}/schedules/${answer.body.scheduleId}`);
        return answer;
      },
      path: ({ project }) => counting.get(project.path) ?? '',
      set: readInterval,
      get: ({ intervalExpression }) => Number((intervalExpression as { interval: number }).interval) - 1,
    },
  },
};

function readInterval(count: number) {
  return { intervalExpression: { interval: count + 1, unit: 'HOURS' } };
}
