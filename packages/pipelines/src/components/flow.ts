/** Components that only control the walk: start, and, or, end-success, end-failure. See graph.ts. */
import type { OrchestrationDefinition } from './component.ts';

export const pass: OrchestrationDefinition = {
  kind: 'orchestration',
  required: [],
  optional: [],
  plan: () => ({ action: 'pass' }),
};

export const endSuccess: OrchestrationDefinition = {
  kind: 'orchestration',
  required: [],
  optional: [],
  plan: () => ({ action: 'end', status: 'SUCCESS' }),
};

export const endFailure: OrchestrationDefinition = {
  kind: 'orchestration',
  required: [],
  optional: [],
  plan: () => ({ action: 'end', status: 'FAILED' }),
};
