/** An agent for tests that tests connections. */
import type { ConnectionTestResult, ConnectionTestWork, WorkItem } from '@headgate/contract';
import type { Account, RegisteredAgent } from './account.ts';
import { createInstance } from './agent.ts';

export interface TestingAgent extends RegisteredAgent {
  /** Waits for the next test and ends it; returns what it got. */
  answerNext(result: ConnectionTestResult | { failure: string }): Promise<ConnectionTestWork>;
}

export async function createTestingAgent(account: Account, name?: string): Promise<TestingAgent> {
  const agent = await account.agent(name);
  const instance = createInstance(agent);
  await instance.hello({ abilities: ['connection-test'] });
  return {
    ...agent,
    async answerNext(result) {
      const [work] = (await instance.claim(1, 25)).work as unknown as WorkItem[];
      if (work?.kind !== 'connection-test') throw new Error('no test came');
      await instance.report(work, { type: 'started' });
      const outcome =
        'failure' in result
          ? { status: 'FAILED' as const, message: result.failure }
          : { status: 'SUCCESS' as const, connectionTest: result };
      await instance.report(work, { type: 'completed', outcome });
      return work.payload;
    },
  };
}
