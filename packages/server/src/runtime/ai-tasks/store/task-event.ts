/** The events of AI tasks. */
import type { AiAgentConfig } from '@headgate/contract';
import type { AccountEvent } from '../../../kernel/database/events.ts';

/** The columns of a task that its events show. */
export interface TaskDescription {
  agent_config: AiAgentConfig;
  description: string;
}

export function buildTaskEvent(
  name: AccountEvent['name'],
  taskId: string,
  { agent_config: config, description }: TaskDescription,
  states: { before?: object; after?: object } = {},
): AccountEvent {
  return {
    name,
    projectId: config.projectId,
    environmentName: config.environmentName,
    subject: { type: 'ai-task', id: taskId, name: description },
    ...states,
  };
}
