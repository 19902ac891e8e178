/** Decodes compressed request bodies (RFC 9110 §8.4). The limit applies to the decompressed size. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import {
  brotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  gunzip,
  inflate,
} from 'node:zlib';
import { type BodyPieces, joinPieces, wipePieces } from './body-pieces.ts';
import { type Problem, problem, withHeaders } from './problems.ts';

type Whole = (
  bytes: Buffer,
  options: { maxOutputLength: number },
  done: (failure: Error | null, content: Buffer) => void,
) => void;

const decoders = {
  gzip: { whole: gunzip, stream: createGunzip },
  deflate: { whole: inflate, stream: createInflate },
  br: { whole: brotliDecompress, stream: createBrotliDecompress },
} as const satisfies Record<string, { whole: Whole; stream: () => Transform }>;
type Encoding = keyof typeof decoders;
const known = Object.keys(decoders).join(', ');

/** Undefined for an uncompressed body. Throws `unsupported-content-encoding`. */
function readEncoding(headers: IncomingHttpHeaders): Encoding | undefined {
  const input = headers['content-encoding'];
  if (input === undefined) return undefined;
  const name = input.trim().toLowerCase();
  if (name === '' || name === 'identity') return undefined;
  // RFC 9110 §8.4.1.3: x-gzip is gzip.
  const encoding = name === 'x-gzip' ? 'gzip' : name;
  if (Object.hasOwn(decoders, encoding)) return encoding as Encoding;
  throw withHeaders(problem('unsupported-content-encoding', { known }), { 'accept-encoding': known });
}

export function requireKnownEncoding(headers: IncomingHttpHeaders): void {
  readEncoding(headers);
}

/** Decompresses a body. Fails with `body-too-large` above the limit, or `invalid-content-encoding`. */
export function decode(
  bytes: Buffer,
  headers: IncomingHttpHeaders,
  limit: { bytes: number; exceeded: () => Problem },
  done: (failure: Error | null, content?: Buffer) => void,
): void {
  const encoding = readEncoding(headers);
  if (encoding === undefined || bytes.length === 0) {
    done(null, bytes);
    return;
  }
  const whole: Whole = decoders[encoding].whole;
  whole(bytes, { maxOutputLength: limit.bytes }, (failure, content) => {
    if (failure === null) {
      done(null, content);
      return;
    }
    const tooLarge = 'code' in failure && failure.code === 'ERR_BUFFER_TOO_LARGE';
    done(tooLarge ? limit.exceeded() : problem('invalid-content-encoding', { encoding }));
  });
}

/** The same in pieces; those of an uncompressed body are not touched. */
export async function decodePieces(
  pieces: BodyPieces,
  headers: IncomingHttpHeaders,
  limit: { bytes: number; exceeded: () => Problem },
): Promise<BodyPieces> {
  if (readEncoding(headers) === undefined) return pieces;
  const { promise, resolve, reject } = Promise.withResolvers<BodyPieces>();
  const bytes = joinPieces(pieces);
  decode(bytes, headers, limit, (failure, content) =>
    content === undefined ? reject(failure) : resolve([content]),
  );
  return promise.finally(() => {
    // They may hold a secret.
    wipePieces([bytes]);
  });
}

/**
 * Decompresses a request as a stream. The consumer must limit the size. The request itself is never
 * destroyed.
 */
export async function* decodeContent(request: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
  const encoding = readEncoding(request.headers);
  if (encoding === undefined) {
    yield* request.iterator({ destroyOnReturn: false });
    return;
  }
  const decoder = decoders[encoding].stream();
  let lost: Error | undefined;
  const onLost = (failure: Error) => {
    lost = failure;
    decoder.destroy(failure);
  };
  request.once('error', onLost);
  request.pipe(decoder);
  try {
    yield* decoder;
  } catch (failure) {
    throw lost ?? (isDecoderError(failure) ? problem('invalid-content-encoding', { encoding }) : failure);
  } finally {
    request.unpipe(decoder);
    request.off('error', onLost);
    decoder.destroy();
  }
}

/** Error codes of zlib begin with Z_, those of Brotli with ERR_. */
function isDecoderError(failure: unknown): boolean {
  return (
    failure instanceof Error &&
    'code' in failure &&
    /^(Z|ERR)_/.test(String(failure.code)) &&
    'errno' in failure
  );
}
