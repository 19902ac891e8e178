/** Chooses the next step of a task. */
import { describeInterruption, mostInterruptions } from '../../kernel/work/interruption.ts';
import { createBudgetProblem } from '../../records/budgets/index.ts';
import { chooseCall, makeCall } from './call/call.ts';
import { type AiSettings, mostMessages } from './model/ai-settings.ts';
import { findUsedUp, findUsedUpOf, type UsedUp } from './store/budget.ts';
import type { HeldTask } from './store/held-task.store.ts';
import { endWith, type RunServices } from './store/task-run.ts';
import { takeTurn } from './turn/turn.ts';

export async function takeStep(services: RunServices, task: HeldTask, signal: AbortSignal) {
  const now = services.clock.now();
  const stop = (reason: string) =>
    endWith(services, task, 'STOPPED', { type: 'state', status: 'STOPPED', reason });
  if (task.interruptions >= mostInterruptions) {
    const text = `${describeInterruption('The task')} A message resumes it.`;
    return endWith(services, task, 'ERRORED', { type: 'error', code: 'interrupted', text });
  }
  // What has begun is finished first: its effect may have happened.
  const begun = task.calls.find(({ status }) => status === 'RUNNING');
  if (begun !== undefined) return makeCall(services, task, begun, signal);
  if (task.status === 'STOPPING') return stop('The task was stopped on request.');
  if (task.agent_config.environmentName !== undefined && task.environment_name === null) {
    const text = `The environment ${JSON.stringify(task.agent_config.environmentName)} of the task was deleted.`;
    return endWith(services, task, 'ERRORED', { type: 'error', code: 'environment-deleted', text });
  }
  const next = await chooseCall(services, task, signal, now);
  if (next !== undefined) return next;
  if (!task.wants_turn) return stop('There is nothing left to do.');
  const spent = findSpent(services.settings, task, now);
  return spent === undefined ? takeTurn(services, task, signal) : stop(spent);
}

/** The budget that is used up, in words. */
function findSpent(settings: AiSettings, task: HeldTask, now: Date): string | undefined {
  if (task.last_position >= mostMessages) return `The task has ${mostMessages} messages, which is the limit.`;
  if (task.budget_stop !== null) return createBudgetProblem(task.budget_stop, now).message;
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
