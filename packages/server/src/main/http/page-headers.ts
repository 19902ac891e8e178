/** What every answer with a body carries, and what every HTML page does: a browser runs and loads nothing that the page does not need. */
import type { FastifyInstance } from 'fastify';

export const noSniffing = { 'x-content-type-options': 'nosniff' } as const;
const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A page that needs more, as the reference does, sets a policy of its own. */
export function protectAnswers(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (payload !== undefined && payload !== null && payload !== '') reply.headers(noSniffing);
    const isPage = /^text\/html\b/i.test(String(reply.getHeader('content-type') ?? ''));
    if (isPage && !reply.hasHeader('content-security-policy'))
      reply.header('content-security-policy', policy);
    done(null, payload);
  });
}
