/** The events of AI tasks. */
import type { AiAgentConfig } from '@headgate/contract';
import type { AccountEvent } from '../../../kernel/database/events.ts';

interface Described {
  config: AiAgentConfig;
  description: string;
}

export function describeTask(row: { agent_config: AiAgentConfig; description: string }): Described {
  return { config: row.agent_config, description: row.description };
}

export function buildTaskEvent(
  name: AccountEvent['name'],
  taskId: string,
  { config, description }: Described,
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
