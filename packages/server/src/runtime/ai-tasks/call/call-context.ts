/** What a tool gets with a call, and the bound of its time. */
import type { ToolContext } from '../../ai-tools/index.ts';
import type { OpenCall } from '../store/held-task.store.ts';
import type { Step } from '../store/task-run.ts';

/** A tool that does not react to its signal cannot hold the task. */
export function raceAbort<Result>(result: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

export function buildContext(
  { services, key, task }: Step,
  call: OpenCall,
  signal: AbortSignal,
): ToolContext {
  const accountId = key.account_id;
  const { agent_config: config } = task;
  return {
    task: {
      accountId,
      projectId: task.project_id,
      taskId: key.task_id,
      mode: config.mode ?? 'ACT',
      environmentName: config.environmentName,
      sourceBranchName: config.sourceBranchName,
      targetBranchName: config.targetBranchName,
      // A task changes the branch of others only if somebody asked for it.
      generateBranch: config.generateBranch ?? config.targetBranchName === undefined,
      workingDirectory: config.workingDirectory,
    },
    callId: call.callId,
    actors: {
      creator: {
        accountId,
        actorId: task.creator_id,
        userCredentialId: task.creator_credential_id ?? undefined,
      },
      behindIds: [call.senderId, ...call.otherPrincipalIds],
    },
    signal,
    now: services.clock.now(),
    shownDigest: call.shownDigest ?? undefined,
  };
}
