/** The configuration that a follow-up message brings. It holds whole, or is refused. */
import type { AiAgentConfig } from '@headgate/contract';
import { problem } from '../../../kernel/http/problems.ts';
import type { LockedTask } from '../store/task-lock.store.ts';

/** Members that say which files the task works on. They are chosen when it first looks at a file. */
const ofFiles = ['sourceBranchName', 'targetBranchName', 'generateBranch'] as const;

/** @throws `ai-task-stopping`, `ai-task-config-running`, `ai-task-project`, `ai-task-config-fixed` */
export function requireConfig(task: LockedTask, input: AiAgentConfig | undefined, id: string): AiAgentConfig {
  if (task.status === 'STOPPING') throw problem('ai-task-stopping', { id });
  if (input === undefined) return task.agent_config;
  if (task.status === 'RUNNING') throw problem('ai-task-config-running', { id });
  if (input.projectId !== task.project_id) throw problem('ai-task-project', { projectId: task.project_id });
  const { agent_config: held, copy_of: copyOf } = task;
  if (copyOf === null) return input;
  const fixed = copyOf === 'branch' ? ofFiles : (['environmentName'] as const);
  const member = fixed.find((name) => input[name] !== held[name]);
  if (member !== undefined) throw problem('ai-task-config-fixed', { member, held: held[member] });
  return input;
}
