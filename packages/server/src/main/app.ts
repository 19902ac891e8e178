/** The HTTP server: what is common to all routes, and the routes of all slices. */
import { type Operation, openApiDocument, operations } from '@headgate/contract';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import { createEndpoints } from '../kernel/endpoint/endpoint.ts';
import { createBodyReader } from '../kernel/http/body-reader.ts';
import { problem, withHeaders } from '../kernel/http/problems.ts';
import { serveSlices } from './assembly.ts';
import type { Dependencies } from './deps.ts';
import type { Certificate } from './http/certificate.ts';
import { compressAnswers } from './http/compression.ts';
import { type Cors, createCors } from './http/cors.ts';
import { createMethodTable, type MethodsOf } from './http/methods.ts';
import { protectAnswers } from './http/page-headers.ts';
import { answerProblem, inWords, unreadableRequest } from './http/problem-answers.ts';
import { problemPages } from './http/problem-pages.ts';
import { readBodies, requireReadableBody } from './http/request-bodies.ts';
import { statusRoutes } from './http/status.routes.ts';
import { createUnreadBodies, type UnreadBodies } from './http/unread-bodies.ts';
import { referenceRoutes } from './reference/reference.routes.ts';
import { slices } from './slices.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation;
  }
}

const longestPathParameter = 2_048;
const requestTimeoutMilliseconds = 300_000;
/**
 * Longer than the proxies in front usually keep theirs, so that a connection never ends under a request of
 * theirs.
 */
const keepAliveMilliseconds = 75_000;

/** With a certificate it speaks HTTPS, else HTTP. */
export function createApp(
  deps: Dependencies,
  certificate?: Certificate,
  unreadBodies = createUnreadBodies(deps.stopping),
): FastifyInstance {
  const { watch, methodsOf } = createMethodTable();
  const { corsOrigins } = deps.config;
  const cors = corsOrigins === undefined ? undefined : createCors(corsOrigins, methodsOf);
  const options = serverOptions(deps, cors, unreadBodies);
  const { classes } = unreadBodies;
  const https = certificate && { cert: certificate.cert, key: certificate.key, ...classes };
  // Servers of both kinds are used alike; the types tell them apart.
  const app = Fastify({
    ...options,
    ...(https === undefined ? { http: classes } : { https }),
  } as FastifyServerOptions);
  watch(app);
  app.setSerializerCompiler(() => JSON.stringify);
  const limitBytes = deps.config.bodyLimitBytes;
  readBodies(app, { reader: createBodyReader({ limitBytes }), sealer: deps.sealer, limitBytes });
  compressAnswers(app);
  protectAnswers(app);
  const answerElse = elsewhere(deps, methodsOf);
  observe(app, deps, cors, answerElse);
  app.setErrorHandler((failure, request, reply) => {
    const found = inWords(failure, request, deps);
    if (found.status >= 500)
      deps.log.error({ err: failure, requestId: request.id, code: found.code }, 'a request failed');
    return answerProblem(deps, request, reply, found);
  });
  app.setNotFoundHandler(answerElse);

  serveSlices(slices, createEndpoints(app, deps), deps, operations);
  statusRoutes(app, deps);
  documentRoutes(app, deps);
  referenceRoutes(app, deps);
  return app;
}

function serverOptions(
  deps: Dependencies,
  cors: Cors | undefined,
  unreadBodies: UnreadBodies,
): FastifyServerOptions {
  const { bodyLimitBytes, trustedProxies } = deps.config;
  return {
    logger: false,
    bodyLimit: bodyLimitBytes,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    genReqId: () => deps.newId(),
    requestTimeout: requestTimeoutMilliseconds,
    keepAliveTimeout: keepAliveMilliseconds,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: longestPathParameter, ignoreDuplicateSlashes: false },
    frameworkErrors(_failure, request, reply) {
      // No hook has run for a path that does not decode.
      cors?.(request, reply);
      return answerProblem(deps, request, reply, problem('invalid-path'));
    },
    clientErrorHandler(failure, socket) {
      if (failure.code === 'ECONNRESET' || socket.destroyed) return;
      if (unreadBodies.endAfterAnswers(socket)) return;
      if (socket.writable) socket.end(unreadableRequest(deps, failure));
      socket.destroySoon();
    },
  };
}

/** Request ids, the log, the metrics, and the refusal of requests while the server stops. */
function observe(
  app: FastifyInstance,
  deps: Dependencies,
  cors: Cors | undefined,
  answerElse: ReturnType<typeof elsewhere>,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    cors?.(request, reply);
    if (deps.stopping.aborted && !request.url.startsWith('/agent/')) throw problem('shutting-down');
    // Before its body is read: of what is nowhere it says nothing.
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
    // Each idle agent asks for work every few seconds, and what it does is an event.
    const isUsual = operation?.surface === 'agent' && reply.statusCode < 400;
    deps.log[isUsual ? 'debug' : 'info'](
      {
        requestId: request.id,
        method: request.method,
        // The route, not the address: an address may hold what a caller did not mean to be kept.
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        milliseconds: Math.round(reply.elapsedTime * 100) / 100,
      },
      'request',
    );
    done();
  });
}

/** OPTIONS, 405 with `Allow` where there are other methods, else 404. */
function elsewhere(deps: Dependencies, methodsOf: MethodsOf) {
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
        ? problem('path-not-found', { nearest: withSurface(request.url, methodsOf) })
        : withHeaders(problem('method-not-allowed', { method: request.method }), { allow });
    return answerProblem(deps, request, reply, found);
  };
}

/**
 * `/dpc/v1/agents` for `/v1/agents`: the OpenAPI document gives paths without the `/dpc` of its server
 * address.
 */
function withSurface(url: string, methodsOf: MethodsOf): string | undefined {
  const path = `/dpc${url.split('?', 1)[0]}`;
  return url.startsWith('/v1/') && methodsOf(path) !== undefined ? path : undefined;
}

/** The OpenAPI document, and a page for each type of problem. */
function documentRoutes(app: FastifyInstance, { config, version }: Dependencies): void {
  const document = JSON.stringify(openApiDocument({ version, serverUrl: config.publicUrl }));
  app.get('/openapi.json', (_request, reply) =>
    reply.header('content-type', 'application/json').send(document),
  );
  problemPages(app, config.problemTypeBase);
}
