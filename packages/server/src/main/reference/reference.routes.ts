/**
 * The documentation at `/docs`, to which `/` redirects: the reference, rendered from the contract, the guides, and the
 * JSON Schemas of pipeline files. It needs no token and loads nothing from other origins.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { headings, publishedExamples, type Tag } from '@headgate/contract';
import type { FastifyInstance } from 'fastify';
import { html, type Markup } from '../../kernel/http/html.ts';
import { createWorkThread } from '../../kernel/threads/work-thread.ts';
import type { Dependencies } from '../deps.ts';
import {
  areas,
  getAreaPath,
  getOperationPath,
  getRoot,
  type Page,
  renderFrame,
  renderOperationTitle,
} from './frame.ts';
import { docs, guidesOfAreas, listGuideFiles, readGuideTitles, toPagePath } from './guide-files.ts';
import { makeGuidePage } from './guide-pages.ts';
import { type Chapter, renderIntroduction } from './introduction.ts';
import { getAnchor, renderOperation } from './operation-view.ts';

function makeStartPage(publicUrl: string): Page {
  const operations = { anchor: 'operations', title: 'Operations', content: renderOperationList() };
  const chapters = [...renderIntroduction(publicUrl), operations];
  const content = html`${chapters.map(renderChapter)}`;
  return { path: '', title: 'Headgate', content, sections: chapters };
}

function renderChapter({ anchor, title, content }: Chapter): Markup {
  return html`<section class="chapter" id="${anchor}"><h2><a href="#${anchor}">${title}</a></h2>${content}</section>
`;
}

function renderOperationList(): Markup {
  const lists = [...areas].map(([tag, list]) => {
    const items = list.map(
      (operation) =>
        html`<li><a href="docs/${getOperationPath(operation)}">${renderOperationTitle(operation)}</a></li>`,
    );
    return html`<h3><a href="docs/${getAreaPath(tag)}">${tag}</a></h3>
<p>${headings.find((heading) => heading.tag === tag)?.about}</p>
<ul class="operations">${items}</ul>`;
  });
  return html`${lists}`;
}

function makeAreaPage(tag: Tag, publicUrl: string): Page {
  const list = areas.get(tag) ?? [];
  const examples = publishedExamples(publicUrl);
  const views = list.map((operation) => renderOperation(operation, examples[operation.id]));
  const path = getAreaPath(tag);
  const content = html`<div class="chapter"><h1>${tag}</h1>
<p>${headings.find((heading) => heading.tag === tag)?.about}</p>
${renderGuides(tag, getRoot(path))}</div>
${views}`;
  const sections = list.map((operation) => ({
    anchor: getAnchor(operation),
    title: renderOperationTitle(operation),
  }));
  return { path, title: `${tag} - Headgate reference`, content, sections };
}

function renderGuides(tag: Tag, root: string): Markup | undefined {
  const titles = readGuideTitles();
  const links = (guidesOfAreas[tag] ?? []).map(
    (path, index) => html`${index === 0 ? '' : ', '}<a href="${root}${path}">${titles.get(path)}</a>`,
  );
  if (links.length === 0) return undefined;
  return html`<p>${links.length === 1 ? 'Guide' : 'Guides'}: ${links}</p>`;
}

const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  // Revalidated at each request, so that a new version shows at once.
  'cache-control': 'no-cache',
  vary: 'accept-encoding',
};

export function referenceRoutes(app: FastifyInstance, { config, version }: Dependencies): void {
  const { publicUrl } = config;
  const servePage = (path: string, make: () => Page) =>
    serve(app, path === '' ? '/docs' : `/docs/${path}`, 'text/html', () => renderFrame(version, make()));
  servePage('', () => makeStartPage(publicUrl));
  for (const tag of areas.keys()) servePage(getAreaPath(tag), () => makeAreaPage(tag, publicUrl));
  for (const file of listGuideFiles()) servePage(toPagePath(file), () => makeGuidePage(file));
  for (const path of globSync('schemas/*.json', { cwd: docs }))
    serve(app, `/docs/${path}`, 'application/schema+json', () => readFileSync(new URL(path, docs), 'utf8'));
  for (const [name, type] of [
    ['reference.css', 'text/css'],
    ['reference.js', 'text/javascript'],
  ] as const)
    serve(app, `/docs/${name}`, type, () => readFileSync(new URL(name, import.meta.url), 'utf8'));
  serve(app, '/docs/minisearch.js', 'text/javascript', () =>
    readFileSync(new URL(import.meta.resolve('minisearch')), 'utf8'),
  );
  serve(app, '/docs/search.json', 'application/json', makeSearchIndex);
  // Relative, so that it works behind a proxy that serves this below a path.
  app.get('/', (_request, reply) => reply.redirect('docs', 302));
  app.get('/docs/', (_request, reply) => reply.redirect('../docs', 308));
}

/** In a thread, because it takes about half a second. */
function makeSearchIndex(): Promise<string> {
  const thread = createWorkThread<null, string>({
    module: new URL('search-index.thread.ts', import.meta.url),
    megabytes: 256,
    waiting: { ofOne: 1, inAll: 1 },
    refuse: () => new Error('the index of the search is made once'),
  });
  return thread.run('search', null, { milliseconds: 60_000 });
}

interface Content {
  text: string;
  zipped: Buffer;
  digest: string;
}

const zip = promisify(gzip);

async function createContent(made: string | Promise<string>): Promise<Content> {
  const text = await made;
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  return { text, zipped: await zip(text), digest };
}

/** Rendered at the first request, so that it does not delay the start. */
function serve(app: FastifyInstance, path: string, type: string, make: () => string | Promise<string>): void {
  let making: Promise<Content> | undefined;
  function getContent(): Promise<Content> {
    making ??= createContent(make()).catch((failure: unknown) => {
      // The next request tries again.
      making = undefined;
      throw failure;
    });
    return making;
  }
  app.get(path, async (request, reply) => {
    const { text, zipped, digest } = await getContent();
    const zips = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
    // Two encodings of one text are two representations (RFC 9110 §8.8.3).
    const etag = `"${digest}${zips ? '-gzip' : ''}"`;
    reply.headers({ ...headers, etag, 'content-type': `${type}; charset=utf-8` });
    const known = request.headers['if-none-match'];
    if (known?.split(',').some((each) => each.trim().replace(/^W\//, '') === etag))
      return reply.code(304).send();
    return zips ? reply.header('content-encoding', 'gzip').send(zipped) : reply.send(text);
  });
}
