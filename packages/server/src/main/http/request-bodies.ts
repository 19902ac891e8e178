/** Reads request bodies: media type, encoding and JSON, for all operations. */
import type { MediaType, Operation } from '@headgate/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { keepDigest } from '../../kernel/endpoint/write.ts';
import { createOccupant, occupyLoop } from '../../kernel/event-loop.ts';
import { type BodyPieces, receivePieces, wipePieces } from '../../kernel/http/body-pieces.ts';
import type { BodyReader } from '../../kernel/http/body-reader.ts';
import { keepReadBody } from '../../kernel/http/body-reading.ts';
import { decodePieces, requireKnownEncoding } from '../../kernel/http/content-encoding.ts';
import { createHeldBodies } from '../../kernel/http/held-bodies.ts';
import { problem } from '../../kernel/http/problems.ts';
import { requireTokenOwner } from '../../kernel/security/admission.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { createBodyTooLarge } from './problem-answers.ts';

const mediaForms: Record<MediaType, RegExp> = {
  'application/json': /^application\/(?:[\w.-]+\+)?json\b/i,
  'multipart/form-data': /^multipart\/form-data\b/i,
};

/** Bodies of the largest size that are in memory at the same time. */
const heldAtOnce = { ofCaller: 4, ofAccount: 8, inAll: 32 };

/**
 * Throws `unsupported-media-type` or `unsupported-content-encoding` if the operation, or the route without one, cannot
 * read the body.
 */
export function requireReadableBody(request: FastifyRequest): void {
  const { operation, bodyType } = request.routeOptions.config;
  const sent = request.headers['content-type'];
  if (sent === undefined) return;
  // A stranger's JSON would be received in whole before the route sees it.
  if (bodyType !== undefined && mediaForms['application/json'].test(sent))
    throw problem('unsupported-media-type', { expected: bodyType });
  if (operation === undefined) return;
  const expected = operation.mediaType ?? (operation.body === undefined ? undefined : 'application/json');
  if (expected === undefined) return;
  if (!mediaForms[expected].test(sent)) throw problem('unsupported-media-type', { expected });
  requireKnownEncoding(request.headers);
}

/**
 * Parses JSON bodies of operations and releases their bytes; a multipart form is left to its route. Other routes, such
 * as those of Git and of links in mails, take no JSON: it is neither decompressed nor parsed, because their callers
 * may be strangers.
 */
export function readBodies(
  app: FastifyInstance,
  { reader, sealer, limitBytes }: { reader: BodyReader; sealer: Sealer; limitBytes: number },
): void {
  app.removeAllContentTypeParsers();
  const limit = { bytes: limitBytes, exceeded: () => createBodyTooLarge(limitBytes) };
  const held = createHeldBodies({
    ofOwners: [heldAtOnce.ofCaller * limitBytes, heldAtOnce.ofAccount * limitBytes],
    inAll: heldAtOnce.inAll * limitBytes,
    limitBytes,
  });

  app.addHook('preParsing', (request, reply, _payload, done) => {
    const { operation } = request.routeOptions.config;
    const isJson = mediaForms['application/json'].test(request.headers['content-type'] ?? '');
    if (operation === undefined || !isJson) return done();
    const { accountId, actorId } = requireTokenOwner(request);
    held.hold(request, reply, [actorId, accountId]);
    done();
  });

  async function readPieces(
    request: FastifyRequest,
    operation: Operation,
    received: BodyPieces,
  ): Promise<unknown> {
    const held = [received];
    try {
      const pieces = await decodePieces(received, request.headers, limit);
      held.push(pieces);
      // The agent protocol has no Idempotency-Key.
      if (operation.surface !== 'agent') keepDigest(request, sealer, pieces);
      const body = await occupyLoop(createOccupant(operation.id), 'body', () =>
        reader.read(operation, pieces, requireTokenOwner(request).accountId),
      );
      keepReadBody(request, body);
      return body.value;
    } finally {
      if (operation.bodyHoldsSecret !== undefined) wipePieces(held.flat());
    }
  }

  app.addContentTypeParser(mediaForms['application/json'], (request, payload, done) => {
    const { operation } = request.routeOptions.config;
    if (operation === undefined) return done(null);
    if (Number(request.headers['content-length'] ?? 0) > limit.bytes) return done(limit.exceeded());
    receivePieces(payload, limit, (failure, pieces) => {
      if (failure !== null) {
        if (operation.bodyHoldsSecret !== undefined) wipePieces(pieces);
        return done(failure);
      }
      readPieces(request, operation, pieces).then(
        (value) => done(null, value),
        (invalid: Error) => done(invalid),
      );
    });
  });
  app.addContentTypeParser(mediaForms['multipart/form-data'], (_request, _payload, done) => done(null));
}
