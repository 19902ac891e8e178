/** A response with a stored file. Its headers prevent browsers from rendering it as a page. */
import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface FileAnswer {
  /** The SHA-256 of its bytes, in hex. */
  sha256: string;
  /** Its path; the last segment is the file name offered to the client. */
  path: string;
  /** Called only if the client does not have this content. */
  open(): Promise<{ size: number; stream: Readable }>;
}

export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { sha256, path, open }: FileAnswer,
): Promise<FastifyReply> {
  const etag = `"${sha256}"`;
  reply.headers({ etag, 'cache-control': 'private, no-cache' });
  if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
  const { size, stream } = await open();
  reply.headers({
    'content-type': 'text/plain; charset=utf-8',
    'content-length': size,
    'content-disposition': renderAttachment(path.slice(path.lastIndexOf('/') + 1)),
  });
  return reply.send(stream);
}

/** RFC 9110 §13.1.2, weak comparison. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = (ifNoneMatch ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''));
  return known.includes('*') || known.includes(etag);
}

/** RFC 6266: an ASCII name for old clients, and the UTF-8 name. */
function renderAttachment(name: string): string {
  const plain = name.replaceAll(/[^\w .()-]/g, '_');
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
