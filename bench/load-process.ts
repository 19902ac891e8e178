/** The process that makes the load: told by its parent what to send, it answers what came of it. */
import { RawConnection } from './raw-connection.ts';
import { numberedRequest } from './request.ts';

export interface LoadOrder {
  port: number;
  connections: number;
  /** Sent in turn by each connection, each when the one before was answered. */
  requests: readonly string[];
  /** The first of the numbers that make requests differ; never given twice to one server. */
  firstNumber: number;
  /** Until when: so long, or so many answers. */
  milliseconds?: number;
  answers?: number;
}

export interface LoadResult {
  answers: number;
  seconds: number;
  /** Of the generator itself: 1 is a whole core. */
  cores: number;
  /** Answers that were no success, by status. */
  refused: Record<number, number>;
  /** One that was no success, as it came. */
  example: string | undefined;
  medianMilliseconds: number;
  p99Milliseconds: number;
  nextNumber: number;
}

export type LoadReply = { result: LoadResult } | { failure: string };

async function load(order: LoadOrder): Promise<LoadResult> {
  const connections = await Promise.all(
    Array.from({ length: order.connections }, () => RawConnection.open(order.port)),
  );
  const refused: Record<number, number> = {};
  const times: number[] = [];
  let example: string | undefined;
  let number = order.firstNumber;
  let sent = 0;
  const cpu = process.cpuUsage();
  const began = performance.now();
  const until = began + (order.milliseconds ?? Number.POSITIVE_INFINITY);
  const most = order.answers ?? Number.POSITIVE_INFINITY;

  function drive(connection: RawConnection, offset: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const requests = order.requests.map(numberedRequest);
    let turn = offset;
    let sentAt = 0;
    function next(): void {
      const now = performance.now();
      const request = requests[turn++ % requests.length];
      if (now >= until || sent >= most || request === undefined) {
        resolve();
        return;
      }
      request.number(number++);
      sent += 1;
      sentAt = now;
      connection.send(request.bytes, answered, reject);
    }
    function answered(status: number, bytes: Buffer, start: number, end: number): void {
      times.push(performance.now() - sentAt);
      if (status >= 300) {
        refused[status] = (refused[status] ?? 0) + 1;
        example ??= bytes.toString('utf8', start, end);
      }
      next();
    }
    next();
    return promise;
  }

  try {
    await Promise.all(connections.map((connection, index) => drive(connection, index)));
  } finally {
    for (const connection of connections) connection.close();
  }
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  times.sort((one, other) => one - other);
  return {
    answers: times.length,
    seconds,
    cores: (user + system) / 1e6 / seconds,
    refused,
    example,
    medianMilliseconds: times[Math.floor(times.length / 2)] ?? 0,
    p99Milliseconds: times[Math.floor(times.length * 0.99)] ?? 0,
    nextNumber: number,
  };
}

process.on('message', (order: LoadOrder) => {
  load(order).then(
    (result) => process.send?.({ result } satisfies LoadReply),
    (failure: unknown) => process.send?.({ failure: String(failure) } satisfies LoadReply),
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
