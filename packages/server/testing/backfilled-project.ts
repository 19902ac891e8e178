/** A project with a schedule and its backfills, for tests. */
import assert from 'node:assert/strict';
import type { Backfill, BackfillCounts } from '@headgate/contract';
import type { ExecutionClaim } from './agent.ts';
import type { TestServer } from './open-server.ts';
import type { completed } from './runnable-project.ts';
import { createScheduled, daily } from './scheduled-project.ts';

type Detail = Backfill & { counts: BackfillCounts };
type Made = { backfillId: string; ticks: number; firstTick: string; lastTick: string };
type Work = ExecutionClaim['work'][number];

export async function createBackfilled(server: TestServer, schedule: object = daily) {
  const found = await createScheduled(server);
  const scheduleId = await found.created(schedule);
  const backfills = `${found.schedules}/${scheduleId}/backfills`;
  const { admin, instance } = found;
  const begin = (body: object, client = admin) => client.post<Made>(backfills, body);
  const begun = async (body: object) => {
    const answer = await begin(body);
    assert.equal(answer.status, 201, answer.text);
    return answer.body.backfillId;
  };
  const readBackfill = async (id: string) => {
    const answer = await admin.get<Detail>(`${backfills}/${id}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const stop = (id: string, forceUpdate?: boolean) =>
    admin.patch<{ status: string }>(`${backfills}/${id}`, { status: 'CANCELLED', forceUpdate });
  /** Claims what is queued and ends it, in the order of the claims. */
  const runClaimed = async (
    outcome: typeof completed.outcome.status | 'FAILED' = 'SUCCESS',
  ): Promise<Work[]> => {
    const { work } = await instance.claim(100);
    for (const each of work) {
      await instance.report(each, { type: 'started' });
      await instance.report(each, { type: 'completed', outcome: { status: outcome } });
    }
    return work;
  };
  return { ...found, scheduleId, backfills, begin, begun, readBackfill, stop, runClaimed };
}
