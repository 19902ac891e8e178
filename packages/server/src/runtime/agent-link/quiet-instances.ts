/**
 * Instances that have looked for work and were given all that they may have, and of whose agents nothing was
 * heard since: their next claim need not look. What is not heard of (a wake-up that was lost, work that
 * became claimable in silence) the roll call finds, docs/adr/0026.
 */
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { InstanceKey } from './instance.store.ts';

/** Instances of one agent come and go under new ids; those that are gone are not kept for ever. */
const instancesOfAgent = 100;

interface Quiet {
  instanceId: string;
  /** Of the secret with which it looked. */
  generation: number;
}

export function createQuietInstances(wakes: Wakes) {
  /** By agent; mostly it has one instance. */
  const quiet = new Map<string, Quiet[]>();
  wakes.listen((key) => (key === undefined ? quiet.clear() : quiet.delete(key)));

  return {
    has: ({ agent: { agentId, generation }, instanceId }: InstanceKey): boolean =>
      quiet.get(agentId)?.some((one) => one.instanceId === instanceId && one.generation === generation) ??
      false,

    /**
     * Before it looks; `confirm` it if it finds no more: that counts unless something is heard in between.
     */
    looking({ agent: { agentId, generation }, instanceId }: InstanceKey) {
      const ofAgent = quiet.get(agentId) ?? [];
      quiet.set(agentId, ofAgent);
      const before = ofAgent.findIndex((one) => one.instanceId === instanceId);
      if (before >= 0) ofAgent.splice(before, 1);
      if (ofAgent.length === instancesOfAgent) ofAgent.shift();
      return {
        confirm(): void {
          if (quiet.get(agentId) === ofAgent) ofAgent.push({ instanceId, generation });
        },
      };
    },
  };
}
