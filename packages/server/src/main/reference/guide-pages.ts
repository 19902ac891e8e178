/** The guides as pages, such as `/docs/getting-started` and `/docs/pipelines/components`. */
import { posix } from 'node:path';
import { Marked } from 'marked';
import { html, Markup } from '../../kernel/http/html.ts';
import type { Page, Section } from './frame.ts';
import { listGuideFiles, readGuide, readTitle, toPagePath } from './guide-files.ts';

/** @param file in `docs/` */
export function makeGuidePage(file: string): Page {
  const text = readGuide(file);
  const path = toPagePath(file);
  const files = listGuideFiles();
  const sections: Section[] = [];
  const marked = new Marked({
    renderer: {
      link({ href, tokens }) {
        const link = toLink(href, file, path, files);
        const content = new Markup(this.parser.parseInline(tokens));
        return link === undefined ? content.text : html`<a href="${link}">${content}</a>`.text;
      },
      heading({ depth, text: title, tokens }) {
        const anchor = toAnchor(title);
        const content = new Markup(this.parser.parseInline(tokens));
        if (depth === 2) sections.push({ anchor, title: content });
        return html`<h${depth} id="${anchor}"><a href="#${anchor}">${content}</a></h${depth}>\n`.text;
      },
      // What is wide scrolls, by keys too.
      code: ({ text: code }) => html`<figure><pre tabindex="0"><code>${code}\n</code></pre></figure>\n`.text,
    },
  });
  const body = marked
    .parse(text, { async: false })
    .replaceAll('<table>', '<div class="wide" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>');
  const content = html`<article class="guide">${new Markup(body)}</article>`;
  return { path, title: `${readTitle(text)} - Headgate`, content, sections };
}

/** The anchor of a heading, as the platforms that show Markdown make it. */
export function toAnchor(title: string): string {
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
