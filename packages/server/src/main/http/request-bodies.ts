/** What of a request's body is the same for all operations: its media type, its encoding, JSON. */
import type { MediaType } from '@headgate/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { keepContent } from '../../kernel/endpoint.ts';
import { problem } from '../../kernel/problems.ts';

const mediaForms: Record<MediaType, RegExp> = {
  'application/json': /^application\/(?:[\w.-]+\+)?json\b/i,
  'multipart/form-data': /^multipart\/form-data\b/i,
};

/** Throws `unsupported-media-type` when the body of a request is not what its operation reads. */
export function requireMediaType(request: FastifyRequest): void {
  const { operation } = request.routeOptions.config;
  const sent = request.headers['content-type'];
  if (operation === undefined || sent === undefined) return;
  const expected = operation.mediaType ?? (operation.body === undefined ? undefined : 'application/json');
  if (expected !== undefined && !mediaForms[expected].test(sent))
    throw problem('unsupported-media-type', { expected });
}

/** JSON is read as bytes, so that what is not UTF-8 is refused and not mended; a multipart form is left to its route. */
export function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  app.addContentTypeParser<Buffer>(
    mediaForms['application/json'],
    { parseAs: 'buffer' },
    (request, bytes, done) => {
      keepContent(request, bytes);
      if (bytes.length === 0) return done(null, undefined);
      try {
        done(null, JSON.parse(utf8.decode(bytes)));
      } catch (failure) {
        const reason = failure instanceof SyntaxError ? failure.message : 'its bytes are not UTF-8';
        done(problem('invalid-json', { reason: reason.slice(0, 200) }));
      }
    },
  );
  app.addContentTypeParser(mediaForms['multipart/form-data'], (_request, _payload, done) => done(null));
}
