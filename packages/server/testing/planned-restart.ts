/** The records of steps, and the plan of a restart from them. */
import assert from 'node:assert/strict';
import type { StepRecord, StepStatus } from '@headgate/contract';
import { type Planned, planRestart } from '../src/runtime/executions/restart/restart-plan.ts';
import type { EndedExecution, RecordedStep } from '../src/runtime/executions/restart/restart-steps.ts';

export const root = 'root';

interface StepMembers extends Partial<StepRecord> {
  id?: string;
  run?: string;
  type?: string;
  status?: StepStatus;
  child?: string;
}

export function step(name: string, input: StepMembers = {}): RecordedStep {
  const { id = name, run = root, type = 'sql-script', status = 'SUCCESS', child = null, ...record } = input;
  return { id, runId: run, name, type, status, childId: child, record: { began: 0, ...record } };
}

export function plan(steps: RecordedStep[], more: Partial<EndedExecution> & { from?: string } = {}): Planned {
  const { from, ...members } = more;
  const execution = { id: root, pipelineName: 'main.orch.yaml', steps, base: undefined, isLost: false };
  return planRestart({ ...execution, projectVariables: [], calledWith: new Map(), ...members }, from);
}

export function planned(...inputs: Parameters<typeof plan>) {
  const found = plan(...inputs);
  assert.ok('plan' in found, JSON.stringify(found));
  const [first] = found.plan.runs;
  return {
    ...found,
    kept: first?.kept.map(({ component, end }) => `${component} ${end}`),
    named: found.repeated.map(({ component }) => component),
  };
}

export const begin = step('Start', { type: 'start', ended: 1, next: ['A'] });
export const failed = (name: string, input: StepMembers = {}) =>
  step(name, { status: 'FAILED', next: [], ...input });
