/**
 * A process with many readers of the event stream. They count events without parsing them, because the measured
 * server shares the machine with this process.
 */
import { connect, type Socket } from 'node:net';
import { requestText } from './request.ts';

export type ReadersOrder =
  | { order: 'open'; port: number; tokens: readonly string[]; readersOfToken: number }
  /** Waits until no reader has got an event for a moment, and tells how many each has got. */
  | { order: 'count' }
  | { order: 'close' };

export interface ReadersReply {
  /** The number of events of each reader. */
  counts: readonly number[];
}

const quietMilliseconds = 1_500;
const lineFeed = 10;

class Reader {
  readonly #socket: Socket;
  events = 0;
  lastAt = performance.now();
  #endsLine = false;
  readonly opened: Promise<void>;

  constructor(port: number, token: string) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.write(requestText('GET', '/dpc/v1/events/stream', { token }));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.opened = promise;
    let head = '';
    this.#socket.on('error', reject);
    this.#socket.on('data', (chunk: Buffer) => {
      if (!head.includes('retry:')) {
        head += chunk.toString('latin1');
        if (!head.startsWith('HTTP/1.1 200')) reject(new Error(head));
        if (head.includes('retry:')) resolve();
        return;
      }
      this.#count(chunk);
    });
  }

  /** An event ends with an empty line, which two chunks may share. */
  #count(chunk: Buffer): void {
    if (this.#endsLine && chunk[0] === lineFeed) this.events += 1;
    for (let at = chunk.indexOf('\n\n'); at >= 0; at = chunk.indexOf('\n\n', at + 2)) this.events += 1;
    this.#endsLine = chunk.at(-1) === lineFeed && chunk.at(-2) !== lineFeed;
    this.lastAt = performance.now();
  }

  close(): void {
    this.#socket.destroy();
  }
}

let readers: Reader[] = [];

async function obey(order: ReadersOrder): Promise<ReadersReply> {
  if (order.order === 'open') {
    const { port, tokens, readersOfToken } = order;
    readers = tokens.flatMap((token) =>
      Array.from({ length: readersOfToken }, () => new Reader(port, token)),
    );
    await Promise.all(readers.map((reader) => reader.opened));
  } else if (order.order === 'count') {
    for (;;) {
      const last = Math.max(...readers.map(({ lastAt }) => lastAt));
      const left = last + quietMilliseconds - performance.now();
      if (left <= 0) break;
      await new Promise((resolve) => setTimeout(resolve, left));
    }
  }
  const counts = readers.map(({ events }) => events);
  if (order.order === 'close') for (const reader of readers.splice(0)) reader.close();
  return { counts };
}

process.on('message', (order: ReadersOrder) => {
  obey(order).then(
    (reply) => process.send?.(reply),
    (failure: unknown) => {
      console.error(failure);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
