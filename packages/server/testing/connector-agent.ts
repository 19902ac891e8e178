/** An agent for tests that tests endpoints of connectors and exchanges authorization codes. */
import { randomUUID } from 'node:crypto';
import type { ClaimResponse, ConnectorOauthPlan, ConnectorTestResult, WorkItem } from '@headgate/contract';
import type { Account, RegisteredAgent } from './account.ts';
import type { Answer } from './client.ts';

export interface ConnectorAgent extends RegisteredAgent {
  /** Waits for the next work; undefined if none came. */
  next(waitSeconds?: number): Promise<WorkItem | undefined>;
  end(work: WorkItem, outcome: object): Promise<void>;
  /** Answers the next test, and returns its work. */
  answerTest(result: ConnectorTestResult): Promise<WorkItem | undefined>;
  lookUpOauth(work: WorkItem, name: string): Promise<Answer<ConnectorOauthPlan>>;
  reportProblem(work: WorkItem, connectorOauthId: string, problem: string | null): Promise<Answer>;
}

export const connectorTestResult: ConnectorTestResult = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  rows: [{ id: 1, total: 12.5 }],
  structure: {
    schema: { type: 'object', properties: { id: { type: 'integer' }, total: { type: 'number' } } },
    containedInOuterArray: false,
    repeatingElementPath: ['orders'],
  },
  request: {
    method: 'GET',
    url: 'https://api.example.com/v1/shops/oslo/orders?status=paid&page=1&size=100',
    headers: { authorization: 'Bearer ***' },
  },
  durationMs: 84,
};

export async function createConnectorAgent(
  account: Account,
  input: { name?: string; abilities?: string[] } = {},
): Promise<ConnectorAgent> {
  const agent = await account.agent(input.name);
  const { client } = agent;
  const instanceId = randomUUID();
  const { abilities = ['connector-test', 'connector-authorization'] } = input;
  const hello = { protocolVersions: [1], agentVersion: '0.1.0', instanceId, abilities, concurrency: 10 };
  await client.post('/hello', hello);
  const holding = ({ workId, epoch }: WorkItem) => ({ instanceId, workId, epoch });
  const made: ConnectorAgent = {
    ...agent,
    async next(waitSeconds = 25) {
      const claim = await client.post<ClaimResponse>('/claims', { instanceId, max: 1, waitSeconds });
      return claim.body.work[0];
    },
    async end({ workId, epoch }, outcome) {
      const reports = [
        { workId, epoch, sequence: 1, type: 'started' },
        { workId, epoch, sequence: 2, type: 'completed', outcome },
      ];
      await client.post('/reports', { instanceId, reports });
    },
    async answerTest(result) {
      const work = await made.next();
      if (work !== undefined)
        await made.end(work, { status: 'SUCCESS', connectorTest: JSON.stringify(result) });
      return work;
    },
    lookUpOauth: (work, name) =>
      client.post<ConnectorOauthPlan>('/connector-oauths', { ...holding(work), name }),
    reportProblem: (work, connectorOauthId, problem) =>
      client.post('/connector-oauth-problems', { ...holding(work), connectorOauthId, problem }),
  };
  return made;
}
