/** A project with schedules, for tests. */
import { randomUUID } from 'node:crypto';
import type { AccountEventItem, Page, PipelineExecution, Schedule } from '@headgate/contract';
import { fireDueSchedules } from '../src/runtime/schedules/schedule-ticks.ts';
import type { TestServer } from './open-server.ts';
import { createStartableWithAgent } from './startable-project.ts';

export const daily = { cronExpression: '0 0 2 * * ?' };

export async function createScheduled(server: TestServer) {
  const found = await createStartableWithAgent(server);
  const { admin, made } = found;
  const schedules = `${made.path}/schedules`;
  const create = (schedule: object = daily, pipeline: object = {}) =>
    admin.post<{ scheduleId: string; cronTimezone: string }>(schedules, {
      pipeline: { pipelineName: 'main', environmentName: 'dev', ...pipeline },
      schedule: { name: `schedule ${randomUUID()}`, ...schedule },
    });
  const created = async (schedule: object = daily, pipeline: object = {}) => {
    const answer = await create(schedule, pipeline);
    if (answer.status !== 201) throw new Error(answer.text);
    return answer.body.scheduleId;
  };
  const read = async (id: string) => (await admin.get<Schedule>(`${schedules}/${id}`)).body;
  const patch = (id: string, body: object) => admin.patch<Schedule>(`${schedules}/${id}`, body);
  /** The runs of a schedule, oldest first. */
  const runsOf = async (id: string) => {
    const path = `/pipeline-executions?scheduleId=${id}&limit=100`;
    const { body } = await admin.get<{ results: PipelineExecution[] }>(path);
    return body.results.toReversed();
  };
  /** The events of a schedule, oldest first. */
  const eventsOf = async (id: string) => {
    const range = 'from=2020-01-01T00:00:00.000Z&to=2100-01-01T00:00:00.000Z';
    const path = `/events?${range}&projectId=${made.projectId}&size=100`;
    const { body } = await admin.get<Page<AccountEventItem>>(path);
    return body.results.filter((each) => each.eventSubjectId === id).toReversed();
  };
  return { ...found, schedules, create, created, read, patch, runsOf, eventsOf };
}

/** Handles all due schedules, as the server does twice a second. */
export async function fireAll(server: TestServer): Promise<void> {
  while ((await countDue(server)) > 0) await fireDueSchedules(server.deps);
}

async function countDue({ database, clock }: TestServer): Promise<number> {
  const [row] = await database.query<{ due: number }>(
    'select count(*)::integer as due from schedule where next_tick_at <= $1',
    [clock.now().toISOString()],
  );
  return row?.due ?? 0;
}
