/**
 * A keep-alive connection with just enough HTTP/1.1 for the measured servers, so that the load generator uses
 * little of the machine. Requests are prepared bytes; of a response it reads only the status and the place of
 * the body.
 */
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  status: number;
  body: string;
}

/** Called for a complete response. Its body is `bytes` from `start` to `end`, valid only during the call. */
export type Answered = (status: number, bytes: Buffer, start: number, end: number) => void;

interface Waiting {
  answered: Answered;
  failed: (reason: Error) => void;
}

/** Shared by all connections: received data is processed before more is received. */
const received = Buffer.allocUnsafe(256 * 1_024);
const endOfHead = Buffer.from('\r\n\r\n');

export class RawConnection {
  readonly #socket: Socket;
  readonly #waiting: Waiting[] = [];
  #rest: Buffer | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('error', (failure) => this.#fail(failure));
    socket.on('close', () => this.#fail(new Error('The server closed the connection.')));
  }

  static open(port: number): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      let connection: RawConnection | undefined;
      const onread = {
        buffer: received,
        callback: (count: number, buffer: Uint8Array) => {
          if (connection !== undefined) connection.#received(buffer as Buffer, count);
          return true;
        },
      };
      const socket = connect({ host: '127.0.0.1', port, onread });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        connection = new RawConnection(socket);
        resolve(connection);
      });
    });
  }

  /** Sends a request without waiting for earlier responses. The caller may change the bytes afterwards. */
  send(request: Buffer, answered: Answered, failed: Waiting['failed']): void {
    this.#waiting.push({ answered, failed });
    // Node.js keeps a reference to bytes that it cannot write at once; a request is small enough.
    this.#socket.write(request);
  }

  request(request: Buffer | string): Promise<RawAnswer> {
    const bytes = typeof request === 'string' ? Buffer.from(request) : request;
    return new Promise((resolve, reject) => {
      const answered: Answered = (status, from, start, end) =>
        resolve({ status, body: from.toString('utf8', start, end) });
      this.send(bytes, answered, reject);
    });
  }

  close(): void {
    this.#waiting.length = 0;
    this.#socket.destroy();
  }

  #received(buffer: Buffer, count: number): void {
    let bytes = buffer.subarray(0, count);
    if (this.#rest !== undefined) {
      bytes = Buffer.concat([this.#rest, bytes]);
      this.#rest = undefined;
    }
    let at = 0;
    while (at < bytes.length) {
      const end = this.#answer(bytes, at);
      if (end === undefined) break;
      at = end;
    }
    if (at < bytes.length) this.#rest = Buffer.from(bytes.subarray(at));
  }

  /** Passes on the response that begins at `start`. Returns its end, or undefined if it is incomplete. */
  #answer(bytes: Buffer, start: number): number | undefined {
    const headEnd = bytes.indexOf(endOfHead, start);
    if (headEnd < 0) return undefined;
    const head = bytes.toString('latin1', start, headEnd);
    const status = Number(head.slice(9, 12));
    const length = /\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? (status === 204 ? '0' : undefined);
    if (length === undefined) {
      this.#fail(new Error(`An answer without a length: ${head}`));
      return bytes.length;
    }
    const bodyStart = headEnd + endOfHead.length;
    const end = bodyStart + Number(length);
    if (end > bytes.length) return undefined;
    this.#waiting.shift()?.answered(status, bytes, bodyStart, end);
    return end;
  }

  #fail(reason: Error): void {
    for (const { failed } of this.#waiting.splice(0)) failed(reason);
    this.#socket.destroy();
  }
}
