/** Every problem is answered here, whoever found it: a handler, the framework, or the parser of HTTP. */
import { type ProblemDetail, problems, statusTitles } from '@headgate/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { toProblem } from '../../kernel/endpoint/endpoint.ts';
import { type Problem, problem, renderProblem, withHeaders } from '../../kernel/http/problems.ts';
import type { Dependencies } from '../deps.ts';
import { noSniffing } from './page-headers.ts';

const problemType = 'application/problem+json; charset=utf-8';
const challenge = 'Bearer realm="headgate"';
const longestInstance = 8_192;

export function answerProblem(
  deps: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  found: Problem,
) {
  let answered = found;
  if (answered.status === 401) {
    const error = answered.code === 'token-invalid' ? ', error="invalid_token"' : '';
    answered = withHeaders(answered, { 'www-authenticate': challenge + error });
  }
  if (answered.status === 503) answered = withHeaders(answered, { 'retry-after': '1' });
  const body = renderProblem(answered, {
    typeBase: deps.config.problemTypeBase,
    instance: request.url.split('?', 1)[0]?.slice(0, longestInstance) ?? '',
    traceId: request.id,
  });
  // A path that does not decode is answered without any hook.
  reply.headers({ 'x-request-id': request.id, ...noSniffing });
  reply.code(answered.status).headers({ ...answered.headers, 'content-type': problemType });
  // Fastify asks for `close` where it has not read the body. The rest of it is discarded (unread-bodies.ts),
  // so the connection can go on.
  if (reply.hasHeader('connection') && mayPersist(request, reply)) reply.header('connection', 'keep-alive');
  return reply.send(JSON.stringify(body));
}

/**
 * Not when the client or the shutdown ends the connection, nor when the client may still be waiting for `100
 * Continue`.
 */
function mayPersist(request: FastifyRequest, { raw }: FastifyReply): boolean {
  return raw.shouldKeepAlive && !raw.hasHeader('connection') && request.headers.expect === undefined;
}

/**
 * What the framework threw, in words for the caller; a failure of the service is told as such, and the cause
 * logged under its id.
 */
export function inWords(failure: unknown, request: FastifyRequest, deps: Dependencies): Problem {
  // The client hung up before its body was complete: Node reports ECONNRESET, as for a lost database.
  if (failure === request.raw.errored) return problem('malformed-request');
  const known = toProblem(failure);
  if (known !== undefined) return known;
  const code = failure instanceof Error && 'code' in failure ? failure.code : undefined;
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return problem('unsupported-media-type', { expected: 'application/json' });
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return bodyTooLarge(deps.config.bodyLimitBytes);
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return problem('invalid-upload', { reason: 'its length is not what Content-Length says.' });
    default:
      return problem('internal-error');
  }
}

export function bodyTooLarge(limitBytes: number): Problem {
  return problem('body-too-large', {
    limit: `a JSON body has at most ${limitBytes} bytes (HEADGATE_BODY_LIMIT_MB)`,
  });
}

/** What is written for a connection whose bytes are no request that can be read; it is closed with it. */
export function unreadableRequest(
  deps: Dependencies,
  failure: { code?: string; rawPacket?: unknown },
): string {
  const code =
    failure.code === 'HPE_HEADER_OVERFLOW'
      ? 'headers-too-large'
      : failure.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request-timeout'
        : 'malformed-request';
  const { status } = problems[code];
  const traceId = deps.newId();
  // The path was not read.
  const about = { typeBase: deps.config.problemTypeBase, instance: '/', traceId };
  const body: ProblemDetail = renderProblem(problem(code), about);
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${statusTitles[status]}`,
    `content-type: ${problemType}`,
    `content-length: ${Buffer.byteLength(text)}`,
    `x-request-id: ${traceId}`,
    ...Object.entries(noSniffing).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
  ];
  const { rawPacket } = failure;
  const ofHead = Buffer.isBuffer(rawPacket) && rawPacket.toString('latin1', 0, 5) === 'HEAD ';
  return `${head.join('\r\n')}\r\n\r\n${ofHead ? '' : text}`;
}
