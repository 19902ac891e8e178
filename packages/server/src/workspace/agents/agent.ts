/**
 * The states of an agent.
 *
 *   pending   no instance has ever connected
 *   running   at least one instance is connected and takes work
 *   pausing   paused, but still has work; then `paused`
 *   stopping  every connected instance has announced that it stops
 *   stopped   the last instance has disconnected in an orderly way
 *   unknown   no instance is connected, and the last one did not announce it
 *
 * A pause is stored beside the state: an agent that was silent or stopped comes back as pausing.
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

/**
 * An instance counts as connected this long after its last heartbeat. It sends one at least every 10 s, so
 * a dead instance is noticed one sweep later.
 */
export const connectedSeconds = 13;

/** The states in which an agent may be deleted. */
export const deletableStatuses: readonly AgentStatus[] = ['stopped', 'pending', 'unknown'];
