/** What a handler is given, and what it answers with. */
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
import type { Tokens } from '../security/tokens.ts';
import type { Earlier, PendingWork, StoredAnswer } from './idempotency.ts';

/** What every slice is given. */
export interface Services {
  database: Database;
  clock: Clock;
  newId: NewId;
  sealer: Sealer;
  tokens: Tokens;
  rateLimit: RateLimit;
  metrics: Metrics;
  log: Log;
}

/** The request, checked. */
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
  /** Runs a guarded read; `parameters` are its own. Throws when the caller may not. */
  rows<Row, Parameters>(query: GuardedRead<Row, Parameters>, parameters: NoInfer<Parameters>): Promise<Row[]>;
  page<Row, Total, Parameters>(
    query: GuardedPage<Row, Total, Parameters>,
    parameters: NoInfer<Parameters>,
  ): Promise<{ rows: Row[]; total: Total }>;
}

export interface WriteCall<Op extends Operation> extends Call<Op> {
  tx: Transaction;
  /**
   * Reads what the write is judged by, the caller's rights with it, before its transaction begins, which then is one trip; the transaction
   * refuses what is `changed`.
   */
  rows: ReadCall<Op>['rows'];
}

export interface LongCall<Op extends Operation> extends ReadCall<Op> {
  request: FastifyRequest;
  /** The write of a long operation: rights, idempotency, events and answer as of any write. `content` stands for the body in the key's digest. */
  write(content: string, work: (tx: Transaction) => Promise<Outcome<Op>> | Outcome<Op>): Promise<Answered>;
  /** For an operation that waits for work: two transactions, and a pending record under the key between them (design law 2). */
  awaited: AwaitedWork<Op>;
}

export interface AwaitedWork<Op extends Operation> {
  /** What an earlier request under the same key came to; throws `idempotency-key-in-use` while that one still waits. */
  findEarlier(): Promise<Earlier | undefined>;
  /** The first write: the work and its events. Answers the work to wait for, or what a request under the same key came to in this moment. */
  begin(pending: PendingWork, work: (tx: Transaction) => readonly AccountEvent[]): Promise<Earlier>;
  /** The last: the answer is kept under the key. */
  finish(workId: string, answer: Answer<Op>): Promise<Answered>;
  /** Nothing is kept under the key. */
  giveUp(workId: string): Promise<void>;
}

export interface Answer<Op extends Operation> {
  body?: AnswerOf<Op>;
  etag?: string;
}

export interface Outcome<Op extends Operation> extends Answer<Op> {
  /** Below the base of the surface, as in the operation's path. */
  location?: string;
  events: readonly AccountEvent[];
}

export type Answered = StoredAnswer;

/** One request under way: who asks for which operation, and with what. */
export interface Serving<Op extends Operation> extends Asking {
  operation: Op;
  call: Call<Op>;
  request: FastifyRequest;
  services: Services;
}
