/** An agent for tests that answers checks of secrets. */
import { randomUUID } from 'node:crypto';
import type { CheckedSecrets, ClaimResponse, SecretCoordinates, WorkOf } from '@headgate/contract';
import type { Account, RegisteredAgent } from './account.ts';

export interface CheckingAgent extends RegisteredAgent {
  /** Waits for the next check; undefined if none came. */
  next(waitSeconds?: number): Promise<WorkOf<'secret-check'> | undefined>;
  end(work: WorkOf<'secret-check'>, outcome: object): Promise<void>;
  /** Answers the next check, secret by secret. */
  answerNext(finding: (secret: SecretCoordinates) => CheckedSecrets[number]): Promise<void>;
}

export async function createCheckingAgent(
  account: Account,
  input: { name?: string; abilities?: string[] } = {},
): Promise<CheckingAgent> {
  const agent = await account.agent(input.name);
  const { client } = agent;
  const instanceId = randomUUID();
  const { abilities = ['secret-check'] } = input;
  const hello = { protocolVersions: [1], agentVersion: '0.1.0', instanceId, abilities, concurrency: 10 };
  await client.post('/hello', hello);
  const made: CheckingAgent = {
    ...agent,
    async next(waitSeconds = 25) {
      const claim = await client.post<ClaimResponse>('/claims', { instanceId, max: 1, waitSeconds });
      const [work] = claim.body.work;
      return work?.kind === 'secret-check' ? work : undefined;
    },
    async end({ workId, epoch }, outcome) {
      const reports = [
        { workId, epoch, sequence: 1, type: 'started' },
        { workId, epoch, sequence: 2, type: 'completed', outcome },
      ];
      await client.post('/reports', { instanceId, reports });
    },
    async answerNext(finding) {
      const work = await made.next();
      if (work === undefined) return;
      const checkedSecrets = work.payload.secrets.map(finding);
      await made.end(work, { status: 'SUCCESS', checkedSecrets });
    },
  };
  return made;
}
