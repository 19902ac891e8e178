/** An agent for tests that answers queries of warehouses. */
import type { WarehouseQueryWork, WarehouseRows, WorkItem } from '@headgate/contract';
import type { Account, RegisteredAgent } from './account.ts';
import { createInstance } from './agent.ts';

export interface QueryingAgent extends RegisteredAgent {
  /** Waits for the next query and ends it; returns what it got. */
  answerNext(rows: WarehouseRows | { message: string }): Promise<WarehouseQueryWork>;
}

export async function createQueryingAgent(account: Account, name?: string): Promise<QueryingAgent> {
  const agent = await account.agent(name);
  const instance = createInstance(agent);
  await instance.hello({ abilities: ['warehouse-query'] });
  return {
    ...agent,
    async answerNext(rows) {
      const [work] = (await instance.claim(1, 25)).work as unknown as WorkItem[];
      if (work?.kind !== 'warehouse-query') throw new Error('no query came');
      await instance.report(work, { type: 'started' });
      const outcome =
        'message' in rows
          ? { status: 'FAILED' as const, message: rows.message }
          : { status: 'SUCCESS' as const, queryResult: rows };
      await instance.report(work, { type: 'completed', outcome });
      return work.payload;
    },
  };
}
