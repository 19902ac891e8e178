/** The page at `/docs`: how to begin, what all operations have in common, and a list of them. */
import { headings } from '@headgate/contract';
import { areas, getAreaPath, getOperationPath, type Page, renderOperationTitle } from './frame.ts';
import { html, type Markup } from './html.ts';
import { type Chapter, renderIntroduction } from './introduction.ts';

export function makeStartPage(publicUrl: string): Page {
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
