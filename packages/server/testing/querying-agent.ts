/** An agent for tests that answers queries of warehouses and reads of their tables. */
import type {
  TableReadResult,
  TableReadWork,
  WarehouseQueryWork,
  WarehouseRows,
  WorkItem,
  WorkOutcome,
} from '@headgate/contract';
import type { Account, RegisteredAgent } from './account.ts';
import { createInstance } from './agent.ts';

interface Failure {
  message: string;
}

export interface QueryingAgent extends RegisteredAgent {
  /** Waits for the next query and ends it; returns what it got. */
  answerNext(rows: WarehouseRows | Failure): Promise<WarehouseQueryWork>;
  /** The same of a read of tables. */
  answerRead(result: TableReadResult | Failure): Promise<TableReadWork>;
}

export async function createQueryingAgent(account: Account, name?: string): Promise<QueryingAgent> {
  const agent = await account.agent(name);
  const instance = createInstance(agent);
  await instance.hello({ abilities: ['warehouse-query', 'table-read'] });
  async function complete<Kind extends WorkItem['kind']>(kind: Kind, outcome: WorkOutcome) {
    const [work] = (await instance.claim(1, 25)).work as unknown as WorkItem[];
    if (work?.kind !== kind) throw new Error(`no work of the kind ${kind} came`);
    await instance.report(work, { type: 'started' });
    await instance.report(work, { type: 'completed', outcome });
    return work.payload as Extract<WorkItem, { kind: Kind }>['payload'];
  }
  const fail = ({ message }: Failure): WorkOutcome => ({ status: 'FAILED', message });
  return {
    ...agent,
    answerNext: (rows) =>
      complete('warehouse-query', 'message' in rows ? fail(rows) : { status: 'SUCCESS', queryResult: rows }),
    answerRead: (result) =>
      complete('table-read', 'message' in result ? fail(result) : { status: 'SUCCESS', tableRead: result }),
  };
}
