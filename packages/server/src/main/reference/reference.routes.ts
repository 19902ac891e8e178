/**
 * The reference at `/docs`, to which `/` redirects: a page rendered from the contract, with its own style
 * sheet and script, and the pages about pipeline files. It needs no token and loads nothing from other origins.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import type { Dependencies } from '../deps.ts';
import { renderReference } from './page.ts';
import { listDocumentationFiles } from './pipeline-pages.ts';

const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  // Revalidated at each request, so that a new version shows at once.
  'cache-control': 'no-cache',
  vary: 'accept-encoding',
};

export function referenceRoutes(app: FastifyInstance, { config, version }: Dependencies): void {
  serve(app, '/docs', 'text/html', () => renderReference({ version, publicUrl: config.publicUrl }));
  // Relative, so that it works behind a proxy that serves this below a path.
  app.get('/', (_request, reply) => reply.redirect('docs', 302));
  app.get('/docs/', (_request, reply) => reply.redirect('../docs', 308));
  serve(app, '/docs/reference.css', 'text/css', () => readFileBeside('reference.css'));
  for (const { path, type, make } of listDocumentationFiles()) serve(app, `/docs/${path}`, type, make);
  serve(app, '/docs/reference.js', 'text/javascript', () => readFileBeside('reference.js'));
}

function readFileBeside(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

interface Content {
  text: string;
  zipped: Buffer;
  digest: string;
}

function createContent(text: string): Content {
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  return { text, zipped: gzipSync(text), digest };
}

/** Rendered at the first request, so that it does not delay the start. */
function serve(app: FastifyInstance, path: string, type: string, make: () => string): void {
  let made: Content | undefined;
  app.get(path, (request, reply) => {
    made ??= createContent(make());
    const zips = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
    // Two encodings of one text are two representations (RFC 9110 §8.8.3).
    const etag = `"${made.digest}${zips ? '-gzip' : ''}"`;
    reply.headers({ ...headers, etag, 'content-type': `${type}; charset=utf-8` });
    const known = request.headers['if-none-match'];
    if (known?.split(',').some((each) => each.trim().replace(/^W\//, '') === etag)) {
      return reply.code(304).send();
    }
    return zips ? reply.header('content-encoding', 'gzip').send(made.zipped) : reply.send(made.text);
  });
}
