/**
 * The roll call: twice a second one statement writes the signs of life of many waiting instances, and reads
 * whether anything waits for them and whether their tokens are still valid (docs/adr/0026).
 */
import type { AgentStatus } from '@headgate/contract';
import type { Services } from '../../kernel/endpoint/endpoint.ts';
import { createFailureLog } from '../../kernel/failure-log.ts';
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

interface Present<One> {
  one: One;
  seenAt: number;
}

/** `tell` is called once for each instance, within a second; with `undefined` if nothing could be read. */
export function createRollCall<One extends InstanceKey>(
  { database, clock, log }: Pick<Services, 'database' | 'clock' | 'log'>,
  tell: (one: One, called: Called | undefined) => void,
) {
  const failures = createFailureLog(log, clock);
  let present: Present<One>[] = [];

  async function call(some: readonly Present<One>[]): Promise<void> {
    // An instance may have two claims. They follow each other in the order by key.
    const called = some.filter((each, index) => isOther(each, some[index - 1]));
    const columns = {
      account_ids: called.map(({ one }) => one.agent.accountId),
      agent_ids: called.map(({ one }) => one.agent.agentId),
      instance_ids: called.map(({ one }) => one.instanceId),
      seen_at: called.map(({ seenAt }) => new Date(seenAt).toISOString()),
    };
    const rows = await database.read(callRoll, columns).catch((failure: unknown) => {
      failures.recordFailure(
        'roll call',
        failure,
        'a roll call failed; each instance queries the database itself',
      );
      return [];
    });
    const byPlace = new Map(rows.map((row) => [row.place - 1, row]));
    let place = -1;
    some.forEach((each, index) => {
      if (isOther(each, some[index - 1])) place += 1;
      const row = byPlace.get(place);
      tell(
        each.one,
        row && {
          name: row.name,
          generation: row.secret_generation,
          status: row.agent_status,
          stopping: row.stopping,
          hasNews: row.has_news,
        },
      );
    });
  }

  async function callAll(): Promise<void> {
    const all = present.sort(compareByKey);
    present = [];
    for (let from = 0; from < all.length; from += calledAtOnce)
      await call(all.slice(from, from + calledAtOnce));
  }

  return {
    attend(one: One): void {
      if (present.length === 0) setTimeout(callAll, everyMilliseconds);
      present.push({ one, seenAt: clock.now().getTime() });
    },
  };
}

/** The order that callRoll requires. */
function compareByKey({ one }: Present<InstanceKey>, { one: other }: Present<InstanceKey>): number {
  return (
    compare(one.agent.accountId, other.agent.accountId) ||
    compare(one.agent.agentId, other.agent.agentId) ||
    compare(one.instanceId, other.instanceId)
  );
}

function isOther(one: Present<InstanceKey>, before: Present<InstanceKey> | undefined): boolean {
  return before === undefined || compareByKey(one, before) !== 0;
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
