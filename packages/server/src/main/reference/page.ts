/** The page of the reference: its frame, the contents, and the operations by area. */
import { type Operation, operations, type PublishedExample, publishedExamples } from '@headgate/contract';
import { html, type Markup } from './html.ts';
import { type Chapter, renderIntroduction } from './introduction.ts';
import { getAnchor, getTitle, renderOperation } from './operation-view.ts';

interface About {
  version: string;
  publicUrl: string;
}

const icon = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#0b6e8f"/><path d="M4 3v10M12 3v10M4 8h8" stroke="#fff" stroke-width="2"/></svg>')}`;

export function renderReference(about: About): string {
  const chapters = renderIntroduction(about.publicUrl);
  const shown = operations.filter(({ surface }) => surface === 'dpc');
  const areas = [...Map.groupBy(shown, ({ tag }) => tag)];
  const examples = publishedExamples(about.publicUrl);
  // Relative URLs, so that a proxy may serve the page below a path.
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Headgate reference</title>
<meta name="description" content="Every operation of Headgate ${about.version}">
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="docs/reference.css">
<script src="docs/reference.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="#start">Headgate <span>reference ${about.version}</span></a>
<button type="button" id="contents-button" aria-controls="contents" aria-expanded="false" hidden>Contents</button>
<label class="search"><span class="hidden">Search</span><input id="search" type="search" placeholder="Search" autocomplete="off" spellcheck="false" aria-keyshortcuts="/" aria-describedby="found" disabled><kbd aria-hidden="true">/</kbd></label>
<button type="button" id="scheme" hidden>Dark</button>
</header>
<nav id="contents" aria-label="Contents">
<p id="found" role="status"></p>
${renderContents(chapters, areas)}
</nav>
<main id="content" tabindex="-1">
${chapters.map(renderChapter)}
${areas.map(([tag, list]) => renderArea(tag, list, examples))}
</main>
</body>
</html>
`.text;
}

function renderContents(
  chapters: readonly Chapter[],
  areas: readonly [string, readonly Operation[]][],
): Markup {
  const first = chapters.map(({ anchor, title }) => html`<li><a href="#${anchor}">${title}</a></li>`);
  const rest = areas.map(([tag, list]) => {
    const items = list.map(
      (operation) =>
        html`<li><a href="#${getAnchor(operation)}"><span class="method ${operation.method.toLowerCase()}">${operation.method}</span> ${getTitle(operation)}</a></li>`,
    );
    return html`<div class="area"><h2><a href="#${getAreaAnchor(tag)}">${tag}</a></h2><ul>${items}</ul></div>`;
  });
  return html`<div class="area"><ul>${first}</ul></div>${rest}`;
}

const getAreaAnchor = (tag: string) => `area-${tag.toLowerCase().replaceAll(' ', '-')}`;

function renderChapter({ anchor, title, content }: Chapter): Markup {
  return html`<section class="chapter" id="${anchor}"><h2><a href="#${anchor}">${title}</a></h2>${content}</section>
`;
}

function renderArea(
  tag: string,
  list: readonly Operation[],
  examples: Record<string, PublishedExample>,
): Markup {
  const views = list.map((operation) => renderOperation(operation, examples[operation.id]));
  return html`<div class="area"><h2 id="${getAreaAnchor(tag)}"><a href="#${getAreaAnchor(tag)}">${tag}</a></h2>
${views}</div>
`;
}
