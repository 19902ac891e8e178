/** The process that starts pipelines and simulates their agent. It receives a count and returns the time. */
import type { ClaimResponse } from '@headgate/contract';
import { RawConnection } from './raw-connection.ts';
import { requestText } from './request.ts';

export interface CycleOrder {
  port: number;
  start: string;
  agentToken: string;
  instanceId: string;
  works: number;
  /** Connections that start pipelines. */
  starters: number;
  /** Connections that claim independently. */
  claimers: number;
  /** Works per claim. One work reports start and end in two calls, several report both in one call. */
  batch: number;
}

export interface CycleResult {
  seconds: number;
  cores: number;
}

export type CycleReply = { result: CycleResult } | { failure: string };

async function run(order: CycleOrder): Promise<CycleResult> {
  const { works, batch, instanceId } = order;
  const open = () => RawConnection.open(order.port);
  const starters = await Promise.all(Array.from({ length: order.starters }, open));
  const claimers = await Promise.all(Array.from({ length: order.claimers }, open));
  const start = Buffer.from(order.start);
  const post = (path: string, body: object) => requestText('POST', path, { token: order.agentToken, body });
  const claim = Buffer.from(post('/agent/v1/claims', { instanceId, max: batch, waitSeconds: 1 }));
  let started = 0;
  let ended = 0;

  async function startAll(connection: RawConnection): Promise<void> {
    while (started < works) {
      started += 1;
      const { status, body } = await connection.request(start);
      if (status !== 201) throw new Error(`A start returned ${status}: ${body}`);
    }
  }

  async function report(connection: RawConnection, reports: object[]): Promise<void> {
    const { status, body } = await connection.request(post('/agent/v1/reports', { instanceId, reports }));
    if (status !== 200 || body.includes('"accepted":false'))
      throw new Error(`Reports returned ${status}: ${body}`);
  }

  async function runAll(connection: RawConnection): Promise<void> {
    while (ended < works) {
      const { status, body } = await connection.request(claim);
      if (status !== 200) throw new Error(`A claim returned ${status}: ${body}`);
      const { work } = JSON.parse(body) as ClaimResponse;
      if (work.length === 0) continue;
      const starts = work.map(({ workId, epoch }) => ({ workId, epoch, sequence: 1, type: 'started' }));
      const ends = work.map(({ workId, epoch }) => ({
        workId,
        epoch,
        sequence: 2,
        type: 'completed',
        outcome: { status: 'SUCCESS' },
      }));
      if (batch === 1) {
        await report(connection, starts);
        await report(connection, ends);
      } else await report(connection, [...starts, ...ends]);
      ended += work.length;
    }
  }

  const cpu = process.cpuUsage();
  const began = performance.now();
  let seconds = 0;
  const running = claimers.map((connection) =>
    runAll(connection).finally(() => {
      // The last claims wait a while for work that no longer comes.
      seconds ||= (performance.now() - began) / 1_000;
    }),
  );
  try {
    await Promise.all([...starters.map(startAll), ...running]);
  } finally {
    for (const connection of [...starters, ...claimers]) connection.close();
  }
  const { user, system } = process.cpuUsage(cpu);
  return { seconds, cores: (user + system) / 1e6 / seconds };
}

process.on('message', (order: CycleOrder) => {
  run(order).then(
    (result) => process.send?.({ result } satisfies CycleReply),
    (failure: unknown) => process.send?.({ failure: String(failure) } satisfies CycleReply),
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
