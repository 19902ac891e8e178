/** The process that generates load. Its parent sends the requests, and it returns the result. */
import { RawConnection } from './raw-connection.ts';
import { numberedRequest } from './request.ts';

export interface LoadOrder {
  port: number;
  connections: number;
  /** Each connection sends them in turn, one after the response to the previous one. */
  requests: readonly string[];
  /** The first of the numbers that make requests unique. A server never gets one twice. */
  firstNumber: number;
  /** Ends after this time, or after this many responses. */
  milliseconds?: number;
  answers?: number;
  /** Requests a second of all connections together; without it as many as the server answers. */
  rate?: number;
}

export interface LoadResult {
  answers: number;
  seconds: number;
  /** Processor use of the generator: 1 is one core. */
  cores: number;
  /** Failed responses by status. */
  refused: Record<number, number>;
  /** One failed response. */
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

  /** How long the request of a connection must wait, in milliseconds, so that the rate is kept. */
  function computeDelay(offset: number, turns: number): number {
    if (order.rate === undefined) return 0;
    const dueAt = began + ((offset + turns * order.connections) * 1_000) / order.rate;
    return Math.max(0, dueAt - performance.now());
  }

  function drive(connection: RawConnection, offset: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const requests = order.requests.map(numberedRequest);
    let turn = offset;
    let sentAt = 0;
    let turns = 0;
    function next(): void {
      const delay = computeDelay(offset, turns++);
      if (delay > 0) setTimeout(send, delay);
      else send();
    }
    function send(): void {
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
