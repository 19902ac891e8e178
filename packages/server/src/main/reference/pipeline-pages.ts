/**
 * The documents of `docs/` as pages, such as `/docs/pipelines` and `/docs/getting-started`, and the JSON Schemas
 * of pipeline files at `/docs/schemas`.
 */
import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { Marked } from 'marked';
import { html, Markup } from './html.ts';

const docs = new URL('../../../../../docs/', import.meta.url);

export interface DocumentationFile {
  /** The path below `/docs/`. */
  readonly path: string;
  readonly type: 'text/html' | 'application/schema+json';
  make(): string;
}

/** Every page and schema. The list is read once, when the server starts. */
export function listDocumentationFiles(): DocumentationFile[] {
  const files = globSync(['*.md', 'pipelines/**/*.md'], { cwd: docs });
  const pages = files.map(
    (file): DocumentationFile => ({
      path: toPagePath(file),
      type: 'text/html',
      make: () => renderPage(file, files),
    }),
  );
  const schemas = globSync('schemas/*.json', { cwd: docs }).map(
    (path): DocumentationFile => ({
      path,
      type: 'application/schema+json',
      make: () => readFileSync(new URL(path, docs), 'utf8'),
    }),
  );
  return [...pages, ...schemas];
}

/** `pipelines/components/README.md` is `pipelines/components`. */
function toPagePath(file: string): string {
  return file.replace(/(?:\/README)?\.md$/, '');
}

function renderPage(file: string, files: readonly string[]): string {
  const text = readFileSync(new URL(file, docs), 'utf8');
  const title = /^# (.+)$/m.exec(text)?.[1] ?? 'Documentation';
  const path = toPagePath(file);
  const up = posix.relative(posix.dirname(`docs/${path}`), 'docs');
  const root = up === '' ? '.' : up;
  const marked = new Marked({
    renderer: {
      link({ href, tokens }) {
        const link = toLink(href, file, path, files);
        const text = new Markup(this.parser.parseInline(tokens));
        return link === undefined ? text.text : html`<a href="${link}">${text}</a>`.text;
      },
      heading({ depth, text, tokens }) {
        const anchor = toAnchor(text);
        return html`<h${depth} id="${anchor}">${new Markup(this.parser.parseInline(tokens))}</h${depth}>\n`
          .text;
      },
    },
  });
  const content = new Markup(marked.parse(text, { async: false }));
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} - Headgate</title>
<link rel="stylesheet" href="${root}/reference.css">
</head>
<body class="guide">
<header><a class="home" href="${root}/../docs">Headgate <span>reference</span></a>
<a href="${root}/pipelines">Pipelines</a> <a href="${root}/pipelines/components">Components</a></header>
<main id="content" tabindex="-1">${content}</main>
</body>
</html>
`.text;
}

/** The anchor of a heading, as the platforms that show Markdown make it. */
function toAnchor(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** A link between files as a link between pages; undefined for a file that is not served. */
function toLink(href: string, file: string, path: string, files: readonly string[]): string | undefined {
  if (/^[a-z]+:|^#/.test(href)) return href;
  const [target = '', anchor] = href.split('#');
  const found = posix.join(posix.dirname(file), target);
  if (!files.includes(found) && !found.startsWith('schemas/')) return undefined;
  const page = toPagePath(found);
  const from = posix.dirname(path);
  const link = posix.relative(from === '.' ? '' : from, page);
  return `${link === '' ? `../${posix.basename(page)}` : link}${anchor === undefined ? '' : `#${anchor}`}`;
}
