/** Components that only control the walk: start, and, or, end-success, end-failure. See graph.ts. */
import type { OrchestrationDefinition } from './definition/component.ts';

export const start: OrchestrationDefinition = {
  kind: 'orchestration',
  about: 'The beginning of an orchestration. There is exactly one.',
  group: 'flow',
  parameters: {},
  example: `type: start
transitions:
  unconditional: [Load]`,
  plan: () => ({ action: 'pass' }),
};

export const and: OrchestrationDefinition = {
  kind: 'orchestration',
  about: 'Goes on when all components that lead to it have ended.',
  group: 'flow',
  parameters: {},
  example: `type: and
transitions:
  unconditional: [Report]`,
  plan: () => ({ action: 'pass' }),
};

export const or: OrchestrationDefinition = {
  kind: 'orchestration',
  about: 'Goes on when the first component that leads to it has ended.',
  group: 'flow',
  parameters: {},
  example: `type: or
transitions:
  unconditional: [Report]`,
  plan: () => ({ action: 'pass' }),
};

export const endSuccess: OrchestrationDefinition = {
  kind: 'orchestration',
  about: 'Ends the pipeline with success.',
  group: 'flow',
  parameters: {},
  example: 'type: end-success',
  plan: () => ({ action: 'end', status: 'SUCCESS' }),
};

export const endFailure: OrchestrationDefinition = {
  kind: 'orchestration',
  about: 'Ends the pipeline with failure.',
  group: 'flow',
  parameters: {},
  example: 'type: end-failure',
  plan: () => ({ action: 'end', status: 'FAILED' }),
};
