/** The index of the search in the guides and the reference, which the browser loads when somebody searches. */
import { marked } from 'marked';
import MiniSearch from 'minisearch';
import { areas, getOperationPath } from './frame.ts';
import { listGuideFiles, readGuide, readTitle, toPagePath } from './guide-files.ts';
import { toAnchor } from './guide-pages.ts';
import { getAnchor, getTitle, renderOperation } from './operation-view.ts';

/** What a search finds: an operation, or a section of a guide. */
interface Entry {
  id: number;
  title: string;
  /** The area of an operation, or the title of the guide. */
  place: string;
  /** Below `/docs/`. */
  path: string;
  text: string;
}

const options = {
  fields: ['title', 'place', 'text'],
  storeFields: ['title', 'place', 'path'],
};

/** JSON: `options` and `index`, for `MiniSearch.loadJS(index, options)`. */
export function renderSearchIndex(): string {
  const search = new MiniSearch<Entry>(options);
  const entries = [...listOperations(), ...listGuideFiles().flatMap(listSections)];
  search.addAll(entries.map((entry, id) => ({ id, ...entry })));
  return JSON.stringify({ options, index: search });
}

function listOperations(): Omit<Entry, 'id'>[] {
  return [...areas.values()].flat().map((operation) => ({
    title: getTitle(operation),
    place: `Reference: ${operation.tag}`,
    path: getOperationPath(operation),
    text: `${getAnchor(operation)} ${toText(renderOperation(operation, undefined).text)}`,
  }));
}

function toText(markup: string): string {
  return markup.replaceAll(/<[^<>]*>/g, ' ').replaceAll(/&[a-z#\d]+;/g, ' ');
}

function listSections(file: string): Omit<Entry, 'id'>[] {
  const text = readGuide(file);
  const title = readTitle(text);
  const path = toPagePath(file);
  const sections: Omit<Entry, 'id'>[] = [{ title, place: '', path, text: '' }];
  for (const token of marked.lexer(text)) {
    const isTitle = token.type === 'heading' && (token.depth === 2 || token.depth === 3);
    if (isTitle)
      sections.push({
        title: token.text.replaceAll('`', ''),
        place: `Guide: ${title}`,
        path: `${path}#${toAnchor(token.text)}`,
        text: '',
      });
    const last = sections.at(-1);
    if (last !== undefined) last.text += token.raw;
  }
  return sections;
}
