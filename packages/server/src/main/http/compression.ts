/**
 * Answers are compressed where it pays (docs/adr/0012): large ones, for callers that take it. A compressed answer is another
 * representation, so it has another entity tag (RFC 9110 §8.8.3.3), which `If-Match` takes for the same state.
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { chooseEncoding } from '../../kernel/http/accept.ts';
import { addEncodingToTag, encodings } from '../../kernel/http/if-match.ts';

/** Smaller ones travel in the first packets of a connection in any case; a page of 25 variables has half of it. */
const worthwhileLength = 8_192;
/** Of each the fastest level: the next ones save a few percent for half as much time again. */
const compressors = {
  br: (content: Buffer) =>
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  gzip: (content: Buffer) => promisify(gzip)(content, { level: 1 }),
};

export function compressAnswers(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload: unknown, done) => {
    // Nearly all answers end here.
    if ((typeof payload !== 'string' && !Buffer.isBuffer(payload)) || payload.length < worthwhileLength)
      return done(null, payload);
    if (!isCompressible(reply)) return done(null, payload);
    vary(reply);
    const wanted = request.headers['accept-encoding'];
    const encoding = wanted === undefined ? undefined : chooseEncoding(String(wanted), encodings);
    if (encoding === undefined) return done(null, payload);
    compressors[encoding](Buffer.from(payload as string)).then((compressed) => {
      reply.removeHeader('content-length').header('content-encoding', encoding);
      const tag = reply.getHeader('etag');
      if (typeof tag === 'string') reply.header('etag', addEncodingToTag(tag, encoding));
      done(null, compressed);
    }, done);
  });
}

function isCompressible(reply: FastifyReply): boolean {
  if (reply.hasHeader('content-encoding')) return false;
  return /^text\/|\b(json|javascript|xml)\b/.test(String(reply.getHeader('content-type')));
}

function vary(reply: FastifyReply): void {
  const already = reply.getHeader('vary');
  reply.header('vary', already === undefined ? 'Accept-Encoding' : `${already}, Accept-Encoding`);
}
