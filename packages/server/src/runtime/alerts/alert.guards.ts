/** What the tests over all operations need from this slice. */
import type { Place } from '../../../testing/place.ts';
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { alertExamples } from './alert.examples.ts';

const createOne = ({ account, project }: Place, name: string, minutes = 1) =>
  account.admin.post<{ alertRuleId: string }>(`${project.path}/alert-rules`, {
    ...{ name, condition: { type: 'LONGER_THAN', minutes } },
  });

/** By project: the path of the rule that counts. */
const counting = new Map<string, string>();

export const alertGuards: SliceGuards = {
  examples: alertExamples,
  uniqueNames: {
    createAlertRule: (place, name) => createOne(place, name),
    async updateAlertRule(place, name) {
      const { body } = await createOne(place, place.named('rule'));
      return place.account.admin.patch(`${place.project.path}/alert-rules/${body.alertRuleId}`, { name });
    },
  },
  counted: {
    updateAlertRule: {
      async create(place) {
        const answer = await createOne(place, 'count');
        counting.set(place.project.path, `${place.project.path}/alert-rules/${answer.body.alertRuleId}`);
        return answer;
      },
      path: ({ project }) => counting.get(project.path) ?? '',
      set: (count) => ({ condition: { type: 'LONGER_THAN', minutes: count + 1 } }),
      get: ({ condition }) => (condition as { minutes: number }).minutes - 1,
    },
  },
};
