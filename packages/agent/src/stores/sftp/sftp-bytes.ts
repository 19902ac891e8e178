/** Reads and writes files of an SFTP server with many requests under way, because each takes a round trip. */
import type { Stats } from 'ssh2';
import { ExchangeError } from '../../connectors/exchange.ts';
import type { SftpConnection } from './sftp-connection.ts';

/** Bytes of one request: all servers take these. */
const requestBytes = 32_768;
const requestsAtOnce = 32;

/** Gives the bytes from a place on, up to the size that the file has when it is opened. */
export async function readBytes<Result>(
  connection: SftpConnection,
  path: string,
  from: number,
  signal: AbortSignal,
  use: (body: AsyncIterable<Buffer>, stats: Stats) => Promise<Result>,
): Promise<Result> {
  const { sftp, ask } = connection;
  const handle = await ask<Buffer>(signal, (done) => sftp.open(path, 'r', done));
  try {
    const stats = await ask<Stats>(signal, (done) => sftp.fstat(handle, done));
    return await use(readInOrder(connection, handle, from, stats.size, signal), stats);
  } finally {
    await ask(signal, (done) => sftp.close(handle, (error) => done(error, undefined))).catch(() => undefined);
  }
}

async function* readInOrder(
  connection: SftpConnection,
  handle: Buffer,
  from: number,
  size: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const waiting: Promise<Buffer>[] = [];
  let at = from;
  while (at < size || waiting.length > 0) {
    while (at < size && waiting.length < requestsAtOnce) {
      const length = Math.min(requestBytes, size - at);
      const reading = readPart(connection, handle, at, length, signal);
      // It is awaited in its turn.
      reading.catch(() => undefined);
      waiting.push(reading);
      at += length;
    }
    const next = await waiting.shift();
    if (next !== undefined) yield next;
  }
}

/** A server may answer fewer bytes than were asked for. */
async function readPart(
  { sftp, ask }: SftpConnection,
  handle: Buffer,
  at: number,
  length: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const count = await ask<number>(signal, (answer) =>
      sftp.read(handle, bytes, done, length - done, at + done, (error, read) => answer(error, read)),
    );
    if (count === 0) throw new ExchangeError('the file became shorter while it was read');
    done += count;
  }
  return bytes;
}

/** Writes a new file. Returns its bytes. */
export async function writeBytes(
  { sftp, ask }: SftpConnection,
  path: string,
  body: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<number> {
  const handle = await ask<Buffer>(signal, (done) => sftp.open(path, 'wx', done));
  const waiting: Promise<unknown>[] = [];
  let total = 0;
  try {
    for await (const chunk of body)
      for (let from = 0; from < chunk.byteLength; from += requestBytes) {
        const part = chunk.subarray(from, from + requestBytes);
        const at = total;
        const writing = ask(signal, (done) =>
          sftp.write(handle, part, 0, part.byteLength, at, (error) => done(error, undefined)),
        );
        writing.catch(() => undefined);
        waiting.push(writing);
        total += part.byteLength;
        if (waiting.length >= requestsAtOnce) await waiting.shift();
      }
    await Promise.all(waiting);
  } finally {
    await Promise.allSettled(waiting);
    await ask(signal, (done) => sftp.close(handle, (error) => done(error, undefined))).catch(() => undefined);
  }
  return total;
}
