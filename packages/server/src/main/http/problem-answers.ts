/** Sends every problem response: of handlers, the framework and the HTTP parser. */
import { type ProblemDetail, problems, statusTitles } from '@headgate/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { toProblem } from '../../kernel/endpoint/endpoint.ts';
import { prefersScimErrors } from '../../kernel/http/accept.ts';
import { type Problem, problem, renderProblem, withHeaders } from '../../kernel/http/problems.ts';
import { renderScimError } from '../../kernel/http/scim-error.ts';
import { noSniffing } from '../../kernel/http/sniffing.ts';
import type { Dependencies } from '../deps.ts';
import { isScimPath } from './scim-paths.ts';

const problemType = 'application/problem+json; charset=utf-8';
const scimType = 'application/scim+json; charset=utf-8';
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
  const isScim = isScimPath(request.url) && prefersScimErrors(request.headers.accept);
  const about = {
    typeBase: deps.config.problemTypeBase,
    instance: request.url.split('?', 1)[0]?.slice(0, longestInstance) ?? '',
    traceId: request.id,
  };
  const body = isScim ? renderScimError(answered) : renderProblem(answered, about);
  // No hook runs for a path that cannot be decoded.
  reply.headers({ 'x-request-id': request.id, ...noSniffing });
  reply
    .code(answered.status)
    .headers({ ...answered.headers, 'content-type': isScim ? scimType : problemType });
  // Fastify sets `close` if it has not read the body. The rest is discarded (unread-bodies.ts), so the
  // connection can stay open.
  if (reply.hasHeader('connection') && mayPersist(request, reply)) reply.header('connection', 'keep-alive');
  return reply.send(JSON.stringify(body));
}

/**
 * False if the client or the shutdown closes the connection, or the client may still wait for `100
 * Continue`.
 */
function mayPersist(request: FastifyRequest, { raw }: FastifyReply): boolean {
  return raw.shouldKeepAlive && !raw.hasHeader('connection') && request.headers.expect === undefined;
}

/**
 * Turns any failure into a problem for the caller. A failure of the server itself becomes `internal-error`;
 * its cause is logged under the request id.
 */
export function explainFailure(failure: unknown, request: FastifyRequest, deps: Dependencies): Problem {
  // The client disconnected before its body was complete. Node reports ECONNRESET, as for a lost database.
  if (failure === request.raw.errored) return problem('malformed-request');
  const known = toProblem(failure);
  if (known !== undefined) return known;
  const code = failure instanceof Error && 'code' in failure ? failure.code : undefined;
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return problem('unsupported-media-type', { expected: 'application/json' });
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return createBodyTooLarge(deps.config.bodyLimitBytes);
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return problem('invalid-upload', { reason: 'its length differs from Content-Length.' });
    default:
      return problem('internal-error');
  }
}

export function createBodyTooLarge(limitBytes: number): Problem {
  return problem('body-too-large', {
    limit: `a JSON body has at most ${limitBytes} bytes (HEADGATE_BODY_LIMIT_MB)`,
  });
}

/**
 * The raw response for a connection whose bytes are not a readable request; the connection is then closed.
 */
export function renderUnreadableRequest(
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
