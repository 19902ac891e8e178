/**
 * Compresses large responses if the client accepts it (docs/adr/0012). A compressed response is another
 * representation with another entity tag (RFC 9110 §8.8.3.3); `If-Match` treats both tags as the same
 * state.
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { chooseEncoding } from '../../kernel/http/accept.ts';
import { addEncodingToTag, encodings } from '../../kernel/http/if-match.ts';

/** Smaller responses fit in the first packets of a connection. A page of 25 variables has half of this. */
const worthwhileLength = 8_192;
/** The fastest level of each: the next saves a few percent for 50% more time. */
const compressors = {
  br: (content: Buffer) =>
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  gzip: (content: Buffer) => promisify(gzip)(content, { level: 1 }),
};

export function compressAnswers(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload: unknown, done) => {
    // Nearly all responses end here.
    if ((typeof payload !== 'string' && !Buffer.isBuffer(payload)) || payload.length < worthwhileLength)
      return done(null, payload);
    if (!isCompressible(reply)) return done(null, payload);
    addVary(reply);
    const accepted = request.headers['accept-encoding'];
    const encoding = accepted === undefined ? undefined : chooseEncoding(String(accepted), encodings);
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

function addVary(reply: FastifyReply): void {
  const already = reply.getHeader('vary');
  reply.header('vary', already === undefined ? 'Accept-Encoding' : `${already}, Accept-Encoding`);
}
