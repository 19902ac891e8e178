/** An agent for tests: one instance that calls the agent protocol step by step. */
import { randomUUID } from 'node:crypto';
import {
  agentProtocolVersion,
  type ClaimResponse,
  type HeartbeatResponse,
  type HelloResponse,
  type LogLine,
  type ReportsResponse,
  type RunVariables,
  type Step,
  type StepLineage,
  type TestResult,
  type WorkItem,
  type WorkOf,
  type WorkOutcome,
} from '@headgate/contract';
import type { RegisteredAgent } from './account.ts';
import type { Answer } from './client.ts';

type Held = Pick<WorkItem, 'workId' | 'epoch'>;
/** A report without the ids of its work and its sequence number. */
export type Said =
  | { type: 'started' }
  | {
      type: 'progress';
      steps: Step[];
      lines?: LogLine[];
      variables?: RunVariables[];
      lineage?: StepLineage[];
    }
  | { type: 'tested'; results: TestResult[] }
  | { type: 'completed'; outcome: WorkOutcome }
  | { type: 'released'; reason: string };

/** The work of an agent without a certificate. */
export type ExecutionClaim = Omit<ClaimResponse, 'work'> & { work: WorkOf<'pipeline-execution'>[] };

export interface Instance {
  instanceId: string;
  hello(input?: object): Promise<Answer<HelloResponse>>;
  claim(max?: number, waitSeconds?: number): Promise<ExecutionClaim>;
  heartbeat(...held: Held[]): Promise<HeartbeatResponse['held']>;
  /** Sends a report, numbered from 1, or with the given number. */
  report(work: Held, said: Said, sequence?: number): Promise<ReportsResponse['results'][number]>;
}

export function createInstance({ client }: Pick<RegisteredAgent, 'client'>): Instance {
  const instanceId = randomUUID();
  const sequences = new Map<string, number>();
  return {
    instanceId,
    hello: (input = {}) =>
      client.post<HelloResponse>('/hello', {
        protocolVersions: [agentProtocolVersion],
        agentVersion: '0.1.0',
        instanceId,
        abilities: ['pipeline-execution'],
        concurrency: 10,
        ...input,
      }),
    async claim(max = 10, waitSeconds = 0) {
      return (await client.post<ExecutionClaim>('/claims', { instanceId, max, waitSeconds })).body;
    },
    async heartbeat(...held) {
      const sent = held.map(({ workId, epoch }) => ({ workId, epoch }));
      return (await client.post<HeartbeatResponse>('/heartbeats', { instanceId, held: sent })).body.held;
    },
    async report({ workId, epoch }, said, sequence) {
      const key = `${workId} ${epoch}`;
      const last = sequences.get(key) ?? 0;
      const number = sequence ?? last + 1;
      sequences.set(key, Math.max(last, number));
      const report = { workId, epoch, sequence: number, ...said };
      const { results } = (await client.post<ReportsResponse>('/reports', { instanceId, reports: [report] }))
        .body;
      const [result] = results;
      if (result === undefined) throw new Error('a report without a result');
      return result;
    },
  };
}
