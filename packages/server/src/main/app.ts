/** The HTTP server: what all routes share, and the routes of all slices. */

import { type Operation, openApiDocument, operations } from '@headgate/contract';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import { createEndpoints } from '../kernel/endpoint/endpoint.ts';
import { createBodyReader } from '../kernel/http/body-reader.ts';
import { Problem, problem, withHeaders } from '../kernel/http/problems.ts';
import { recountRefused } from '../kernel/security/admission.ts';
import { serveSlices } from './assembly.ts';
import type { Dependencies } from './deps.ts';
import type { Certificate } from './http/certificate.ts';
import { compressAnswers } from './http/compression.ts';
import { boundConnections, chooseConnectionBounds, handshakeMilliseconds } from './http/connection-bounds.ts';
import { type Cors, createCors } from './http/cors.ts';
import { createMethodTable, type MethodsOf } from './http/methods.ts';
import { protectAnswers } from './http/page-headers.ts';
import { answerProblem, explainFailure, renderUnreadableRequest } from './http/problem-answers.ts';
import { serveProblemPages } from './http/problem-pages.ts';
import { readBodies, requireReadableBody } from './http/request-bodies.ts';
import { trimScimSlash } from './http/scim-paths.ts';
import { statusRoutes } from './http/status.routes.ts';
import { createUnreadBodies, type UnreadBodies } from './http/unread-bodies.ts';
import { referenceRoutes } from './reference/reference.routes.ts';
import { slices } from './slices.list.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation;
    /** The media type of the body of a route without an operation, if it is not JSON. */
    bodyType?: string;
  }
}

const longestPathParameter = 2_048;
const requestTimeoutMilliseconds = 300_000;
/**
 * Longer than the usual timeout of proxies, so that the server never closes a connection on which a proxy
 * is sending a request.
 */
const keepAliveMilliseconds = 75_000;

/** HTTPS with a certificate, otherwise HTTP. */
export function createApp(
  deps: Dependencies,
  certificate?: Certificate,
  unreadBodies = createUnreadBodies(deps.stopping),
): FastifyInstance {
  const { watch, methodsOf } = createMethodTable();
  const { corsOrigins } = deps.config;
  const cors = corsOrigins === undefined ? undefined : createCors(corsOrigins, methodsOf);
  const options = createServerOptions(deps, cors, unreadBodies);
  const { classes } = unreadBodies;
  const https = certificate && {
    cert: certificate.cert,
    key: certificate.key,
    handshakeTimeout: handshakeMilliseconds,
    ...classes,
  };
  // Both kinds of server have the same API, but different types.
  const app = Fastify({
    ...options,
    ...(https === undefined ? { http: classes } : { https }),
  } as FastifyServerOptions);
  boundConnections(app.server, chooseConnectionBounds(deps.config.trustedProxies.length > 0));
  watch(app);
  app.setSerializerCompiler(() => JSON.stringify);
  const limitBytes = deps.config.bodyLimitBytes;
  readBodies(app, { reader: createBodyReader({ limitBytes }), sealer: deps.sealer, limitBytes });
  compressAnswers(app);
  protectAnswers(app);
  const answerElse = createFallback(deps, methodsOf);
  addRequestHooks(app, deps, cors, answerElse);
  app.setErrorHandler((failure, request, reply) => {
    const found = explainFailure(recountRefused(deps.rateLimit, request, reply, failure), request, deps);
    logFailure(deps, request, found, failure);
    return answerProblem(deps, request, reply, found);
  });
  app.setNotFoundHandler(answerElse);

  serveSlices(slices, createEndpoints(app, deps), deps, operations);
  statusRoutes(app, deps);
  serveDocuments(app, deps);
  referenceRoutes(app, deps);
  return app;
}

/** A server that refuses a request because it is busy or stops is not broken: its line has no stack. */
function logFailure(
  { log }: Dependencies,
  { id: requestId }: FastifyRequest,
  { status, code }: Problem,
  err: unknown,
): void {
  const isChosen = err instanceof Problem && err.cause === undefined;
  if (status === 503 && isChosen) log.warn({ requestId, code }, 'a request was refused');
  else if (status >= 500) log.error({ err, requestId, code }, 'a request failed');
}

function createServerOptions(
  deps: Dependencies,
  cors: Cors | undefined,
  unreadBodies: UnreadBodies,
): FastifyServerOptions {
  const { bodyLimitBytes, trustedProxies } = deps.config;
  return {
    logger: false,
    bodyLimit: bodyLimitBytes,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    rewriteUrl: ({ url = '/' }) => trimScimSlash(url),
    genReqId: () => deps.newId(),
    requestTimeout: requestTimeoutMilliseconds,
    keepAliveTimeout: keepAliveMilliseconds,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: longestPathParameter, ignoreDuplicateSlashes: false },
    frameworkErrors(_failure, request, reply) {
      // No hook runs for a path that cannot be decoded.
      cors?.(request, reply);
      return answerProblem(deps, request, reply, problem('invalid-path'));
    },
    clientErrorHandler(failure, socket) {
      if (failure.code === 'ECONNRESET' || socket.destroyed) return;
      // Without a TLS connection a response is never sent, and the socket would stay open for ever.
      if (!/^(HPE|ERR_HTTP)_/.test(failure.code ?? '')) {
        socket.destroy();
        return;
      }
      if (unreadBodies.endAfterAnswers(socket)) return;
      if (socket.writable) socket.end(renderUnreadableRequest(deps, failure));
      socket.destroySoon();
    },
  };
}

/** Adds request ids, the log and metrics, and refuses requests while the server stops. */
function addRequestHooks(
  app: FastifyInstance,
  deps: Dependencies,
  cors: Cors | undefined,
  answerElse: ReturnType<typeof createFallback>,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    cors?.(request, reply);
    requireOneHost(request, reply);
    if (deps.stopping.aborted && !request.url.startsWith('/agent/')) throw problem('shutting-down');
    // An unknown path gets 404 before its body is read.
    if (request.is404) {
      answerElse(request, reply);
      return;
    }
    requireReadableBody(request);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const seconds = reply.elapsedTime / 1_000;
    const { operation } = request.routeOptions.config;
    deps.metrics.observeRequest(operation?.id ?? 'other', reply.statusCode, seconds);
    // Idle agents ask for work every few seconds, and their work leaves events.
    const isUsual = operation?.surface === 'agent' && reply.statusCode < 400;
    deps.log[isUsual ? 'debug' : 'info'](
      {
        requestId: request.id,
        method: request.method,
        // The route, not the URL: a URL may hold confidential values.
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        milliseconds: Math.round(reply.elapsedTime * 100) / 100,
      },
      'request',
    );
    done();
  });
}

/** Answers OPTIONS, 405 with `Allow` if the path has other methods, and 404. */
function createFallback(deps: Dependencies, methodsOf: MethodsOf) {
  return (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const allow = methodsOf(request.url.split('?', 1)[0] ?? '');
    if (request.method === 'OPTIONS' && (allow !== undefined || request.url === '*')) {
      return reply
        .code(204)
        .headers(allow === undefined ? {} : { allow })
        .send();
    }
    const found =
      allow === undefined
        ? problem('path-not-found', { nearest: findPathWithSurface(request.url, methodsOf) })
        : withHeaders(problem('method-not-allowed', { method: request.method }), { allow });
    return answerProblem(deps, request, reply, found);
  };
}

/**
 * Suggests `/dpc/v1/agents` for `/v1/agents`: paths in the OpenAPI document lack the `/dpc` of the server
 * URL.
 */
function findPathWithSurface(url: string, methodsOf: MethodsOf): string | undefined {
  const path = `/dpc${url.split('?', 1)[0]}`;
  return url.startsWith('/v1/') && methodsOf(path) !== undefined ? path : undefined;
}

/** Serves the OpenAPI document, and a page for each type of problem. */
function serveDocuments(app: FastifyInstance, { config, version }: Dependencies): void {
  let document: string | undefined;
  app.get('/openapi.json', (_request, reply) => {
    // Made at the first request, so that it does not delay the start.
    document ??= JSON.stringify(openApiDocument({ version, serverUrl: config.publicUrl }));
    return reply.header('content-type', 'application/json').send(document);
  });
  serveProblemPages(app, config.problemTypeBase);
}

/**
 * Throws `malformed-request` for a request with more than one `Host` (RFC 9112 §3.2): a proxy may have judged the
 * one, and Node takes the other.
 */
function requireOneHost({ raw: { rawHeaders } }: FastifyRequest, reply: FastifyReply): void {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts < 2) return;
  reply.raw.setHeader('connection', 'close');
  throw problem('malformed-request');
}
