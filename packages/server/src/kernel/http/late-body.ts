import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * A hook `onRequest` for a route that reads a body before it knows its caller: a body that has not ended by then is
 * answered, and its connection closed.
 */
export function cutLateBody(milliseconds: number, answer: (reply: FastifyReply) => void) {
  return ({ raw }: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const timer = setTimeout(() => {
      if (raw.complete || reply.sent) return;
      answer(reply.header('connection', 'close'));
    }, milliseconds).unref();
    for (const end of ['end', 'close'] as const) raw.once(end, () => clearTimeout(timer));
    done();
  };
}
