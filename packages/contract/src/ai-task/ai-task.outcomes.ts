/** Problems and events of AI tasks. */
import { nearestName } from '../nearest-name.ts';
import { didYouMean, kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const aiTaskOutcomes = {
  events: [
    'ai-task-created',
    'ai-task-message-sent',
    'ai-task-stop-requested',
    'ai-task-decision-needed',
    'ai-task-decided',
    'ai-task-permissions-replaced',
    'ai-task-stopped',
    'ai-task-errored',
    'ai-task-deleted',
  ],
  problems: {
    'ai-task-not-found': kind<{ id: string }>(
      404,
      'There is no such AI task.',
      ({ id }) => `There is no AI task ${id}.`,
    ),
    'ai-task-not-running': kind<{ id: string; status: string }>(
      409,
      'The AI task is not running.',
      ({ id, status }) => `The AI task ${id} is ${status}: only a task that is RUNNING can be stopped.`,
    ),
    'ai-task-running': kind<{ id: string }>(
      409,
      'A server works on the AI task.',
      ({ id }) => `The AI task ${id} is at work: stop it, and repeat the request when it is STOPPED.`,
    ),
    'ai-task-stopping': kind<{ id: string }>(
      409,
      'The AI task is being stopped.',
      ({ id }) => `The AI task ${id} is STOPPING: send the message when it is STOPPED.`,
    ),
    'ai-task-project': kind<{ projectId: string }>(
      422,
      'A message names another project than that of its AI task.',
      ({ projectId }) =>
        `body.agentConfig.projectId: the task belongs to the project ${projectId}, which cannot change; create another task.`,
    ),
    'ai-task-config-running': kind<{ id: string }>(
      409,
      'The configuration of an AI task changes only while the task is not running.',
      ({ id }) => `The AI task ${id} is running: leave out \`agentConfig\`, or stop the task first.`,
    ),
    'ai-task-config-fixed': kind<{ member: string; held: string | boolean | undefined }>(
      422,
      'A message changes which files its AI task works on, after the task has begun to.',
      ({ member, held }) =>
        `body.agentConfig.${member}: the task works on its files already, with ${held === undefined ? `no ${member}` : JSON.stringify(held)}: send that, or create another task. Nothing was changed.`,
    ),
    'too-many-ai-tasks': kind<{ limit: number; setting: string }>(
      409,
      'The account has as many AI tasks that run or wait as it may have.',
      ({ limit, setting }) =>
        `${limit} AI tasks of this account run or wait for decisions, which is the limit (${setting}): stop some, or decide about their calls.`,
    ),
    'ai-task-full': kind<{ limit: number }>(
      409,
      'The AI task has as many messages as it may have.',
      ({ limit }) => `The task has ${limit} messages, which is the limit: create another task.`,
    ),
    'ai-task-budget': kind<{ of: 'TASK' | 'ACCOUNT'; budget: string; setting: string }>(
      409,
      'A budget of the AI task, or of the account for today, is used up.',
      ({ of, budget, setting }) =>
        of === 'TASK'
          ? `The task has used up its budget of ${budget} (${setting}). Create another task, or ask the operator.`
          : `The AI tasks of this account have used up the budget of ${budget} for today (${setting}): try again after midnight UTC, or ask the operator.`,
    ),
    'grant-refused': kind<{ path: string; given: string; what: string; known: readonly string[] }>(
      422,
      'A granted permission names a tool or an argument that does not exist.',
      ({ path, given, what, known }) =>
        `${path}: there is no ${what} named ${quoted(given)}.${didYouMean(nearestName(given, known))} Known: ${known.join(', ')}. Nothing was granted.`,
    ),
    'grant-without-effect': kind<{ path: string; toolName: string }>(
      422,
      'A granted permission limits a tool that needs none.',
      ({ path, toolName }) =>
        `${path}: ${toolName} changes nothing and needs no permission, so this would limit nothing. Leave the entry out. Nothing was granted.`,
    ),
    'decision-not-pending': kind<{ index: number; id: string }>(
      409,
      'No call with this id waits for a decision.',
      ({ index, id }) =>
        `body.decisions[${index}].id: no call ${quoted(id)} waits for a decision; read pendingDecisions of the task. Nothing was decided.`,
    ),
    'decision-kind': kind<{ index: number; reason: string }>(
      422,
      'The decision does not fit the call.',
      ({ index, reason }) => `body.decisions[${index}]: ${reason} Nothing was decided.`,
    ),
  },
} as const satisfies Outcomes;
