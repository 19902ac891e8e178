/**
 * Instances that have looked for work and were given all that they may have, and of whose agents nothing was heard since: their next claim
 * need not look. What is not heard of (a wake-up that was lost, work that became claimable in silence) the roll call finds, docs/adr/0026.
 */
import type { Wakes } from '../../kernel/wakes.ts';
import type { InstanceKey } from './instance.store.ts';

/** Instances of one agent come and go under new ids; those that are gone are not kept for ever. */
const instancesOfAgent = 100;

export function createQuietInstances(wakes: Wakes) {
  /** By agent and instance: the generation of the secret with which it looked. */
  const quiet = new Map<string, Map<string, number>>();
  wakes.listen((key) => quiet.delete(key));

  return {
    has: ({ agent, instanceId }: InstanceKey): boolean =>
      quiet.get(agent.agentId)?.get(instanceId) === agent.generation,

    /** Before it looks; `confirm` it if it finds no more: that counts unless something is heard in between. */
    looking({ agent, instanceId }: InstanceKey) {
      const { agentId, generation } = agent;
      const ofAgent = quiet.get(agentId) ?? new Map<string, number>();
      quiet.set(agentId, ofAgent);
      ofAgent.delete(instanceId);
      return {
        confirm(): void {
          if (quiet.get(agentId) !== ofAgent) return;
          if (ofAgent.size >= instancesOfAgent) ofAgent.clear();
          ofAgent.set(instanceId, generation);
        },
      };
    },
  };
}
