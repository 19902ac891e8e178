/** COPY through the connection: the bytes of a file go to the server, or come from it, in pieces. */
import { type FileHandle, open } from 'node:fs/promises';
import type { Connection, Submittable } from 'pg';
import type { CopiedFile } from '../../engine/ports/ports.ts';
import type { PostgresSocket } from './postgres-socket.ts';

const pieceBytes = 262_144;
const [lineFeed, carriageReturn] = [10, 13];

type Copied = Pick<CopiedFile, 'path' | 'skippedLines'>;

interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(bytes: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
}

/** What the client calls of a query. It is the client's own interface for COPY, and that of others. */
class CopyQuery implements Submittable {
  readonly #sql: string;
  readonly #done = Promise.withResolvers<number>();
  protected failure: Error | undefined;
  #rowCount = 0;

  constructor(sql: string) {
    this.#sql = sql;
    this.#done.promise.catch(() => undefined);
  }

  /** Settles when the server is ready again. */
  get rowCount(): Promise<number> {
    return this.#done.promise;
  }

  submit(connection: Connection): void {
    (connection as unknown as CopyConnection).query(this.#sql);
  }

  handleRowDescription(): void {}
  handleDataRow(): void {}
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}

  handleCommandComplete({ text }: { text: string }): void {
    this.#rowCount = Number(/^COPY (\d{1,15})$/.exec(text)?.[1] ?? 0);
  }

  handleError(failure: Error): void {
    this.end();
    this.#done.reject(this.failure ?? failure);
  }

  handleReadyForQuery(): void {
    this.end();
    if (this.failure === undefined) this.#done.resolve(this.#rowCount);
    else this.#done.reject(this.failure);
  }

  /** No more is sent or written. */
  protected end(): void {}
}

/** Sends a file. */
export class CopyIn extends CopyQuery {
  readonly #file: Copied;
  readonly #socket: PostgresSocket;
  #hasEnded = false;

  constructor(sql: string, file: Copied, socket: PostgresSocket) {
    super(sql);
    this.#file = file;
    this.#socket = socket;
  }

  handleCopyInResponse(connection: CopyConnection): void {
    this.#send(connection).catch((failure: Error) => {
      this.failure = failure;
      if (!this.#hasEnded) connection.sendCopyFail('the file could not be read');
    });
  }

  protected override end(): void {
    this.#hasEnded = true;
  }

  async #send(connection: CopyConnection): Promise<void> {
    const { path, skippedLines = 0 } = this.#file;
    await using file = await open(path, 'r');
    let end: Buffer = Buffer.from('\n');
    for await (const piece of readPieces(file, skippedLines)) {
      if (this.#hasEnded) return;
      end = requireNoMark(Buffer.concat([end, piece]));
      connection.sendCopyFromChunk(piece);
      if (this.#socket.writableNeedDrain) await this.#drain();
    }
    if (!this.#hasEnded) connection.endCopyFrom();
  }

  /** Also settles when the socket is gone. */
  #drain(): Promise<void> {
    const socket = this.#socket;
    return new Promise((resolve) => {
      const settle = () => {
        socket.off('drain', settle).off('close', settle);
        resolve();
      };
      socket.on('drain', settle).on('close', settle);
    });
  }
}

/**
 * Before its version 18 the server takes such a line for the end, and would leave out the rows after it without a word.
 *
 * @returns the last bytes, in which a line may begin. @throws Error
 */
function requireNoMark(bytes: Buffer): Buffer {
  if (['\n\\.\n', '\n\\.\r', '\r\\.\r'].some((mark) => bytes.includes(mark)))
    throw new Error(
      'the file has a line with nothing but \\. in it, which PostgreSQL takes for its end: enclose the value in quotes',
    );
  return Buffer.from(bytes.subarray(-3));
}

/** A line ends by LF, CR or both. The two of a pair may be in two pieces. */
async function* readPieces(file: FileHandle, skippedLines: number): AsyncGenerator<Buffer> {
  let left = skippedLines;
  let isAfterReturn = false;
  for (;;) {
    // The client copies it.
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(pieceBytes), 0, pieceBytes);
    if (bytesRead === 0) return;
    let piece = buffer.subarray(0, bytesRead);
    let at = 0;
    for (; (left > 0 || isAfterReturn) && at < piece.length; at += 1) {
      const byte = piece[at];
      const isPair = isAfterReturn && byte === lineFeed;
      if (left === 0 && !isPair) {
        isAfterReturn = false;
        break;
      }
      isAfterReturn = byte === carriageReturn;
      if (isAfterReturn || (byte === lineFeed && !isPair)) left -= 1;
    }
    piece = piece.subarray(at);
    if (piece.length > 0) yield piece;
  }
}

const describeDisk = (failure: NodeJS.ErrnoException): Error =>
  failure.code === 'ENOSPC' || failure.code === 'EDQUOT'
    ? new Error(
        `the disk of the agent is full (${failure.code}): free space in its data folder, or write fewer rows`,
      )
    : failure;

/** Writes what the server sends to a file. */
export class CopyOut extends CopyQuery {
  readonly #socket: PostgresSocket;
  readonly #path: string;
  #writing: Promise<void> = Promise.resolve();
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #file: FileHandle | undefined;

  constructor(sql: string, { path }: Copied, socket: PostgresSocket) {
    super(sql);
    this.#path = path;
    this.#socket = socket;
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    // The client may use its memory again.
    this.#waiting.push(Buffer.from(chunk));
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes >= pieceBytes) this.#flush();
  }

  #flush(): void {
    const pieces = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#socket.pauseReading();
    this.#writing = this.#writing
      .then(async () => {
        this.#file ??= await open(this.#path, 'w', 0o600);
        await this.#file.writev(pieces);
      })
      .catch((failure: Error) => {
        this.failure ??= describeDisk(failure);
      })
      .finally(() => this.#socket.resumeReading());
  }

  /** Settles when the file is complete. @throws the first failure */
  async finish(): Promise<number> {
    try {
      const rowCount = await this.rowCount;
      this.#flush();
      await this.#writing;
      if (this.failure !== undefined) throw this.failure;
      return rowCount;
    } finally {
      await this.#writing;
      await this.#file?.close();
    }
  }
}
