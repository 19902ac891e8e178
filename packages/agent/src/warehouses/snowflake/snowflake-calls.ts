/**
 * The requests of Snowflake's drivers: sign-in, statements, their results, cancellation. Nothing that may have had an
 * effect is sent twice. No redirect is followed. ADR 0111.
 */
import { randomUUID } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import {
  type Exchange,
  ExchangeError,
  type ReceivedResponse,
  type SentRequest,
  type StreamedResponse,
} from '../../connectors/exchange.ts';
import { attemptLimit, createPauses, longestPauseMilliseconds, readPause } from '../../connectors/waiting.ts';
import type { Time } from '../../time.ts';
import { type RawRow, RefusedAnswer, readAnswer, readPart } from './snowflake-answer.ts';
import { ServerFault, StatusFault } from './snowflake-faults.ts';

/** Of one answer; Snowflake sends larger results in parts. */
const mostRows = 500_000;

export type CallTime = Pick<Time, 'sleep' | 'random'> & { date(): Date };

export interface Answer {
  code: string;
  data: Readonly<Record<string, unknown>>;
  /** Of the result, as far as they are in the answer. */
  rows: RawRow[];
  /** Milliseconds since 1970 by the server's clock, if it says it. */
  serverTime: number | undefined;
}

export interface Call {
  method: 'GET' | 'POST';
  path: string;
  query?: Readonly<Record<string, string>>;
  body?: object;
  token?: string;
  /** Whether it can be sent again when it is not known what became of it. */
  isSafe: boolean;
  signal: AbortSignal;
}

/** A part of a result in the storage of the account. */
export interface ResultPart {
  url: URL;
  headers: readonly (readonly [string, string])[];
}

export interface SnowflakeCalls {
  /**
   * An answer that says success, also that of a statement which still runs.
   *
   * @throws ServerFault, StatusFault, RefusedAnswer, ExchangeError, EgressRefused, or the reason of the signal
   */
  send(call: Call): Promise<Answer>;
  /** Gives each row of a part once. @throws the same */
  readPart(part: ResultPart, signal: AbortSignal, onRow: (row: RawRow) => void): Promise<void>;
  close(): void;
}

const errorLimit = 65_536;
/** Passing faults. After 429 the server has done nothing. */
const transient = [408, 500, 502, 503, 504];
const tooMany = 429;

export function createSnowflakeCalls(exchange: Exchange, origin: URL, time: CallTime): SnowflakeCalls {
  /** @param isSafe whether it can be sent again when it is not known what became of it */
  async function repeat<Result>(
    build: () => SentRequest,
    { isSafe, signal }: Pick<Call, 'isSafe' | 'signal'>,
    use: (response: StreamedResponse) => Promise<Result>,
  ): Promise<Result> {
    const pauses = createPauses(time.random);
    for (let count = 1; ; count += 1) {
      let pause: number | undefined;
      try {
        return await exchange.stream(build(), signal, async (response) => {
          if (response.status === 200) return use(response);
          pause = readPause(await readError(response), time.date());
          throw new StatusFault(response.status, response.headers.location);
        });
      } catch (failure) {
        const isOver = count === attemptLimit || signal.aborted || !mayRepeat(failure, isSafe);
        if (isOver || (pause ?? 0) > longestPauseMilliseconds) throw failure;
      }
      await time.sleep(pauses.next(pause === undefined ? 'again' : { pause }), signal);
      signal.throwIfAborted();
    }
  }

  async function send(call: Call): Promise<Answer> {
    const { rest, rows, serverTime } = await repeat(
      () => buildRequest(origin, call),
      call,
      async ({ headers, body }) => {
        const rows: RawRow[] = [];
        const rest = await readAnswer(body, (row) => {
          if (rows.length === mostRows) throw new RefusedAnswer('an answer of too many rows', 'form');
          rows.push(row);
        });
        const said = Date.parse(headers.date ?? '');
        return { rest, rows, serverTime: Number.isNaN(said) ? undefined : said };
      },
    );
    return readEnvelope(rest, rows, serverTime);
  }

  return {
    send,
    async readPart({ url, headers }, signal, onRow) {
      if (url.protocol !== 'https:' && url.protocol !== origin.protocol)
        throw new RefusedAnswer('a result that is not at an address of https', 'form');
      let passed = 0;
      await repeat(
        () => ({ method: 'GET', url, headers, isRaw: true }),
        { isSafe: true, signal },
        async ({ body }) => {
          let read = 0;
          await readPart(unpack(body), (row) => {
            read += 1;
            if (read <= passed) return;
            passed = read;
            onRow(row);
          });
        },
      );
    },
    close: () => exchange.close(),
  };
}

function mayRepeat(failure: unknown, isSafe: boolean): boolean {
  if (failure instanceof StatusFault)
    return failure.status === tooMany || (isSafe && transient.includes(failure.status));
  return failure instanceof ExchangeError && failure.isTransient && (isSafe || failure.isUnsent);
}

function buildRequest(origin: URL, { method, path, query = {}, body, token }: Call): SentRequest {
  const url = new URL(path, origin);
  for (const [name, value] of Object.entries({ ...query, request_guid: randomUUID() }))
    url.searchParams.set(name, value);
  return {
    method,
    url,
    headers: [
      ['accept', 'application/snowflake'],
      ...(body === undefined ? [] : [['content-type', 'application/json'] as const]),
      ...(token === undefined ? [] : [['authorization', `Snowflake Token="${token}"`] as const]),
    ],
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

async function readError({ status, headers, body }: StreamedResponse): Promise<ReceivedResponse> {
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > errorLimit) break;
  }
  return { status, headers, text: '', isUtf8: true, bytes };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @throws ServerFault, RefusedAnswer */
function readEnvelope(rest: unknown, rows: RawRow[], serverTime: number | undefined): Answer {
  if (!isObject(rest) || typeof rest.success !== 'boolean')
    throw new RefusedAnswer('an answer without "success"', 'form');
  const data = isObject(rest.data) ? rest.data : {};
  const code = typeof rest.code === 'string' ? rest.code : '';
  if (rest.success) return { code, data, rows, serverTime };
  const message = typeof rest.message === 'string' && rest.message !== '' ? rest.message : 'no reason given';
  const state = typeof data.sqlState === 'string' ? data.sqlState : undefined;
  throw Object.assign(new ServerFault(message.slice(0, 20_000), code, state), { serverTime });
}

/** Storages say in different ways, or not at all, that a part is compressed. */
async function* unpack(body: AsyncIterableIterator<Buffer>): AsyncGenerator<Buffer> {
  const first = await body.next();
  if (first.done === true) return;
  const whole = (async function* () {
    yield first.value;
    yield* body;
  })();
  const isPacked = first.value[0] === 0x1f && first.value[1] === 0x8b;
  try {
    yield* isPacked
      ? pipeline(Readable.from(whole), createGunzip({ chunkSize: 262_144 }), () => undefined)
      : whole;
  } catch (failure) {
    if (failure instanceof Error && /^Z_/.test((failure as NodeJS.ErrnoException).code ?? ''))
      throw new RefusedAnswer('a part that cannot be decompressed', 'form');
    throw failure;
  }
}
