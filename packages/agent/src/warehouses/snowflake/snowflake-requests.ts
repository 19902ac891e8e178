/** The requests of one session with Snowflake, with its token. */
import { randomUUID } from 'node:crypto';
import { RefusedAnswer } from './snowflake-answer.ts';
import type { Answer, Call, CallTime, SnowflakeCalls } from './snowflake-calls.ts';
import { isSessionOver, ServerFault } from './snowflake-faults.ts';
import type { SignedIn } from './snowflake-sign-in.ts';

/** How long the end of a session may take, and the answer that it is there. */
const endMilliseconds = 5_000;
/** The server answers at once or after 45 s whether a statement runs. */
const shortestPause = 200;
const longestPause = 5_000;

const runsStill = ['333333', '333334'];

export interface SubmittedStatement {
  requestId: string;
  sql: string;
  /** Only reads, so that it can be sent again. */
  isQuery: boolean;
  bindings: object | undefined;
}

export class SessionRequests {
  readonly #calls: SnowflakeCalls;
  readonly #time: CallTime;
  #tokens: Pick<SignedIn, 'token' | 'masterToken'>;
  #lastAnswer: number;
  #sequence = 0;

  constructor(calls: SnowflakeCalls, signedIn: SignedIn, time: CallTime) {
    this.#calls = calls;
    this.#tokens = signedIn;
    this.#time = time;
    this.#lastAnswer = time.date().getTime();
  }

  /** Since the server has answered last. */
  get idleMilliseconds(): number {
    return this.#time.date().getTime() - this.#lastAnswer;
  }

  /** The answer of a statement that has ended; undefined if the session was over before that. */
  async submit(
    { requestId, sql, isQuery, bindings }: SubmittedStatement,
    signal: AbortSignal,
  ): Promise<Answer | undefined> {
    this.#sequence += 1;
    const body = {
      sqlText: sql,
      asyncExec: false,
      sequenceId: this.#sequence,
      querySubmissionTime: this.#time.date().getTime(),
      ...(bindings === undefined ? {} : { bindings }),
    };
    let answer = await this.#send(
      { method: 'POST', path: '/queries/v1/query-request', query: { requestId }, body, isSafe: isQuery },
      signal,
    );
    let pause = shortestPause;
    while (runsStill.includes(answer.code)) {
      const began = this.#time.date().getTime();
      try {
        answer = await this.#send({ method: 'GET', path: readResultPath(answer), isSafe: true }, signal);
      } catch (failure) {
        if (isSessionOver(failure)) return undefined;
        throw failure;
      }
      if (!runsStill.includes(answer.code) || this.#time.date().getTime() - began > pause) continue;
      await this.#time.sleep(pause, signal);
      signal.throwIfAborted();
      pause = Math.min(longestPause, pause * 2);
    }
    return answer;
  }

  /** Asks whether the session is there. */
  async beat(signal = AbortSignal.timeout(endMilliseconds)): Promise<void> {
    await this.#post('/session/heartbeat', { requestId: randomUUID() }, {}, signal);
  }

  async cancel(requestId: string, signal: AbortSignal): Promise<void> {
    await this.#post('/queries/v1/abort-request', { requestId: randomUUID() }, { requestId }, signal);
  }

  /** Ends the session at the server, and with it what runs in it. Never rejects. */
  async end(): Promise<void> {
    const query = { delete: 'true', requestId: randomUUID() };
    await this.#post('/session', query, {}, AbortSignal.timeout(endMilliseconds)).catch(() => undefined);
  }

  #post(path: string, query: Record<string, string>, body: object, signal: AbortSignal): Promise<Answer> {
    return this.#send({ method: 'POST', path, query, body, isSafe: true }, signal);
  }

  /** Renews a token that is too old: what was refused for it was not carried out. */
  async #send(call: Omit<Call, 'token' | 'signal'>, signal: AbortSignal): Promise<Answer> {
    const send = () => this.#calls.send({ ...call, token: this.#tokens.token, signal });
    const answer = await send().catch(async (failure: unknown) => {
      if (!(failure instanceof ServerFault) || failure.code !== '390112') throw failure;
      await this.#renew(signal);
      return send();
    });
    this.#lastAnswer = this.#time.date().getTime();
    return answer;
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { token, masterToken } = this.#tokens;
    const { data } = await this.#calls.send({
      method: 'POST',
      path: '/session/token-request',
      query: { requestId: randomUUID() },
      body: { oldSessionToken: token, requestType: 'RENEW' },
      token: masterToken,
      isSafe: true,
      signal,
    });
    if (typeof data.sessionToken !== 'string' || typeof data.masterToken !== 'string')
      throw new RefusedAnswer('no token of a session', 'form');
    this.#tokens = { token: data.sessionToken, masterToken: data.masterToken };
  }
}

/** The server names it, and it must be one of its own. @throws RefusedAnswer */
function readResultPath({ data: { getResultUrl: path } }: Answer): string {
  if (typeof path === 'string' && /^\/queries\/[\w-]{1,100}\/result(?:\?[\w=&.-]{0,500})?$/.test(path))
    return path;
  throw new RefusedAnswer('no address of a result', 'form');
}
