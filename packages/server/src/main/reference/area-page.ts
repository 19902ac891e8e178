/** The page of an area of the reference: its operations, and the guides that explain them. */
import { headings, publishedExamples, type Tag } from '@headgate/contract';
import { areas, getAreaPath, getRoot, type Page, renderOperationTitle } from './frame.ts';
import { guidesOfAreas, readGuideTitles } from './guide-files.ts';
import { html, type Markup } from './html.ts';
import { getAnchor, renderOperation } from './operation-view.ts';

export function makeAreaPage(tag: Tag, publicUrl: string): Page {
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
