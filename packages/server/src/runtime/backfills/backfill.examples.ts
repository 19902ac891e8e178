/** A successful request for each operation on backfills. */

import type { Examples, Place } from '../../../testing/place.ts';
import { addSeconds } from '../../kernel/clock.ts';

const day = 86_400;

/** Creates a schedule and returns the path of its backfills. */
async function createSchedule({ account, project, agent, named }: Place): Promise<string> {
  const path = `${project.path}/schedules`;
  const { body } = await account.admin.post<{ scheduleId: string }>(path, {
    pipeline: { pipelineName: 'main', environmentName: 'dev', agentId: agent.agentId },
    schedule: { name: named('nightly sales'), cronExpression: '0 0 2 * * ?' },
  });
  return `${path}/${body.scheduleId}/backfills`;
}

/** The last week, in whole days. */
function createRange({ now }: Place) {
  const today = new Date(now);
  today.setUTCHours(0, 0, 0, 0);
  return { from: addSeconds(today, -7 * day).toISOString(), to: today.toISOString() };
}

/** Creates a backfill and returns its path. */
async function createOne(place: Place): Promise<string> {
  const path = await createSchedule(place);
  const { body } = await place.account.admin.post<{ backfillId: string }>(path, createRange(place));
  return `${path}/${body.backfillId}`;
}

export const backfillExamples: Examples = {
  createBackfill: async (place) => ({
    path: await createSchedule(place),
    body: { ...createRange(place), concurrency: 2 },
  }),
  async listBackfills(place) {
    const path = await createOne(place);
    return { path: `${path.slice(0, path.lastIndexOf('/'))}?page=0&size=10` };
  },
  getBackfill: async (place) => ({ path: await createOne(place) }),
  cancelBackfill: async (place) => ({ path: await createOne(place), body: { status: 'CANCELLED' } }),
};
