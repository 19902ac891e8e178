/**
 * Remembers instances whose last look for work found nothing more, with no wake-up of their agent since:
 * their next claim does not query the database. Work without a wake-up (a lost one, or work that became
 * claimable by time) is found by the roll call, docs/adr/0026.
 */
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Asking } from './open-claim.ts';

/** A limit for agents whose instances often restart with new ids. An instance has up to two. */
const instancesOfAgent = 200;

interface Quiet {
  instanceId: string;
  /** The work that it looked for: an instance may have a claim for runs, and one for short work. */
  places: string;
  /** The generation of the secret with which it looked. */
  generation: number;
}

type Asked = Pick<Asking, 'agent' | 'request'>;

function describePlaces({ max, maxShort }: Asked['request']): string {
  return `${max > 0 ? 'runs' : ''} ${maxShort === undefined || maxShort > 0 ? 'short' : ''}`;
}

export function createQuietInstances(wakes: Wakes) {
  /** By agent, which usually has one instance. */
  const quiet = new Map<string, Quiet[]>();
  wakes.listen((key) => (key === undefined ? quiet.clear() : quiet.delete(key)));

  return {
    has({ agent: { agentId, generation }, request }: Asked): boolean {
      const { instanceId } = request;
      const places = describePlaces(request);
      const isSame = (one: Quiet) => one.instanceId === instanceId && one.places === places;
      return quiet.get(agentId)?.some((one) => isSame(one) && one.generation === generation) ?? false;
    },

    /**
     * Call this before a look, and `confirm` if the look finds nothing more. A wake-up in between cancels
     * the confirmation.
     */
    looking({ agent: { agentId, generation }, request }: Asked) {
      const { instanceId } = request;
      const places = describePlaces(request);
      const ofAgent = quiet.get(agentId) ?? [];
      quiet.set(agentId, ofAgent);
      const before = ofAgent.findIndex((one) => one.instanceId === instanceId && one.places === places);
      if (before >= 0) ofAgent.splice(before, 1);
      if (ofAgent.length === instancesOfAgent) ofAgent.shift();
      return {
        confirm(): void {
          if (quiet.get(agentId) === ofAgent) ofAgent.push({ instanceId, places, generation });
        },
      };
    },
  };
}
