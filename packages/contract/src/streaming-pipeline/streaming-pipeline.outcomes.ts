/** Problems and events of streaming pipelines. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const streamingPipelineOutcomes = {
  events: [
    'streaming-pipeline-created',
    'streaming-pipeline-updated',
    'streaming-pipeline-deleted',
    'streaming-pipeline-stopped',
  ],
  problems: {
    'streaming-pipeline-not-found': kind<{ id: string }>(
      404,
      'The project has no such streaming pipeline.',
      ({ id }) => `There is no streaming pipeline ${id}.`,
    ),
    'streaming-pipeline-name-taken': kind<{ name: string }>(
      409,
      'Another streaming pipeline of the project has this name.',
      ({ name }) => `A streaming pipeline named ${quoted(name)} already exists in this project.`,
    ),
    'streaming-pipeline-not-running': kind<{ name: string }>(
      409,
      'The streaming pipeline does not run, so it cannot be stopped.',
      ({ name }) => `The streaming pipeline ${quoted(name)} does not run, so there is nothing to stop.`,
    ),
    'streaming-definition': kind<{ field: string; reason: string }>(
      422,
      'The definition has a member of another kind of source or target, a plain secret, or two different keys of a secret.',
      ({ field, reason }) => `${field} ${reason}`,
    ),
    'streaming-agent-type': kind<{ name: string; agentType: string }>(
      422,
      'The agent of a streaming pipeline has another type than `streaming`.',
      ({ name, agentType }) =>
        `The agent ${quoted(name)} has the agentType ${agentType}; a streaming pipeline needs an agent of the agentType streaming. Name another agent, or create one.`,
    ),
    'streaming-not-supported': kind<{ name: string }>(
      422,
      'This version stores definitions of streaming pipelines, and does not run them.',
      ({ name }) =>
        `The streaming pipeline ${quoted(name)} cannot be started: this version stores definitions of streaming pipelines, and does not run them. To load tables at intervals, schedule an orchestration pipeline.`,
    ),
  },
} as const satisfies Outcomes;
