/**
 * Security headers of responses with a body and of HTML pages: a browser loads and runs only what a page
 * needs.
 */
import type { FastifyInstance } from 'fastify';
import { noSniffing } from '../../kernel/http/sniffing.ts';

const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Pages that need more, such as the reference, set their own policy. */
export function protectAnswers(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (payload !== undefined && payload !== null && payload !== '') reply.headers(noSniffing);
    const isPage = /^text\/html\b/i.test(String(reply.getHeader('content-type') ?? ''));
    if (isPage && !reply.hasHeader('content-security-policy'))
      reply.header('content-security-policy', policy);
    done(null, payload);
  });
}
