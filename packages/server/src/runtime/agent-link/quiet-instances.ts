/**
 * Remembers instances whose last look for work found nothing more, with no wake-up of their agent since:
 * their next claim does not query the database. Work without a wake-up (a lost one, or work that became
 * claimable by time) is found by the roll call, docs/adr/0026.
 */
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { InstanceKey } from './instance.store.ts';

/** A limit for agents whose instances often restart with new ids. */
const instancesOfAgent = 100;

interface Quiet {
  instanceId: string;
  /** The generation of the secret with which it looked. */
  generation: number;
}

export function createQuietInstances(wakes: Wakes) {
  /** By agent, which usually has one instance. */
  const quiet = new Map<string, Quiet[]>();
  wakes.listen((key) => (key === undefined ? quiet.clear() : quiet.delete(key)));

  return {
    has: ({ agent: { agentId, generation }, instanceId }: InstanceKey): boolean =>
      quiet.get(agentId)?.some((one) => one.instanceId === instanceId && one.generation === generation) ??
      false,

    /**
     * Call this before a look, and `confirm` if the look finds nothing more. A wake-up in between cancels
     * the confirmation.
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
