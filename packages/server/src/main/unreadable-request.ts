/** What is sent to a server and cannot be read as a request reaches no route: it is answered on its connection, as a problem too. */
import type { Socket } from 'node:net';
import { type Problem, problem, renderProblem } from '../kernel/problems.ts';
import type { Dependencies } from './deps.ts';

export function answerUnreadable(
  deps: Pick<Dependencies, 'config' | 'newId' | 'log'>,
  failure: Error & { code?: string; rawPacket?: unknown },
  socket: Socket,
): void {
  if (failure.code === 'ECONNRESET' || socket.destroyed) return;
  const found = inWords(failure.code);
  const requestId = deps.newId();
  deps.log.info({ requestId, reason: failure.code, status: found.status }, 'a request could not be read');
  const about = { typeBase: deps.config.problemTypeBase, instance: '/', traceId: requestId };
  const detail = renderProblem(found, about);
  const body = JSON.stringify(detail);
  const head = [
    `HTTP/1.1 ${detail.status} ${detail.title}`,
    'content-type: application/problem+json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
  ];
  const { rawPacket } = failure;
  const ofHead = Buffer.isBuffer(rawPacket) && rawPacket.toString('latin1', 0, 5) === 'HEAD ';
  // What else this connection brings has no beginning.
  socket.end(`${head.join('\r\n')}\r\n\r\n${ofHead ? '' : body}`);
}

function inWords(code: string | undefined): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return problem('headers-too-large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return problem('request-timeout');
    default:
      return problem('unreadable-request');
  }
}
