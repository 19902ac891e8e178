/**
 * What every HTML page is answered with, whoever makes it: a browser runs and loads nothing that the page
 * does not need.
 */
import type { FastifyInstance } from 'fastify';

const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A page that needs more, as the reference does, sets a policy of its own. */
export function protectPages(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (/^text\/html\b/i.test(String(reply.getHeader('content-type') ?? ''))) {
      reply.header('x-content-type-options', 'nosniff');
      if (!reply.hasHeader('content-security-policy')) reply.header('content-security-policy', policy);
    }
    done(null, payload);
  });
}
