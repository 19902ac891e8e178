/**
 * Builds a route from an operation and a handler. The life of a request:
 *
 *   token and rate limit (admission.ts) → body → validation → rights, then
 *   a read     one trip: rights and rows (guarded-read.ts)
 *   a write    one transaction: its entry (rights, idempotency), the handler's statements, its events, the
 *              stored response, commit
 *   a file     a read whose response is a stored file, unchanged
 *   a stream   server-sent events; token and rights are checked again while it is open
 *   long       the handler opens its transactions itself, because an upload or a wait must not hold one
 */
import type { Operation } from '@headgate/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isDatabaseError, isDiskFull, isUnavailable, RowsTooLarge } from '../database/database.ts';
import { createOccupant, occupyLoop } from '../event-loop.ts';
import { acceptsJson, chooseScimType, prefersEvents } from '../http/accept.ts';
import { takeReadBody } from '../http/body-reading.ts';
import { createHeaderReader } from '../http/declared-headers.ts';
import { type FileAnswer, sendFile } from '../http/file-answer.ts';
import { isKnownTag } from '../http/if-match.ts';
import { prefersStrictHandling, warningHeader, warnOfIgnored } from '../http/ignored-members.ts';
import { invalidRequest, Problem, problem } from '../http/problems.ts';
import { createSecretSafeCheck } from '../http/secret-body.ts';
import { createAdmission, requireTokenOwner } from '../security/admission.ts';
import { authenticateRequest } from '../security/caller.ts';
import { requirePermission } from '../security/guard.ts';
import type { Scope } from '../security/permissions.ts';
import { findRequiredRoles } from '../security/permissions.ts';
import { createPlaceReader, type Place } from '../security/place.ts';
import type { Surface } from '../security/tokens.ts';
import { createAwaitedWork } from './awaited-work.ts';
import type {
  Answer,
  Answered,
  Call,
  LongCall,
  Outcome,
  ReadCall,
  Services,
  Serving,
  StreamCall,
  WriteCall,
} from './call.ts';
import { createEventStreams, type EventStreams } from './event-stream.ts';
import { findEarlier, type StoredAnswer } from './idempotency.ts';
import { createReadCall } from './read-call.ts';
import {
  markReplayed,
  publicPrefix,
  readKeyOfContent,
  readKeyOfRequest,
  renderAnswer,
  requireAnswer,
  write,
} from './write.ts';

export type * from './call.ts';

/**
 * Finds the project of an operation with `projectFrom: 'resource'`. Throws if there is no such resource; `unknown`
 * of the place is the same problem, for a caller without a role there.
 */
export type FindPlace = (call: { scope: Scope; params: unknown }) => Promise<Place>;

export interface Endpoints {
  /** The same endpoints, for operations whose project is that of their resource. */
  within(findPlace: FindPlace): Endpoints;
  /** For routes outside the management API, such as those of the agent protocol. */
  readonly app: FastifyInstance;
  /** `follow`: the response to a caller that prefers server-sent events. */
  read<Op extends Operation>(
    operation: Op,
    handler: (call: ReadCall<Op>) => Promise<Answer<Op>>,
    follow?: (call: StreamCall<Op>) => Promise<AsyncGenerator<string | Buffer> | undefined>,
  ): void;
  write<Op extends Operation>(
    operation: Op,
    handler: (call: WriteCall<Op>) => Promise<Outcome<Op>> | Outcome<Op>,
  ): void;
  long<Op extends Operation>(operation: Op, handler: (call: LongCall<Op>) => Promise<Answered>): void;
  file<Op extends Operation>(operation: Op, handler: (call: ReadCall<Op>) => Promise<FileAnswer>): void;
  stream<Op extends Operation>(
    operation: Op,
    handler: (call: StreamCall<Op>) => Promise<AsyncGenerator<string | Buffer> | undefined>,
  ): void;
}

const jsonType = 'application/json; charset=utf-8';
const surfacePrefix: Record<Surface, string> = { dpc: publicPrefix, agent: '' };

/** `/v1/projects/{projectId}` of the surface `dpc` → `/dpc/v1/projects/:projectId`. */
export function renderRoutePath(operation: Operation): string {
  return surfacePrefix[operation.surface] + operation.path.replaceAll(/\{(\w+)\}/g, ':$1');
}

export function createEndpoints(app: FastifyInstance, services: Services): Endpoints {
  return createEndpointsOf({ app, services, streams: createEventStreams() });
}

interface Serves {
  app: FastifyInstance;
  services: Services;
  streams: EventStreams;
  findPlace?: FindPlace;
}

function createEndpointsOf(serves: Serves): Endpoints {
  const { app, services, streams, findPlace } = serves;

  function sendEvents<Op extends Operation>(
    serving: Serving<Op>,
    reply: FastifyReply,
    handler: (call: StreamCall<Op>) => Promise<AsyncGenerator<string | Buffer> | undefined>,
  ): Promise<FastifyReply> {
    return streams.send(reply, serving.call.scope, (closed) => handler(createStreamCall(serving, closed)));
  }

  function route<Op extends Operation>(
    operation: Op,
    serve: (serving: Serving<Op>, reply: FastifyReply) => Promise<FastifyReply>,
    follow?: (call: StreamCall<Op>) => Promise<AsyncGenerator<string | Buffer> | undefined>,
  ): void {
    const check = createSecretSafeCheck(operation);
    const occupant = createOccupant(operation.id);
    const headersOf = createHeaderReader(operation);
    const roles = findRequiredRoles(requirePermission(operation));
    const placeOf = createPlaceReader(operation);
    const isElsewhere = operation.projectFrom === 'resource';
    if (isElsewhere !== (findPlace !== undefined))
      throw new Error(`${operation.id}: projectFrom 'resource' needs within(), and nothing else does.`);
    app.route({
      method: operation.method,
      url: renderRoutePath(operation),
      config: { operation },
      onRequest: createAdmission(operation, services),
      handler: (request, reply) => occupyLoop(occupant, 'handler', () => handle(request, reply)),
    });

    async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      // The media type of a file is fixed.
      const { accept } = request.headers;
      const isFollowed = follow !== undefined && prefersEvents(accept);
      const isScim = operation.success.mediaType === 'application/scim+json';
      const mayBeRefused = (operation.success.mediaType === undefined && !isFollowed) || isScim;
      if (mayBeRefused && !acceptsJson(accept, isScim)) throw problem('not-acceptable');
      if (isScim) reply.header('content-type', chooseScimType(accept));
      const parts = {
        params: request.params,
        query: request.query,
        headers: headersOf(request.headers),
        body: request.body,
      };
      const strict = prefersStrictHandling(request.headers.prefer);
      warnOfIgnored(reply, check(parts, takeReadBody(request), strict), operation);
      // Only the handler gets the secret; remove it from the request, which other code keeps.
      if (operation.bodyHoldsSecret !== undefined) request.body = undefined;
      const call = {
        ...parts,
        scope: requireTokenOwner(request),
        now: services.clock.now(),
        newId: services.newId,
        requestId: request.id,
      } as unknown as Call<Op>;
      const place = (await findPlace?.(call)) ?? placeOf(parts);
      const serving = { operation, call, place, roles, request, services };
      return isFollowed ? sendEvents(serving, reply, follow) : serve(serving, reply);
    }
  }

  return {
    app,
    within: (find) => createEndpointsOf({ ...serves, findPlace: find }),
    read(operation, handler, follow) {
      const serve = async (serving: Serving<typeof operation>, reply: FastifyReply) => {
        const answer = await handler(createReadCall(serving));
        const known = operation.success.conditional && serving.request.headers['if-none-match'];
        if (known && answer.etag !== undefined && isKnownTag(known, answer.etag))
          return reply.removeHeader('content-type').code(304).header('etag', answer.etag).send();
        return send(reply, await renderAnswer(operation, answer, {}));
      };
      route(operation, serve, follow);
    },
    write(operation, handler) {
      route(operation, async (serving, reply) => {
        const key = readKeyOfRequest(serving);
        return send(
          reply,
          requireAnswer(await write(serving, key, (tx, rows) => handler({ ...serving.call, tx, rows }))),
        );
      });
    },
    long(operation, handler) {
      route(operation, async (serving, reply) => send(reply, await handler(createLongCall(serving))));
    },
    file(operation, handler) {
      route(operation, async (serving, reply) =>
        sendFile(serving.request, reply, await handler(createReadCall(serving))),
      );
    },
    stream(operation, handler) {
      route(operation, (serving, reply) => sendEvents(serving, reply, handler));
    },
  };
}

function createStreamCall<Op extends Operation>(serving: Serving<Op>, closed: AbortSignal): StreamCall<Op> {
  const { call, request, services } = serving;
  return {
    ...call,
    closed,
    read: () => createReadCall({ ...serving, call: { ...call, now: services.clock.now() } }),
    async checkToken() {
      await authenticateRequest(services, serving.operation, request);
    },
  };
}

function createLongCall<Op extends Operation>(serving: Serving<Op>): LongCall<Op> {
  return {
    ...createReadCall(serving),
    request: serving.request,
    write: async (content, work) =>
      requireAnswer(await write(serving, readKeyOfContent(serving, content), work)),
    async findEarlierAnswer(content) {
      const key = readKeyOfContent(serving, content);
      if (key === undefined) return undefined;
      const { database, sealer } = serving.services;
      const { scope, now } = serving.call;
      const earlier = await findEarlier({ read: database.read, sealer }, scope.accountId, key, now);
      return earlier && requireAnswer(markReplayed(earlier));
    },
    awaited: createAwaitedWork(serving),
  };
}

function send(reply: FastifyReply, { status, headers, body }: StoredAnswer) {
  const ignored = reply.getHeader(warningHeader);
  reply.code(status).headers(headers);
  const warning = headers[warningHeader];
  if (ignored !== undefined && warning !== undefined) reply.header(warningHeader, `${ignored}; ${warning}`);
  if (body === null) return reply.removeHeader('content-type').send();
  // SCIM has a media type of its own.
  if (!reply.hasHeader('content-type')) reply.header('content-type', jsonType);
  return reply.send(body);
}

/**
 * Turns a failure into a problem, if there is one for it: 503 if the database is unavailable or its disk is
 * full, 400 for a value outside the range of its type.
 */
export function toProblem(failure: unknown): Problem | undefined {
  if (failure instanceof Problem) return failure;
  if (failure instanceof RowsTooLarge) return problem('response-too-large');
  if (isDiskFull(failure)) return problem('storage-full');
  // After a deadlock or serialization failure the same request can succeed when repeated.
  const isConflict = isDatabaseError(failure) && ['40001', '40P01'].includes(failure.code);
  if (isConflict || isUnavailable(failure)) return problem('database-unavailable');
  // SQLSTATE class 22, data exception: for example a well-formed date in the year 0, which cannot be stored.
  if (isDatabaseError(failure) && failure.code.startsWith('22')) {
    return invalidRequest([
      { field: 'request', pointer: '', detail: 'contains a value outside the range that can be stored' },
    ]);
  }
  return undefined;
}
