/**
 * The states of an agent (shapes.md, Agents).
 *
 *   pending   no instance of it ever said hello
 *   running   at least one instance is heard of and takes work
 *   pausing   paused, and something that it holds is not over; then paused
 *   stopping  every instance that is heard of has said that it ends
 *   stopped   the last one said that it is gone
 *   unknown   none is heard of, and none said why
 *
 * A pause is kept beside the state: an agent that was silent or stopped comes back as pausing.
 */
import type { AgentStatus } from '@headgate/contract';
import { createMachine } from '../../kernel/work/machine.ts';

export const agentStates = createMachine<AgentStatus>({
  pending: ['running', 'pausing'],
  running: ['pausing', 'stopping', 'stopped', 'unknown'],
  pausing: ['running', 'paused', 'stopping', 'stopped', 'unknown'],
  paused: ['running', 'stopping', 'stopped', 'unknown'],
  stopping: ['running', 'pausing', 'stopped', 'unknown'],
  stopped: ['running', 'pausing', 'stopping'],
  unknown: ['running', 'pausing', 'stopping', 'stopped'],
});

/** An instance counts as connected for so long after a sign of life; it gives one every 10 s or sooner. A dead one is noticed a sweep later. */
export const connectedSeconds = 13;

/** The states in which an agent may be deleted (decisions.md §5). */
export const deletableStatuses: readonly AgentStatus[] = ['stopped', 'pending', 'unknown'];
