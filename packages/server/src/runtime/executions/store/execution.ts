/** The states of a pipeline execution. */
import type { ExecutionStatus } from '@headgate/contract';
import { createMachine } from '../../../kernel/work/machine.ts';

export const executionStates = createMachine<ExecutionStatus>({
  RUNNING: ['SUCCESS', 'FAILED', 'CANCELLING', 'CANCELLED', 'FORBIDDEN', 'SKIPPED', 'UNKNOWN'],
  CANCELLING: ['SUCCESS', 'FAILED', 'CANCELLED', 'UNKNOWN'],
  UNKNOWN: ['RUNNING', 'CANCELLING', 'SUCCESS', 'FAILED', 'CANCELLED'],
  SUCCESS: [],
  FAILED: [],
  CANCELLED: [],
  FORBIDDEN: [],
  SKIPPED: [],
});
