/**
 * A client that writes the whole request before it reads, like blocking clients. If the connection is reset,
 * it loses the response.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ProblemDetail } from '@headgate/contract';

export interface RawAnswer {
  status: number;
  head: string;
  text: string;
}

const pieceBytes = 65_536;

export class BlockingConnection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #failure: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.pause();
    socket.on('error', (failure) => {
      this.#failure = failure;
    });
  }

  /** @param ca the certificate for an `https:` address */
  static async open(address: string, ca?: string): Promise<BlockingConnection> {
    const { protocol, hostname: host, port } = new URL(address);
    const isTls = protocol === 'https:';
    const to = { host, port: Number(port) };
    const socket = isTls ? connectTls({ ...to, ...(ca === undefined ? {} : { ca }) }) : connect(to);
    await once(socket, isTls ? 'secureConnect' : 'connect');
    return new BlockingConnection(socket);
  }

  /** Sends a request with its body, then reads the response. Fails if the connection ends first. */
  async exchange(method: string, path: string, headers: Record<string, string>, body?: Buffer) {
    const isFramed = body === undefined || 'transfer-encoding' in headers;
    const length = isFramed ? {} : { 'content-length': String(body.length) };
    await this.write(renderRequestHead(method, path, { ...length, ...headers }));
    for (let at = 0; body !== undefined && at < body.length; at += pieceBytes)
      await this.write(body.subarray(at, at + pieceBytes));
    return this.answer();
  }

  async write(bytes: string | Buffer): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#socket.write(bytes)) return;
    const waitForEnd = new AbortController();
    const { signal } = waitForEnd;
    await Promise.race([once(this.#socket, 'drain', { signal }), once(this.#socket, 'close', { signal })]);
    waitForEnd.abort();
    assert.ok(!this.#socket.destroyed, `the connection ended while the request was sent: ${this.#failure}`);
  }

  async answer(): Promise<RawAnswer> {
    for (;;) {
      const end = this.#received.indexOf('\r\n\r\n');
      const head = this.#received.toString('latin1', 0, Math.max(end, 0));
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
      if (end >= 0 && this.#received.length >= end + 4 + length) {
        const text = this.#received.toString('utf8', end + 4, end + 4 + length);
        this.#received = this.#received.subarray(end + 4 + length);
        return { status: Number(/^HTTP\/1.1 (\d+)/.exec(head)?.[1]), head, text };
      }
      const chunk = await this.#read();
      assert.ok(chunk, `the connection ended before the answer: ${this.#failure}; ${this.#received}`);
      this.#received = Buffer.concat([this.#received, chunk]);
    }
  }

  /** Resolves when the server has closed its side; fails after `milliseconds`. */
  async ended(milliseconds: number): Promise<void> {
    const signal = AbortSignal.timeout(milliseconds);
    this.#socket.resume();
    if (this.#socket.readableEnded || this.#socket.destroyed) return;
    try {
      await Promise.race(['end', 'close'].map((event) => once(this.#socket, event, { signal })));
    } catch (failure) {
      // A reset ends the connection too: the client may have written to a connection that the server closed.
      if (failure !== this.#failure) throw failure;
    }
  }

  close(): void {
    this.#socket.destroy();
  }

  async #read(): Promise<Buffer | undefined> {
    const socket = this.#socket;
    const chunk = socket.read() as Buffer | null;
    if (chunk !== null) return chunk;
    if (socket.readableEnded || socket.destroyed) return undefined;
    const waiting = new AbortController();
    const events = ['readable', 'end', 'close'].map((event) =>
      once(socket, event, { signal: waiting.signal }).catch(() => undefined),
    );
    await Promise.race(events);
    waiting.abort();
    return (socket.read() as Buffer | null) ?? this.#read();
  }
}

export function renderRequestHead(method: string, path: string, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `${[`${method} ${path} HTTP/1.1`, 'host: x', ...lines].join('\r\n')}\r\n\r\n`;
}

export function requireRawProblem({ status, text }: RawAnswer, expected: number, code: string): void {
  const problem = JSON.parse(text) as ProblemDetail;
  assert.deepEqual({ status, code: problem.code }, { status: expected, code }, text);
}

/** Encodes a body in the chunked transfer coding (RFC 9112 §7.1). */
export function encodeChunked(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += pieceBytes) {
    const piece = body.subarray(at, at + pieceBytes);
    chunks.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
}
