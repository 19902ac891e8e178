/** What all pages at `/docs` have around their content: the head, the search, and the contents. */
import { type Operation, operations } from '@headgate/contract';
import { html, type Markup } from '../../kernel/http/html.ts';
import { guideGroups, readGuideTitles } from './guide-files.ts';
import { getAnchor, getTitle } from './operation-view.ts';

export interface Page {
  /** Below `/docs/`; empty for `/docs` itself. */
  path: string;
  title: string;
  content: Markup;
  /** Of this page, shown below its entry in the contents. */
  sections?: readonly Section[];
}

export interface Section {
  anchor: string;
  title: Markup | string;
}

const icon = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#0b6e8f"/><path d="M4 3v10M12 3v10M4 8h8" stroke="#fff" stroke-width="2"/></svg>')}`;

/** The operations that the reference shows, by area. */
export const areas: ReadonlyMap<Operation['tag'], readonly Operation[]> = Map.groupBy(
  operations.filter(({ surface }) => surface === 'dpc'),
  ({ tag }) => tag,
);

export const getAreaPath = (tag: string) => `reference/${tag.toLowerCase().replaceAll(' ', '-')}`;

export const getOperationPath = (operation: Operation) =>
  `${getAreaPath(operation.tag)}#${getAnchor(operation)}`;

export const renderMethod = ({ method }: Operation): Markup =>
  html`<span class="method ${method.toLowerCase()}">${method}</span>`;

export const renderOperationTitle = (operation: Operation): Markup =>
  html`${renderMethod(operation)} <span>${getTitle(operation)}</span>`;

/** How a page refers to `/docs/`. Relative, so that a proxy may serve the pages below a path. */
export function getRoot(path: string): string {
  return path === '' ? 'docs/' : '../'.repeat(path.split('/').length - 1) || './';
}

/** The address of `/docs` itself. */
const getHome = (path: string): string => (path === '' ? 'docs' : `${getRoot(path)}../docs`);

export function renderFrame(version: string, page: Page): string {
  const root = getRoot(page.path);
  return html`<!doctype html>
<html lang="en" data-root="${root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${root}reference.css">
<script src="${root}reference.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="${getHome(page.path)}">Headgate <span>${version}</span></a>
<button type="button" id="contents-button" aria-controls="contents" aria-expanded="false" hidden>Contents</button>
<div class="search"><label><span class="hidden">Search the guides and the reference</span><input id="search" type="search" placeholder="Search" autocomplete="off" spellcheck="false" aria-keyshortcuts="/" aria-describedby="found" aria-controls="results" disabled></label><kbd aria-hidden="true">/</kbd>
<div id="results" hidden><p id="found" role="status"></p><ul></ul></div></div>
<button type="button" id="scheme" hidden>Dark</button>
</header>
<nav id="contents" aria-label="Contents">
${renderContents(page, root)}
</nav>
<main id="content" tabindex="-1">
${page.content}
</main>
</body>
</html>
`.text;
}

function renderContents(page: Page, root: string): Markup[] {
  const titles = readGuideTitles();
  const start = { path: '', title: 'Start' };
  const guides = guideGroups.map(({ title, files }) => ({
    title,
    entries: files.map((path) => ({ path, title: titles.get(path) ?? path })),
  }));
  const reference = [...areas.keys()].map((tag) => ({ path: getAreaPath(tag), title: tag }));
  const groups = [
    { title: 'Headgate', entries: [start] },
    ...guides,
    { title: 'Reference', entries: reference },
  ];
  return groups.map(({ title, entries }) => {
    const items = entries.map((entry) => renderEntry(entry, page, root));
    return html`<div class="area"><h2>${title}</h2><ul>${items}</ul></div>
`;
  });
}

function renderEntry({ path, title }: { path: string; title: string }, page: Page, root: string): Markup {
  if (path !== page.path)
    return html`<li><a href="${path === '' ? getHome(page.path) : `${root}${path}`}">${title}</a></li>`;
  const items = (page.sections ?? []).map(
    (section) => html`<li><a href="#${section.anchor}">${section.title}</a></li>`,
  );
  return html`<li><a href="#content" aria-current="page">${title}</a>${items.length === 0 ? undefined : html`<ul>${items}</ul>`}</li>`;
}
