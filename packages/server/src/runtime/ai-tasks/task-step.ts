/** Chooses the next step of a task. */

import { describeInterruption, mostInterruptions } from '../../kernel/work/interruption.ts';
import { findDueCall, makeCall, writeCallEnds } from './call/call.ts';
import { mostMessages } from './model/ai-settings.ts';
import { findUsedUp, findUsedUpOf, type UsedUp } from './store/budget.ts';
import { endWith, type NextStep, type Step } from './store/task-run.ts';
import { takeTurn } from './turn/turn.ts';

export async function takeStep(step: Step): Promise<NextStep> {
  const { task, services } = step;
  const now = services.clock.now();
  if (task.interruptions >= mostInterruptions) {
    const text = `${describeInterruption('The task')} A message resumes it.`;
    return endWith(step, 'ERRORED', { type: 'error', code: 'interrupted', text });
  }
  // What has begun is finished first: its effect may have happened.
  const begun = task.calls.find(({ status }) => status === 'RUNNING');
  if (begun !== undefined) return makeCall(step, begun);
  if (task.status === 'STOPPING')
    return endWith(step, 'STOPPED', {
      type: 'state',
      status: 'STOPPED',
      reason: 'The task was stopped on request.',
    });
  if (task.agent_config.environmentName !== undefined && task.environment_name === null) {
    const text = `The environment ${JSON.stringify(task.agent_config.environmentName)} of the task was deleted.`;
    return endWith(step, 'ERRORED', { type: 'error', code: 'environment-deleted', text });
  }
  const due = await findDueCall(step, now);
  if (due.ended.length > 0) return writeCallEnds(step, due.ended, now);
  if (due.call !== undefined) return makeCall(step, due.call, due.grant);
  if (due.waitsUntil !== undefined) return due.waitsUntil;
  if (!task.wants_turn)
    return endWith(step, 'STOPPED', {
      type: 'state',
      status: 'STOPPED',
      reason: 'There is nothing left to do.',
    });
  const spent = findSpent(step);
  if (spent !== undefined)
    return endWith(step, 'STOPPED', { type: 'state', status: 'STOPPED', reason: spent });
  return takeTurn(step);
}

/** The budget that is used up, in words. */
function findSpent({ services: { settings }, task }: Step): string | undefined {
  if (task.last_position >= mostMessages) return `The task has ${mostMessages} messages, which is the limit.`;
  const ofTask = findUsedUpOf(task, settings);
  if (ofTask !== undefined) return describeSpent('The task', ofTask);
  const today = {
    turns: task.day_turns,
    tokens: task.day_tokens,
    cost: task.day_cost,
    milliseconds: task.day_milliseconds,
  };
  const ofAccount = findUsedUp(today, settings.ofAccount, 'ACCOUNT');
  return ofAccount && describeSpent('For today, the account', ofAccount);
}

function describeSpent(what: string, { budget, setting }: UsedUp): string {
  return `${what} has used up its budget of ${budget} (${setting}).`;
}
