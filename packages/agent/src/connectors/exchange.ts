/**
 * One HTTP request of a connector or a download, and its response within bounds. Not `fetch`: it cannot connect to a
 * checked address (`@headgate/contract/egress`).
 */

import { isUtf8 } from 'node:buffer';
import {
  type IncomingMessage,
  Agent as PlainAgent,
  type RequestOptions,
  request as requestPlainly,
} from 'node:http';
import { request as requestSecurely, Agent as SecureAgent } from 'node:https';
import type { LookupFunction } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Egress, ResolvedAddress } from '@headgate/contract/egress';
import { waitUnlessAborted } from '../unless-aborted.ts';

export interface ExchangeBounds {
  /** Bytes of a response, before and after decompression. */
  responseBytes: number;
  /** What to do about a response that is larger. */
  advice: string;
  /** Until the headers of the response have come. */
  answerMilliseconds: number;
  /** Between two parts of the body. */
  idleMilliseconds: number;
  /** For the whole exchange. */
  totalMilliseconds: number;
  /** Connections to one host; absent: 4. */
  sockets?: number;
}

export interface SentRequest {
  method: string;
  url: URL;
  headers: readonly (readonly [name: string, value: string])[];
  body?: string | Buffer | undefined;
  /** Whether the body of the response is taken as it comes. Else it is decompressed. */
  isRaw?: boolean;
}

export interface ReceivedResponse {
  status: number;
  /** Names in lower case. A repeated header is joined by commas. */
  headers: Readonly<Record<string, string>>;
  text: string;
  /** Whether the text has all bytes of the response. */
  isUtf8: boolean;
  /** After decompression. */
  bytes: number;
}

/** A request that got no usable response. */
export class ExchangeError extends Error {
  override name = 'ExchangeError';
  /** Nothing of the request has reached the server. */
  readonly isUnsent: boolean;
  /** The same request may get a response later. */
  readonly isTransient: boolean;

  constructor(message: string, { isUnsent = false, isTransient = true } = {}) {
    super(message);
    this.isUnsent = isUnsent;
    this.isTransient = isTransient;
  }
}

export interface StreamedResponse extends Pick<ReceivedResponse, 'status' | 'headers'> {
  /** The decompressed body. It must be read to its end, or `return` be called. @throws ExchangeError */
  body: AsyncIterableIterator<Buffer>;
}

export interface Exchange {
  /** @throws ExchangeError, EgressRefused, or the reason of the signal */
  send(request: SentRequest, signal: AbortSignal): Promise<ReceivedResponse>;
  /**
   * Gives the response to `use` as it arrives, within the same bounds.
   *
   * @throws what `send` throws, or what `use` throws
   */
  stream<Result>(
    request: SentRequest,
    signal: AbortSignal,
    use: (response: StreamedResponse) => Promise<Result>,
  ): Promise<Result>;
  /** Closes the connections that are kept open. */
  close(): void;
}

export function createExchange(egress: Egress, bounds: ExchangeBounds): Exchange {
  const agents = {
    'http:': new PlainAgent({ keepAlive: true, maxSockets: bounds.sockets ?? 4 }),
    'https:': new SecureAgent({ keepAlive: true, maxSockets: bounds.sockets ?? 4 }),
  };

  async function stream<Result>(
    sent: SentRequest,
    signal: AbortSignal,
    use: (response: StreamedResponse) => Promise<Result>,
  ): Promise<Result> {
    const { url } = sent;
    const bounded = new AbortController();
    const stop = (error: Error) => bounded.abort(error);
    const follow = () => bounded.abort(signal.reason);
    signal.throwIfAborted();
    signal.addEventListener('abort', follow, { once: true });
    const seconds = Math.round(bounds.totalMilliseconds / 1_000);
    const total = setTimeout(
      stop,
      bounds.totalMilliseconds,
      new ExchangeError(`the response was not complete after ${seconds} s`, { isTransient: false }),
    );
    try {
      // An address in the URL is never looked up, so each request is checked and not only each connection.
      const addresses = await waitUnlessAborted(egress.check(url), bounded.signal);
      const agent = agents[url.protocol as keyof typeof agents];
      const response = await open(sent, { agent, lookup: createLookup(addresses) }, bounded.signal);
      const body = readBody(response, bounds, sent.isRaw === true, bounded.signal);
      try {
        return await use({ status: response.statusCode ?? 0, headers: joinHeaders(response), body });
      } finally {
        await body.return(undefined);
        if (!response.readableEnded) response.destroy();
      }
    } catch (error) {
      throw bounded.signal.aborted ? bounded.signal.reason : error;
    } finally {
      clearTimeout(total);
      signal.removeEventListener('abort', follow);
    }
  }

  function open(
    { method, url, headers, body }: SentRequest,
    options: RequestOptions,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const request = url.protocol === 'https:' ? requestSecurely : requestPlainly;
    return new Promise((resolve, reject) => {
      const sent = request(url, {
        ...options,
        method,
        headers: {
          accept: 'application/json',
          'accept-encoding': 'gzip, deflate, br',
          'user-agent': 'headgate',
          ...Object.fromEntries(headers),
          ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
        },
      });
      let isConnected = false;
      const seconds = Math.round(bounds.answerMilliseconds / 1_000);
      const late = setTimeout(
        () => sent.destroy(new ExchangeError(`the server did not answer within ${seconds} s`)),
        bounds.answerMilliseconds,
      );
      const abort = () => sent.destroy(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      sent.once('socket', (socket) => {
        isConnected = !socket.connecting;
        if (socket.connecting)
          socket.once('connect', () => {
            isConnected = true;
          });
      });
      const settle = () => {
        clearTimeout(late);
        signal.removeEventListener('abort', abort);
      };
      sent.once('close', () => {
        settle();
        reject(new ExchangeError('the server closed the connection without a response'));
      });
      sent.on('error', (error: NodeJS.ErrnoException) => {
        settle();
        reject(explain(error, isConnected));
      });
      sent.once('response', (response) => {
        settle();
        resolve(response);
      });
      sent.end(body);
    });
  }

  return {
    send: (sent, signal) => stream(sent, signal, readText),
    stream,
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

const createLookup =
  (addresses: readonly ResolvedAddress[]): LookupFunction =>
  (_host, options, answer) => {
    const [first] = addresses;
    if (options.all === true) answer(null, [...addresses]);
    else answer(null, first?.address ?? '', first?.family);
  };

function explain(error: NodeJS.ErrnoException, isConnected: boolean): Error {
  if (error instanceof ExchangeError) return error;
  if (error.code === undefined) return error;
  const isTls = /CERT|TLS|SSL|ALTNAME/.test(error.code);
  const how = isConnected ? 'the connection broke' : 'the server cannot be reached';
  return new ExchangeError(`${isTls ? 'no secure connection' : how} (${error.code})`, {
    isUnsent: !isConnected,
    isTransient: !isTls,
  });
}

const decoders: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Reads no more than the bound, also of what a small response becomes when it is decompressed. */
async function* readBody(
  response: IncomingMessage,
  { responseBytes, idleMilliseconds, advice }: ExchangeBounds,
  isRaw: boolean,
  signal: AbortSignal,
): AsyncGenerator<Buffer, undefined> {
  const abort = () => response.destroy(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  let size = 0;
  const seconds = Math.round(idleMilliseconds / 1_000);
  const idle = setTimeout(
    () => response.destroy(new ExchangeError(`the response stopped for ${seconds} s before its end`)),
    idleMilliseconds,
  );
  const tooLarge = () =>
    new ExchangeError(
      `the response is larger than ${Math.round(responseBytes / 1_048_576)} MiB, which is the limit${advice}`,
      { isTransient: false },
    );
  let rawSize = 0;
  // What is compressed may hold nothing, so that only its own bytes bound it.
  response.on('data', (chunk: Buffer) => {
    idle.refresh();
    rawSize += chunk.byteLength;
    if (rawSize > responseBytes) response.destroy(tooLarge());
  });
  try {
    for await (const chunk of isRaw ? response : decode(response)) {
      size += chunk.byteLength;
      if (size > responseBytes) throw tooLarge();
      yield chunk;
      // Whoever reads slowly is not the server's silence.
      idle.refresh();
    }
  } catch (error) {
    throw describeBrokenBody(error);
  } finally {
    clearTimeout(idle);
    signal.removeEventListener('abort', abort);
    if (!response.complete || size > responseBytes) response.destroy();
  }
  if (!response.complete) throw new ExchangeError('the response was cut before its end');
}

async function readText({ status, headers, body: parts }: StreamedResponse): Promise<ReceivedResponse> {
  const chunks: Buffer[] = [];
  for await (const chunk of parts) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const text = new TextDecoder('utf-8').decode(body);
  return { status, headers, text, isUtf8: isUtf8(body), bytes: body.byteLength };
}

function decode(response: IncomingMessage): AsyncIterable<Buffer> {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return response;
  const create = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
  if (create === undefined) {
    response.destroy();
    throw new ExchangeError(`the response is compressed by "${encoding}", which was not asked for`, {
      isTransient: false,
    });
  }
  // An error of the response ends the reading with the same error.
  return pipeline(response, create(), () => undefined) as unknown as Readable;
}

function describeBrokenBody(error: unknown): unknown {
  if (error instanceof ExchangeError || !(error instanceof Error)) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (/^Z_|^ERR_.*BROTLI|^ERR__ERROR_FORMAT/.test(code))
    return new ExchangeError(`the response cannot be decompressed (${code})`, { isTransient: false });
  if (code === '') return error;
  return new ExchangeError(`the response was cut before its end (${code})`);
}

function joinHeaders(response: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(response.headersDistinct).map(([name, values = []]) => [name, values.join(', ')]),
  );
}
