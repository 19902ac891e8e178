/** Calls of a store's server: attempts, pauses, and faults in words. */
import { ConnectorError, PermanentFault } from '@headgate/pipelines';
import type { Exchange, ReceivedResponse, SentRequest, StreamedResponse } from '../connectors/exchange.ts';
import { ExchangeError } from '../connectors/exchange.ts';
import { attemptLimit, createPauses, longestPauseMilliseconds, readPause } from '../connectors/waiting.ts';
import type { Time } from '../time.ts';
import type { StoredObject } from './object-store.ts';

export type StoreTime = Pick<Time, 'sleep' | 'random'> & { date(): Date };

export interface StoreCall extends Pick<SentRequest, 'method' | 'url' | 'headers'> {
  body?: Buffer;
}

export interface StoreFault {
  /** Of the store, such as NoSuchKey; '' if it says none. */
  code: string;
  message: string;
}

/** What an adapter knows of its store. */
export interface StoreProtocol {
  /** Of messages, such as `s3://bucket`. */
  name: string;
  /** The request with its signature. @param skew milliseconds that the server's clock is ahead */
  sign(call: StoreCall, skew: number, signal: AbortSignal): Promise<SentRequest>;
  readFault(response: ReceivedResponse): StoreFault;
  /** Whether another request can succeed, such as one to another region, because of what the server said. */
  adapt?(response: ReceivedResponse): boolean;
  /** What to do about a fault; undefined: what its status says. */
  advise(fault: StoreFault, status: number): string | undefined;
}

export interface StoreCalls {
  /** A successful response. */
  send(call: () => StoreCall, signal: AbortSignal): Promise<ReceivedResponse>;
  /** Gives the body of a successful response. What breaks off in the body is for the caller to repeat. */
  stream<Result>(
    call: () => StoreCall,
    signal: AbortSignal,
    use: (response: StreamedResponse) => Promise<Result>,
  ): Promise<Result>;
}

const transient = [408, 429, 500, 502, 503, 504];
const skewCodes = ['RequestTimeTooSkewed', 'AuthenticationFailed', 'RequestExpired'];
/** A clock that is further away than this is a fault of the machine, which signatures would refuse. */
const leastSkew = 60_000;

/** @param call builds the request anew for each attempt */
export function createStoreCalls(exchange: Exchange, protocol: StoreProtocol, time: StoreTime): StoreCalls {
  /** Milliseconds that the server's clock is ahead. */
  let skew = 0;
  let hasAdapted = false;

  async function attempt<Result>(
    build: () => StoreCall,
    signal: AbortSignal,
    use: (response: StreamedResponse) => Promise<Result>,
  ): Promise<{ result: Result } | { refused: ReceivedResponse }> {
    const request = await protocol.sign(build(), skew, signal);
    return exchange.stream({ ...request, isRaw: true }, signal, async (response) => {
      if (response.status >= 200 && response.status < 300) return { result: await use(response) };
      return { refused: await readText(response) };
    });
  }

  /** Whether the refusal is because of this machine's clock, which is then corrected. */
  function correctsClock({ headers, status }: ReceivedResponse, { code }: StoreFault): boolean {
    const said = Date.parse(headers.date ?? '');
    // The answer to HEAD has no code.
    const mayBeClock = skewCodes.includes(code) || (code === '' && status === 403);
    if (!mayBeClock || Number.isNaN(said)) return false;
    const ahead = said - time.date().getTime();
    if (Math.abs(ahead - skew) < leastSkew) return false;
    skew = ahead;
    return true;
  }

  /** @param isWhole whether a body that breaks off is asked for again */
  async function repeat<Result>(
    build: () => StoreCall,
    signal: AbortSignal,
    isWhole: boolean,
    use: (response: StreamedResponse) => Promise<Result>,
  ): Promise<Result> {
    const pauses = createPauses(time.random);
    let hasBegun = false;
    const begin = (response: StreamedResponse) => {
      hasBegun = true;
      return use(response);
    };
    for (let count = 1; ; count += 1) {
      let pause: number | undefined;
      try {
        const answer = await attempt(build, signal, begin);
        if ('result' in answer) return answer.result;
        const { refused } = answer;
        const fault = protocol.readFault(refused);
        if (count === 1 && correctsClock(refused, fault)) continue;
        if (!hasAdapted && protocol.adapt?.(refused) === true) {
          hasAdapted = true;
          continue;
        }
        const error = describeFault(protocol, refused, fault);
        if (!transient.includes(refused.status) || count === attemptLimit) throw error;
        pause = readPause(refused, time.date());
        if (pause !== undefined && pause > longestPauseMilliseconds) throw error;
      } catch (error) {
        const mayPass = error instanceof ExchangeError && error.isTransient && (isWhole || !hasBegun);
        if (!mayPass || count === attemptLimit || signal.aborted) throw nameStoreIn(error, protocol.name);
      }
      await time.sleep(pauses.next(pause === undefined ? 'again' : { pause }), signal);
      signal.throwIfAborted();
    }
  }

  return {
    stream: (build, signal, use) => repeat(build, signal, false, use),
    send: (build, signal) => repeat(build, signal, true, readText),
  };
}

function describeFault(
  protocol: StoreProtocol,
  { status, headers }: ReceivedResponse,
  fault: StoreFault,
): Error {
  const said = fault.code === '' ? '' : ` (${fault.code}${fault.message === '' ? '' : `: ${fault.message}`})`;
  if (status >= 300 && status < 400) {
    const host = URL.parse(headers.location ?? '')?.host;
    const where = host === undefined ? '' : ` to ${host}`;
    return new PermanentFault(
      `${protocol.name} answered ${status}${where}${said}, and redirects are not followed: set "endpoint" and "region" to those of the bucket`,
    );
  }
  const advice = protocol.advise(fault, status);
  const message = `${protocol.name} answered ${status}${said}${advice === undefined ? '' : `: ${advice}`}`;
  const isPermanent = status >= 400 && status < 500 && !transient.includes(status);
  return isPermanent ? new PermanentFault(message) : new ConnectorError(message);
}

/** What the headers of an object say. */
export const describeObject = (key: string, headers: ReceivedResponse['headers']): StoredObject => ({
  key,
  size: Number(headers['content-length'] ?? 0),
  modified: readTime(headers['last-modified']),
  version: headers.etag ?? '',
});

/** ISO 8601, or '' if it is no time. */
export function readTime(text: string | undefined): string {
  const time = new Date(text ?? '');
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}

/** @throws PermanentFault if a store without ranges begins at the first byte */
export function requireFrom(
  { status, headers, body }: StreamedResponse,
  from: number,
  name: string,
): StreamedResponse['body'] {
  if (from === 0 || (status === 206 && (headers['content-range'] ?? '').startsWith(`bytes ${from}-`)))
    return body;
  throw new PermanentFault(`${name} answered another part of the object than the requested one`);
}

function nameStoreIn(error: unknown, name: string): unknown {
  if (error instanceof ExchangeError && !error.message.startsWith(name))
    error.message = `${name}: ${error.message}`;
  return error;
}

/** Bytes of an answer that is read as text. A page of a list has at most 5,000 objects. */
const textLimit = 32 * 1_048_576;

/** @throws ExchangeError if it is too large */
export async function readText({ status, headers, body }: StreamedResponse): Promise<ReceivedResponse> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > textLimit)
      throw new ExchangeError('the answer of the store is larger than 32 MiB', { isTransient: false });
    chunks.push(chunk);
  }
  return { status, headers, text: Buffer.concat(chunks).toString('utf8'), isUtf8: true, bytes };
}
