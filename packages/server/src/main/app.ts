/** The HTTP server: what is common to all routes, and the routes of all slices. */
import {
  type MediaType,
  type Operation,
  openApiDocument,
  operations,
  type ProblemStatus,
  problems,
  problemTypeName,
  statusTitles,
} from '@headgate/contract';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { credentialRoutes } from '../access/credentials/index.ts';
import { tokenRoutes } from '../access/tokens/index.ts';
import { artifactRoutes } from '../delivery/artifacts/index.ts';
import { asProblem, createEndpoints, keepContent, routePath } from '../kernel/endpoint.ts';
import { readJson } from '../kernel/json-body.ts';
import { type Problem, problem, renderProblem, withHeaders } from '../kernel/problems.ts';
import { eventRoutes } from '../records/events/index.ts';
import { agentLinkRoutes } from '../runtime/agent-link/index.ts';
import { executionRoutes } from '../runtime/executions/index.ts';
import { agentRoutes } from '../workspace/agents/index.ts';
import { connectionRoutes } from '../workspace/connections/index.ts';
import { environmentRoutes } from '../workspace/environments/index.ts';
import { projectRoutes } from '../workspace/projects/index.ts';
import { variableRoutes } from '../workspace/variables/index.ts';
import type { Dependencies } from './deps.ts';
import { statusRoutes } from './status.routes.ts';
import { answerUnreadable } from './unreadable-request.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation;
  }
}

const longestPathParameter = 2_048;
const requestTimeoutMilliseconds = 300_000;
/** Longer than the proxies in front usually keep theirs, so that a connection never ends under a request of theirs. */
const keepAliveMilliseconds = 75_000;

export function createApp(deps: Dependencies): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: deps.config.bodyLimitBytes,
    genReqId: () => deps.newId(),
    clientErrorHandler: (failure, socket) => answerUnreadable(deps, failure, socket),
    requestTimeout: requestTimeoutMilliseconds,
    keepAliveTimeout: keepAliveMilliseconds,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: longestPathParameter, ignoreDuplicateSlashes: false },
    frameworkErrors: (_failure, request, reply) =>
      answerProblem(deps, request, reply, problem('invalid-path')),
  });
  app.setSerializerCompiler(() => JSON.stringify);
  readBodies(app);
  observe(app, deps);
  app.setErrorHandler((failure, request, reply) => {
    const found = inWords(failure, deps);
    if (found.status >= 500)
      deps.log.error({ err: failure, requestId: request.id, code: found.code }, 'a request failed');
    return answerProblem(deps, request, reply, found);
  });
  app.setNotFoundHandler((request, reply) => answerProblem(deps, request, reply, nothingHere(request)));

  tokenRoutes(app, deps);
  statusRoutes(app, deps);
  documentRoutes(app, deps);
  const endpoints = createEndpoints(app, deps);
  credentialRoutes(endpoints, deps);
  eventRoutes(endpoints);
  projectRoutes(endpoints, { owners: deps.owners });
  environmentRoutes(endpoints, { wakes: deps.wakes, times: deps.times });
  connectionRoutes(endpoints);
  variableRoutes(endpoints);
  agentRoutes(endpoints);
  artifactRoutes(endpoints, { blobs: deps.blobs, limits: deps.config.upload });
  executionRoutes(endpoints, { wakes: deps.wakes, times: deps.config.work });
  agentLinkRoutes(app, deps);
  return app;
}

const mediaForms: Record<MediaType, RegExp> = {
  'application/json': /^application\/(?:[\w.-]+\+)?json\b/i,
  'multipart/form-data': /^multipart\/form-data\b/i,
};

/** Throws `unsupported-media-type` when the body of a request is not what its operation reads. */
function requireMediaType(request: FastifyRequest): void {
  const { operation } = request.routeOptions.config;
  const sent = request.headers['content-type'];
  if (operation === undefined || sent === undefined) return;
  const expected = operation.mediaType ?? (operation.body === undefined ? undefined : 'application/json');
  if (expected !== undefined && !mediaForms[expected].test(sent))
    throw problem('unsupported-media-type', { expected });
}

/** JSON is read from the bytes as they came, which are kept for idempotency; a multipart form is left to its route. */
function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(
    mediaForms['application/json'],
    { parseAs: 'buffer' },
    (request, bytes, done) => {
      keepContent(request, bytes);
      try {
        done(null, bytes.length === 0 ? undefined : readJson(bytes));
      } catch (failure) {
        done(failure as Error);
      }
    },
  );
  app.addContentTypeParser(mediaForms['multipart/form-data'], (_request, _payload, done) => done(null));
}

/** Request ids, the log, the metrics, and the refusal of requests while the server stops. */
function observe(app: FastifyInstance, deps: Dependencies): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    if (deps.stopping.aborted && !request.url.startsWith('/agent/')) throw problem('shutting-down');
    // Before its body is read: of what is nowhere it says nothing.
    if (request.is404) throw nothingHere(request);
    requireMediaType(request);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const seconds = reply.elapsedTime / 1_000;
    const operation = request.routeOptions.config.operation?.id ?? 'other';
    deps.metrics.request(operation, reply.statusCode, seconds);
    deps.log.info(
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

function inWords(failure: unknown, deps: Dependencies): Problem {
  const known = asProblem(failure);
  if (known !== undefined) return known;
  const code = failure instanceof Error && 'code' in failure ? failure.code : undefined;
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return problem('unsupported-media-type', { expected: 'application/json' });
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return problem('body-too-large', {
        limit: `a JSON body holds ${deps.config.bodyLimitBytes} bytes at most`,
      });
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return problem('invalid-upload', { reason: 'its length is not what Content-Length says.' });
    default:
      return problem('internal-error');
  }
}

const challenge = 'Bearer realm="headgate"';

function answerProblem(deps: Dependencies, request: FastifyRequest, reply: FastifyReply, found: Problem) {
  let answered = found;
  if (answered.status === 401) {
    const error = answered.code === 'token-invalid' ? ', error="invalid_token"' : '';
    answered = withHeaders(answered, { 'www-authenticate': challenge + error });
  }
  if (answered.status === 503) answered = withHeaders(answered, { 'retry-after': '1' });
  const body = renderProblem(answered, {
    typeBase: deps.config.problemTypeBase,
    instance: request.url.split('?', 1)[0]?.slice(0, 8_192) ?? '',
    traceId: request.id,
  });
  // A path that does not decode is answered before any hook runs.
  reply.header('x-request-id', request.id);
  reply
    .code(answered.status)
    .headers({ ...answered.headers, 'content-type': 'application/problem+json; charset=utf-8' });
  // A body that was not read to its end would be taken for the next request.
  if (!request.raw.complete) reply.header('connection', 'close');
  return reply.send(JSON.stringify(body));
}

const paths = [
  { method: 'POST', form: /^\/oauth\/dpc\/token$/ },
  ...operations.map((operation) => ({
    method: operation.method,
    form: new RegExp(`^${routePath(operation).replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`),
  })),
];

/** 405 with `Allow` where the path has operations, else 404. */
function nothingHere(request: FastifyRequest): Problem {
  const path = request.url.split('?', 1)[0] ?? '';
  const methods = new Set<string>(paths.filter(({ form }) => form.test(path)).map(({ method }) => method));
  if (methods.size === 0) return problem('path-not-found');
  if (methods.has('GET')) methods.add('HEAD');
  return withHeaders(problem('method-not-allowed', { method: request.method }), {
    allow: [...methods].sort().join(', '),
  });
}

/** The OpenAPI document, and a page for each type of problem. */
function documentRoutes(app: FastifyInstance, { config, version }: Dependencies): void {
  const document = JSON.stringify(openApiDocument({ version, serverUrl: config.publicUrl }));
  app.get('/openapi.json', (_request, reply) =>
    reply.header('content-type', 'application/json').send(document),
  );
  app.get('/problems/:name', (request, reply) => {
    const { name } = request.params as { name: string };
    const status = Object.keys(statusTitles)
      .map((key) => Number(key) as ProblemStatus)
      .find((each) => problemTypeName(each) === name);
    if (status === undefined) throw problem('path-not-found');
    const codes = Object.entries(problems).filter(([, kind]) => kind.status === status);
    const list = codes.map(([code]) => `<li><code>${code}</code></li>`).join('\n');
    const title = `${status} ${statusTitles[status]}`;
    const page = `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>${title}</title>\n<h1>${title}</h1>\n<p>The member <code>code</code> of the problem says which:</p>\n<ul>\n${list}\n</ul>\n</html>\n`;
    return reply.header('content-type', 'text/html; charset=utf-8').send(page);
  });
}
