/**
 * The roll call: of instances that wait, and of which nothing is expected, the signs of life are written many at once, twice a second, and
 * with the same statement it is asked whether anything waits for them, and whether their tokens still count (docs/adr/0026).
 */
import type { AgentStatus } from '@headgate/contract';
import type { Services } from '../../kernel/endpoint.ts';
import type { InstanceKey } from './instance.store.ts';
import type { AgentFacts } from './known-agents.ts';
import { callRoll } from './roll-call.store.ts';

const everyMilliseconds = 500;
const calledAtOnce = 500;

export interface Called extends AgentFacts {
  status: AgentStatus;
  stopping: boolean;
  hasNews: boolean;
}

interface Present {
  key: InstanceKey;
  /** In the order of the table's key. */
  name: string;
  seenAt: string;
  tell: (called: Called | undefined) => void;
}

export function createRollCall({ database, clock, log }: Pick<Services, 'database' | 'clock' | 'log'>) {
  let present: Present[] = [];

  async function call(some: readonly Present[]): Promise<void> {
    const columns = [
      some.map(({ key }) => key.agent.accountId),
      some.map(({ key }) => key.agent.agentId),
      some.map(({ key }) => key.instanceId),
      some.map(({ seenAt }) => seenAt),
    ];
    const rows = await database.read(callRoll, columns).catch((failure: unknown) => {
      log.warn({ err: failure }, 'a roll call failed; each instance looks for itself');
      return [];
    });
    const byName = new Map(rows.map((row) => [nameOf(row.account_id, row.agent_id, row.instance_id), row]));
    for (const { name, tell } of some) {
      const row = byName.get(name);
      tell(
        row && {
          name: row.name,
          generation: row.secret_generation,
          status: row.agent_status,
          stopping: row.stopping,
          hasNews: row.has_news,
        },
      );
    }
  }

  async function callAll(): Promise<void> {
    // In one order, see callRoll.
    const all = present.sort((one, other) => (one.name < other.name ? -1 : 1));
    present = [];
    for (let from = 0; from < all.length; from += calledAtOnce)
      await call(all.slice(from, from + calledAtOnce));
  }

  return {
    /** `tell` is called once, within a second: `undefined` for an instance of which nothing could be read. */
    attend(key: InstanceKey, tell: Present['tell']): void {
      if (present.length === 0) setTimeout(callAll, everyMilliseconds);
      const { accountId, agentId } = key.agent;
      const name = nameOf(accountId, agentId, key.instanceId);
      present.push({ key, name, seenAt: clock.now().toISOString(), tell });
    },
  };
}

function nameOf(...ids: string[]): string {
  return ids.join(' ');
}
