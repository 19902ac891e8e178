/**
 * From an operation and a handler to a route: the life of a request, in one place.
 *
 *   bearer → validation → rights, then
 *   a read     one trip: rights and rows (guarded-read.ts)
 *   a write    one transaction: its entry (rights, idempotency), the handler's statements, its events, the stored answer, commit
 *   a file     a read whose answer is a stored file, as it came
 *   long       the handler opens its transactions itself, for what must not hold one: a streamed upload, a wait
 */
import type { AnswerOf, BodyOf, HeadersOf, Operation, ParamsOf, QueryOf } from '@headgate/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptsJson } from './accept.ts';
import type { Clock } from './clock.ts';
import {
  type Database,
  isDatabaseError,
  isUnavailable,
  type Opening,
  type Parameter,
  type Statement,
  statement,
  type Transaction,
} from './database.ts';
import { type AccountEvent, recordEvents } from './events.ts';
import { type FileAnswer, sendFile } from './file-answer.ts';
import { type Asking, guardParameters, permissionOf, refusal } from './guard.ts';
import type { Guarded, GuardedPage } from './guarded-read.ts';
import {
  type Earlier,
  earlier,
  type IdempotencyKey,
  idempotencyKey,
  isKeyTaken,
  type PendingWork,
  removeExpiredAnswer,
  removePending,
  type StoredAnswer,
  storeAnswer,
  storeOutcome,
  storePending,
} from './idempotency.ts';
import type { NewId } from './identifiers.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { requiredRoles, type Scope, type Standing } from './permissions.ts';
import { invalidRequest, Problem, problem } from './problems.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Sealer } from './sealed.ts';
import type { Surface, Tokens } from './tokens.ts';
import { requestCheck } from './validation.ts';

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
  /** Runs a guarded statement; `parameters` are its own, from $9 on. Throws when the caller may not. */
  rows<Row>(query: Statement<Guarded<Row>>, parameters: readonly Parameter[]): Promise<Row[]>;
  page<Row, Total>(
    query: GuardedPage<Row, Total>,
    parameters: readonly Parameter[],
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
  earlier(): Promise<Earlier | undefined>;
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

type Answered = StoredAnswer;

export interface Endpoints {
  read<Op extends Operation>(operation: Op, handler: (call: ReadCall<Op>) => Promise<Answer<Op>>): void;
  write<Op extends Operation>(
    operation: Op,
    handler: (call: WriteCall<Op>) => Promise<Outcome<Op>> | Outcome<Op>,
  ): void;
  long<Op extends Operation>(operation: Op, handler: (call: LongCall<Op>) => Promise<Answered>): void;
  file<Op extends Operation>(operation: Op, handler: (call: ReadCall<Op>) => Promise<FileAnswer>): void;
}

/** Parameters: account, a request's key, now. */
const unlessAnswered = (account: string, key: string, now: string) => `
    when not pg_try_advisory_xact_lock(hashtextextended(encode(${key}, 'hex'), 0)) then refuse('HG409')
    when exists (select from idempotency_record where account_id = ${account} and key_digest = ${key} and expires_at > ${now}) then refuse('HG200')`;

/**
 * The first statement of a write: refuses it by an error, so that what is already queued behind it does nothing. The project may
 * still be deleted before the commit: the foreign keys of what is written, or its row locks, order the two; and a request under the
 * same key may commit in this very moment: then the key of its record is taken.
 */
const enterWrite = statement(`
  select case
    when standing = 'inactive' then refuse('HG401')
    when standing = 'unknown' then refuse('HG404')
    when standing <> 'permitted' then refuse('HG403')
    when $9::bytea is null then null ${unlessAnswered('$1', '$9', '$8')}
  end as refused
  from rights($1, $2, $3, $4, $5, $6, $7, $8)`);

/** The same for one whose rights were read just before, with what it is judged by. */
const enterUnderKey = statement(
  `select case ${unlessAnswered('$1::uuid', '$2::bytea', '$3::timestamptz')} end as refused`,
);

/** SQLSTATE of a refusal: what a write was judged by is not as it was read. */
export const changed = 'HG412';

const jsonType = 'application/json; charset=utf-8';
const surfacePrefix: Record<Surface, string> = { dpc: '/dpc', agent: '' };

/** `/v1/projects/{projectId}` of the surface `dpc` → `/dpc/v1/projects/:projectId`. */
export function routePath(operation: Operation): string {
  return surfacePrefix[operation.surface] + operation.path.replaceAll(/\{(\w+)\}/g, ':$1');
}

export function createEndpoints(app: FastifyInstance, services: Services): Endpoints {
  function route<Op extends Operation>(
    operation: Op,
    serve: (guard: Guard<Op>, reply: FastifyReply) => Promise<FastifyReply>,
  ): void {
    const check = requestCheck(operation);
    const roles = requiredRoles(permissionOf(operation));
    app.route({
      method: operation.method,
      url: routePath(operation),
      config: { operation },
      handler: async (request, reply) => {
        const owner = await services.tokens.verify(bearer(request), operation.surface);
        reply.headers(services.rateLimit.count(owner.accountId));
        // A file has the one type that it has.
        if (operation.success.mediaType === undefined && !acceptsJson(request.headers.accept))
          throw problem('not-acceptable');
        const parts = {
          params: request.params,
          query: request.query,
          headers: request.headers,
          body: request.body,
        };
        check(parts);
        const call = {
          ...parts,
          scope: owner,
          now: services.clock.now(),
          newId: services.newId,
          requestId: request.id,
        } as unknown as Call<Op>;
        return serve({ operation, call, roles, request, services }, reply);
      },
    });
  }

  return {
    read(operation, handler) {
      route(operation, async (guard, reply) =>
        send(reply, rendered(operation, await handler(readCall(guard)), {})),
      );
    },
    write(operation, handler) {
      route(operation, async (guard, reply) => {
        const key = keyOf(guard, contentOf(guard.request));
        return send(
          reply,
          answerOf(await write(guard, key, (tx, rows) => handler({ ...guard.call, tx, rows }))),
        );
      });
    },
    long(operation, handler) {
      route(operation, async (guard, reply) => send(reply, await handler(longCall(guard))));
    },
    file(operation, handler) {
      route(operation, async (guard, reply) =>
        sendFile(guard.request, reply, await handler(readCall(guard))),
      );
    },
  };
}

interface Guard<Op extends Operation> extends Asking {
  operation: Op;
  call: Call<Op>;
  request: FastifyRequest;
  services: Services;
}

function readCall<Op extends Operation>(guard: Guard<Op>): ReadCall<Op> {
  const { database } = guard.services;
  function permitted<Head extends { standing: Standing }>(rows: readonly Head[]): Head {
    const [head] = rows;
    if (head === undefined) throw new Error('rights() answers one row.');
    const refused = refusal(head.standing, guard);
    if (refused !== undefined) throw refused;
    return head;
  }
  return {
    ...guard.call,
    async rows(query, parameters) {
      const rows = await database.read(query, [...guardParameters(guard), ...parameters]);
      permitted(rows);
      return rows.filter((row) => row.found === true);
    },
    async page(query, parameters) {
      const all = [...guardParameters(guard), ...parameters];
      const [heads, rows] = await database.readBoth(
        [query.head, all.slice(0, query.head.parameterCount)],
        [query.rows, all.slice(0, query.rows.parameterCount)],
      );
      return { rows, total: permitted(heads).total };
    },
  };
}

function longCall<Op extends Operation>(guard: Guard<Op>): LongCall<Op> {
  return {
    ...readCall(guard),
    request: guard.request,
    write: async (content, work) => answerOf(await write(guard, keyOf(guard, content), work)),
    awaited: awaitedWork(guard),
  };
}

function awaitedWork<Op extends Operation>(guard: Guard<Op>): AwaitedWork<Op> {
  const { services, call, operation } = guard;
  const { accountId } = call.scope;
  const key = keyOf(guard, contentOf(guard.request));
  return {
    async earlier() {
      if (key === undefined) return undefined;
      const { database, sealer } = services;
      const before = await earlier({ read: database.read, sealer }, accountId, key, call.now);
      return before && replayed(idle(before, call.now));
    },
    async begin(pending, work) {
      const written = await write(guard, key, async (tx) => ({ events: work(tx) }), pending);
      if ('pending' in written && written.pending.workId === pending.workId) return written;
      return idle(written, call.now);
    },
    async finish(workId, answer) {
      const stored = rendered(operation, answer, {});
      if (key !== undefined)
        await services.database.transaction((tx) => storeOutcome(tx, accountId, key, workId, stored));
      return stored;
    },
    async giveUp(workId) {
      if (key !== undefined)
        await services.database.transaction((tx) => removePending(tx, accountId, key, workId));
    },
  };
}

/** Throws `idempotency-key-in-use` for work that another request still waits for. */
function idle(found: Earlier, now: Date): Earlier {
  if ('pending' in found && found.pending.until > now) throw problem('idempotency-key-in-use');
  return found;
}

function answerOf(written: Earlier): StoredAnswer {
  if ('pending' in written) throw problem('idempotency-key-in-use');
  return written.answer;
}

/** What a handler does in its transaction. */
type WriteWork<Op extends Operation> = (
  tx: Transaction,
  rows: WriteCall<Op>['rows'],
) => Promise<Outcome<Op>> | Outcome<Op>;

/** One write under its key. What fails after the rights were found good may be a request whose answer is there already, or just now. */
async function write<Op extends Operation>(
  guard: Guard<Op>,
  key: IdempotencyKey | undefined,
  work: WriteWork<Op>,
  pending?: PendingWork,
): Promise<Earlier> {
  const { read } = guard.services.database;
  const { accountId } = guard.call.scope;
  try {
    return await attempt(guard, key, work, pending);
  } catch (failure) {
    if (key === undefined || isRefusal(failure) || isUnavailable(failure))
      throw inWordsOfTheCaller(failure, guard);
    const now = guard.call.now;
    const before = await earlier({ read, sealer: guard.services.sealer }, accountId, key, now);
    if (before !== undefined) return replayed(before);
    if (!isKeyTaken(failure)) throw inWordsOfTheCaller(failure, guard);
    // By a record whose time is over, and which nobody has removed yet.
    await removeExpiredAnswer(read, accountId, key, now);
    return attempt(guard, key, work, pending).catch((again) => {
      throw inWordsOfTheCaller(again, guard);
    });
  }
}

function replayed(before: Earlier): Earlier {
  if ('pending' in before) return before;
  const { answer } = before;
  return { answer: { ...answer, headers: { ...answer.headers, 'idempotency-replayed': 'true' } } };
}

/** Everything that it sends commits together, or nothing does. With pending work there is no answer yet. */
function attempt<Op extends Operation>(
  guard: Guard<Op>,
  key: IdempotencyKey | undefined,
  work: WriteWork<Op>,
  pending: PendingWork | undefined,
): Promise<Earlier> {
  const { services, operation, call, request } = guard;
  let permitted = false;
  const rows: ReadCall<Op>['rows'] = async (query, parameters) => {
    const found = await readCall(guard).rows(query, parameters);
    permitted = true;
    return found;
  };
  function entry(): ReturnType<Opening> {
    if (!permitted) return [enterWrite, [...guardParameters(guard), key?.key ?? null]];
    return key && [enterUnderKey, [call.scope.accountId, key.key, call.now]];
  }
  return services.database.transaction(async (tx) => {
    const outcome = await work(tx, rows);
    const source = { ...call.scope, actorKind: 'credential' as const, requestId: request.id };
    recordEvents(tx, source, outcome.events, call.now, services.newId);
    if (pending !== undefined) {
      if (key !== undefined) storePending(tx, call.scope.accountId, key, pending, call.now);
      return { pending };
    }
    const location =
      outcome.location === undefined
        ? undefined
        : services.tokens.issuer + surfacePrefix.dpc + outcome.location;
    const answer = rendered(operation, outcome, location === undefined ? {} : { location });
    if (key !== undefined) {
      const sealer = operation.answerHoldsSecret ? services.sealer : undefined;
      storeAnswer(tx, call.scope.accountId, key, answer, { now: call.now, sealer });
    }
    return { answer };
  }, entry);
}

/** Whether the entry refused the write, for another reason than that its key has an answer. */
function isRefusal(failure: unknown): boolean {
  return isDatabaseError(failure) && /^HG4/.test(failure.code);
}

/** The refusals of the entry, and what the database says of a race, as problems. */
function inWordsOfTheCaller<Op extends Operation>(failure: unknown, guard: Guard<Op>): unknown {
  if (!isDatabaseError(failure)) return failure;
  switch (failure.code) {
    case 'HG401':
      return refusal('inactive', guard);
    case 'HG403':
      return refusal('forbidden', guard);
    case 'HG404':
      return refusal('unknown', guard);
    case 'HG409':
      return problem('idempotency-key-in-use');
    case 'HG200':
      // Its answer expired between the two.
      return problem('concurrent-change');
    case '40001':
    case '40P01':
    case changed:
      return problem('concurrent-change');
    case '23503':
      // The project was deleted between the check of the rights and the write.
      return /_(of|in)_project$/.test(failure.constraint ?? '') ? refusal('unknown', guard) : failure;
    default:
      return failure;
  }
}

function rendered<Op extends Operation>(
  operation: Op,
  answer: Answer<Op>,
  headers: Record<string, string>,
): StoredAnswer {
  return {
    status: operation.success.status,
    headers: answer.etag === undefined ? headers : { ...headers, etag: answer.etag },
    body: answer.body === undefined ? null : JSON.stringify(answer.body),
  };
}

function send(reply: FastifyReply, { status, headers, body }: StoredAnswer) {
  reply.code(status).headers(headers);
  return body === null ? reply.send() : reply.header('content-type', jsonType).send(body);
}

export function bearer(request: FastifyRequest): string {
  const match = /^Bearer +([\w.~+/=-]+) *$/i.exec(request.headers.authorization ?? '');
  if (match?.[1] === undefined) throw problem('token-required');
  return match[1];
}

/** The bytes of a request with a JSON body, as they arrived: kept by the parser for the digest under its Idempotency-Key. */
const contents = new WeakMap<FastifyRequest, Buffer>();

export function keepContent(request: FastifyRequest, content: Buffer): void {
  contents.set(request, content);
}

function contentOf(request: FastifyRequest): Buffer {
  return contents.get(request) ?? Buffer.alloc(0);
}

function keyOf<Op extends Operation>(
  { operation, call, request, services }: Guard<Op>,
  content: Buffer | string,
) {
  if (operation.method !== 'POST') return undefined;
  return idempotencyKey(services.sealer, request.headers['idempotency-key'], {
    actorId: call.scope.actorId,
    method: operation.method,
    path: request.url,
    content,
  });
}

/** A failure in words for the caller, where there are any: the absence of the database is 503, a value beyond its types 400. */
export function asProblem(failure: unknown): Problem | undefined {
  if (failure instanceof Problem) return failure;
  if (isUnavailable(failure)) return problem('database-unavailable');
  // SQLSTATE class 22, data exception: a date in the year 0, say, which is well-formed and cannot be stored.
  if (isDatabaseError(failure) && failure.code.startsWith('22')) {
    return invalidRequest([
      { field: 'request', pointer: '', detail: 'holds a value beyond what can be stored' },
    ]);
  }
  return undefined;
}
