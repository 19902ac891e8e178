/**
 * The connection of the client to a PostgreSQL server. It passes only whole, well-formed messages, and no more bytes
 * than a statement may return, so that a giant value or a hostile server costs a session and not the agent.
 */
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { RefusedMessage } from './postgres-errors.ts';
import { findLengthFault, findMessageFault, headerLength, isControl, isSignIn } from './postgres-messages.ts';

const mebibyte = 1024 * 1024;
const signInLimit = mebibyte;
/** Bytes that a server may send for one statement. */
export const statementLimit = 256 * mebibyte;
/** Messages of one statement, except rows and notices. */
const controlLimit = 200;
/** Signing in takes four. */
const signInMessages = 8;
/** How long the server may take to close its side. */
const endMilliseconds = 2_000;
/** Asks for TLS: the length of the request, and its number. */
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

export class PostgresSocket extends Duplex {
  readonly #tls: ConnectionOptions | false;
  readonly #socket = new Socket();
  #way: Socket | TLSSocket = this.#socket;
  /** Of a message that is not yet whole. */
  #parts: Buffer[] = [];
  #pauses = 0;
  #partsLength = 0;
  #neededLength = headerLength;
  #limit = signInLimit;
  #bytesLeft = signInLimit;
  #controlsLeft = controlLimit;
  #signInsLeft = signInMessages;

  constructor(tls: ConnectionOptions | false) {
    super();
    this.#tls = tls;
  }

  /** The next statement begins, so that the server may send as much again. @param limit in bytes */
  startStatement(limit = statementLimit): void {
    this.#limit = limit;
    this.#bytesLeft = limit;
    this.#controlsLeft = controlLimit;
  }

  /** Why the connection was closed, if it was because of what the server sent. */
  get refusal(): RefusedMessage | undefined {
    return this.errored instanceof RefusedMessage ? this.errored : undefined;
  }

  connect(port: number, host: string): this {
    const socket = this.#socket;
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
    socket.connect(port, host, () => {
      if (this.#tls === false) this.#open(socket);
      else this.#requestTls(this.#tls);
    });
    return this;
  }

  #requestTls(options: ConnectionOptions): void {
    const socket = this.#socket;
    socket.once('data', (response) => {
      // More than one byte would be text that was not encrypted.
      if (response.length !== 1 || response[0] !== 0x53) {
        const isRefused = response.length === 1 && response[0] === 0x4e;
        this.destroy(
          new Error(
            isRefused
              ? 'The server does not support SSL connections'
              : 'There was an error establishing an SSL connection',
          ),
        );
        return;
      }
      const secure = connectTls({ ...options, socket }, () => this.#open(secure));
      secure.on('error', (error) => this.destroy(error));
      secure.on('close', () => this.destroy());
    });
    socket.write(tlsRequest);
  }

  #open(way: Socket | TLSSocket): void {
    this.#way = way;
    way.on('data', (bytes) => this.#receive(bytes));
    way.on('end', () => this.push(null));
    this.emit('connect');
  }

  #receive(bytes: Buffer): void {
    this.#bytesLeft -= bytes.length;
    if (this.#bytesLeft < 0) {
      this.destroy(new RefusedMessage(`more than ${this.#limit / mebibyte} MiB`, 'size'));
      return;
    }
    this.#parts.push(bytes);
    this.#partsLength += bytes.length;
    if (this.#partsLength < this.#neededLength) return;
    const whole = this.#parts.length === 1 ? bytes : Buffer.concat(this.#parts, this.#partsLength);
    const fault = this.#pass(whole);
    if (fault !== undefined) this.destroy(fault);
  }

  /** Passes the messages that are whole, and keeps the rest. Returns what is wrong. */
  #pass(bytes: Buffer): RefusedMessage | undefined {
    let from = 0;
    let fault: RefusedMessage | undefined;
    this.#neededLength = headerLength;
    while (bytes.length - from >= headerLength) {
      const code = bytes[from] ?? 0;
      const length = 1 + bytes.readUInt32BE(from + 1);
      fault = findLengthFault(code, length);
      if (fault !== undefined) break;
      if (bytes.length - from < length) {
        this.#neededLength = length;
        break;
      }
      fault = this.#count(code) ?? findMessageFault(bytes.subarray(from, from + length));
      if (fault !== undefined) break;
      from += length;
    }
    const rest = bytes.subarray(from);
    // A copy, because a part would hold the memory of the whole.
    this.#parts = rest.length === 0 ? [] : [Buffer.from(rest)];
    this.#partsLength = rest.length;
    if (from > 0) this.push(bytes.subarray(0, from));
    return fault;
  }

  #count(code: number): RefusedMessage | undefined {
    if (!isControl(code)) return undefined;
    this.#controlsLeft -= 1;
    if (isSignIn(code)) this.#signInsLeft -= 1;
    return this.#controlsLeft < 0 || this.#signInsLeft < 0
      ? new RefusedMessage('messages without end', 'form')
      : undefined;
  }

  /** While what came is written elsewhere. */
  pauseReading(): void {
    this.#pauses += 1;
    this.#way.pause();
  }

  resumeReading(): void {
    this.#pauses -= 1;
    if (this.#pauses === 0) this.#way.resume();
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#way.write(bytes, done);
  }

  override _writev(parts: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#way.write(Buffer.concat(parts.map(({ chunk }) => chunk)), done);
  }

  override _final(done: () => void): void {
    this.#way.end(() => done());
    setTimeout(() => this.destroy(), endMilliseconds).unref();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#way.destroy();
    this.#socket.destroy();
    this.#parts = [];
    done(error);
  }

  setNoDelay(isSet: boolean): this {
    this.#socket.setNoDelay(isSet);
    return this;
  }

  setKeepAlive(isSet: boolean, milliseconds: number): this {
    this.#socket.setKeepAlive(isSet, milliseconds);
    return this;
  }
}
