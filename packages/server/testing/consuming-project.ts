/** A project whose runs use something, for the tests of consumption and budgets. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Budget, Consumption, ConsumptionPeriod, Project, Step } from '@headgate/contract';
import { addSeconds } from '../src/kernel/clock.ts';
import { countConsumption } from '../src/records/consumption/counting.ts';
import type { Account } from './account.ts';
import type { TestServer } from './open-server.ts';
import { claimSingle, completed, createRunnable } from './runnable-project.ts';

export const range = 'consumedFrom=2026-11-01&consumedBefore=2027-02-01';

export async function createConsuming(server: TestServer, account?: Account) {
  const found = await createRunnable(server, account);
  await found.instance.hello();
  const { admin, made, instance, start } = found;
  const clock = server.clock;
  const stepOf = (run: string, seconds: number, input: Partial<Step> = {}): Step => ({
    stepId: randomUUID(),
    pipelineRunId: run,
    name: 'Load',
    componentType: 'sql-script',
    status: 'SUCCESS',
    startedAt: addSeconds(clock.now(), -seconds).toISOString(),
    finishedAt: clock.now().toISOString(),
    ...input,
  });
  /** Starts a run, which an agent claims and begins. */
  const begin = async () => {
    const id = await start();
    const work = await claimSingle(instance);
    await instance.report(work, { type: 'started' });
    return { id, work };
  };
  /** A run that has used so much. */
  const run = async (seconds: number, input: Partial<Step> = {}) => {
    const { id, work } = await begin();
    clock.advance(seconds);
    await instance.report(work, { type: 'progress', steps: [stepOf(id, seconds, input)] });
    await instance.report(work, completed);
    return id;
  };
  const read = async (query = range) => {
    while ((await countConsumption(server.deps)) > 0);
    const answer = await admin.get<{ results: ConsumptionPeriod[] }>(`/consumption?${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.results;
  };
  const { name: projectName } = (await admin.get<Project>(made.path)).body;
  const budget = `${made.path}/budget`;
  const setBudget = async (body: object) => {
    const answer = await admin.send<Budget>('PUT', budget, { body });
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const readBudget = async () => (await admin.get<Budget>(budget)).body;
  return {
    ...found,
    stepOf,
    begin,
    run,
    read,
    budget,
    setBudget,
    readBudget,
    projectId: made.projectId,
    projectName,
  };
}

/** Each day with its entries, short: `2026-11-20 main.orch.yaml orchestration: 1 run, 10 s, 0 rows`. */
export function describeDays(results: readonly ConsumptionPeriod[]): string[] {
  return results.flatMap(({ consumedFrom, consumption }) =>
    consumption.map((each) => `${consumedFrom.slice(0, 10)} ${describeEntry(each)}`),
  );
}

function describeEntry({ dimensions, consumptionType, units }: Consumption): string {
  return `${dimensions.pipelineName ?? '-'} ${consumptionType}: ${units.runs} runs, ${units.seconds} s, ${units.rows} rows`;
}
