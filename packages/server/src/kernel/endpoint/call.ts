/** What a handler gets and returns. */
import type { AnswerOf, BodyOf, HeadersOf, Operation, ParamsOf, QueryOf } from '@headgate/contract';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import type { Database, Transaction } from '../database/database.ts';
import type { AccountEvent } from '../database/events.ts';
import type { NewId } from '../identifiers.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Asking } from '../security/guard.ts';
import type { GuardedPage, GuardedRead } from '../security/guarded-read.ts';
import type { Scope } from '../security/permissions.ts';
import type { RateLimit } from '../security/rate-limit.ts';
import type { Sealer } from '../security/sealed.ts';
import type { Sessions } from '../security/sessions.ts';
import type { Tokens } from '../security/tokens.ts';
import type { Earlier, PendingWork, StoredAnswer } from './idempotency.ts';

/** What every slice gets. */
export interface Services {
  database: Database;
  clock: Clock;
  newId: NewId;
  sealer: Sealer;
  tokens: Tokens;
  sessions: Sessions;
  rateLimit: RateLimit;
  metrics: Metrics;
  log: Log;
}

/** The validated request. */
export interface Call<Op extends Operation> {
  params: ParamsOf<Op>;
  query: QueryOf<Op>;
  headers: HeadersOf<Op>;
  body: BodyOf<Op>;
  scope: Scope;
  now: Date;
  newId: NewId;
  requestId: string;
}

export interface ReadCall<Op extends Operation> extends Call<Op> {
  /** Runs a guarded read with the parameters that it declares. Throws if the caller lacks the permission. */
  rows<Row, Parameters>(query: GuardedRead<Row, Parameters>, parameters: NoInfer<Parameters>): Promise<Row[]>;
  page<Row, Total, Parameters>(
    query: GuardedPage<Row, Total, Parameters>,
    parameters: NoInfer<Parameters>,
  ): Promise<{ rows: Row[]; total: Total }>;
}

export interface StreamCall<Op extends Operation> extends Call<Op> {
  /** Aborted when the client is gone. */
  closed: AbortSignal;
  /** A read at the current time. Each checks the caller's rights. */
  read(): ReadCall<Op>;
  /** Throws `token-invalid` or `session-invalid` if the token or the session has expired since. */
  checkToken(): Promise<void>;
}

export interface WriteCall<Op extends Operation> extends Call<Op> {
  tx: Transaction;
  /**
   * Reads what the write depends on, and checks the caller's rights, before the transaction begins, so that
   * the transaction needs one trip only. The transaction must refuse rows that changed since.
   */
  rows: ReadCall<Op>['rows'];
}

export interface LongCall<Op extends Operation> extends ReadCall<Op> {
  request: FastifyRequest;
  /**
   * Runs the transaction of a long operation, with rights, idempotency, events and response as in any write.
   * `content` replaces the body in the digest of the Idempotency-Key.
   */
  write(content: string, work: (tx: Transaction) => Promise<Outcome<Op>> | Outcome<Op>): Promise<Answered>;
  /**
   * The response of an earlier request with the same Idempotency-Key and content, for an operation whose effect
   * comes before its transaction. The caller's rights must have been checked.
   */
  findEarlierAnswer(content: string): Promise<Answered | undefined>;
  /**
   * For an operation that waits for work: two transactions, with a pending record under the key between them.
   */
  awaited: AwaitedWork<Op>;
}

export interface AwaitedWork<Op extends Operation> {
  /**
   * The result of an earlier request with the same key. Throws `idempotency-key-in-use` while that request
   * waits.
   */
  findEarlier(): Promise<Earlier | undefined>;
  /**
   * The first write: the work and its events. Returns the work to wait for, or the result of a concurrent
   * request with the same key.
   */
  begin(pending: PendingWork, work: (tx: Transaction) => readonly AccountEvent[]): Promise<Earlier>;
  /** The last write: stores the response under the key. */
  finish(workId: string, answer: Answer<Op>): Promise<Answered>;
  /** Deletes the record of the key. */
  giveUp(workId: string): Promise<void>;
}

export interface Answer<Op extends Operation> {
  body?: AnswerOf<Op>;
  /** The body as JSON text, for one so large that making the object would take longer than the rest. */
  text?: string;
  etag?: string;
  /** A sentence for the header `Headgate-Warning`, in ASCII. */
  warning?: string;
}

export interface Outcome<Op extends Operation> extends Answer<Op> {
  /** Relative to the base of the surface, like the operation's path. */
  location?: string;
  events: readonly AccountEvent[];
}

export type Answered = StoredAnswer;

/** A request in progress: caller, operation and input. */
export interface Serving<Op extends Operation> extends Asking {
  operation: Op;
  call: Call<Op>;
  request: FastifyRequest;
  services: Services;
}
