/** The example of an operation: a command to paste, and its response. */
import { type Operation, type PublishedExample, successTitles } from '@headgate/contract';
import { html, type Markup } from '../../kernel/http/html.ts';

export function renderExample(operation: Operation, example: PublishedExample): Markup {
  const { answer } = example;
  return html`<div class="example">
<figure><figcaption>Request</figcaption><pre tabindex="0"><code>${renderCurl(operation, example.request)}</code></pre></figure>
<figure><figcaption>Response <span class="status">${answer.status} ${successTitles[operation.success.status]}</span></figcaption>${renderAnswer(answer)}</figure>
</div>`;
}

function renderAnswer({ headers = {}, body }: PublishedExample['answer']): Markup {
  const lines = Object.entries(headers).map(
    ([name, value]) => html`<span class="key">${name}</span>: ${value}\n`,
  );
  if (body === undefined && lines.length === 0) return html`<p class="empty">No body.</p>`;
  const space = body === undefined || lines.length === 0 ? '' : '\n';
  return html`<pre tabindex="0"><code>${lines}${space}${body === undefined ? undefined : renderJson(body)}</code></pre>`;
}

/** Uses `BASE` and `TOKEN` as set in the chapter Start. */
function renderCurl(operation: Operation, request: PublishedExample['request']): string {
  const method = operation.method;
  const sends = request.body !== undefined || request.parts !== undefined;
  const options = [
    ...(method === 'GET' || (method === 'POST' && sends) ? [] : [`-X ${method}`]),
    `-H "Authorization: Bearer $TOKEN"`,
    ...Object.entries(request.headers ?? {}).map(
      ([name, value]) => `-H ${quoteForShell(`${name}: ${value}`)}`,
    ),
    ...(request.body === undefined
      ? []
      : [
          `-H 'Content-Type: application/json'`,
          `-d ${quoteForShell(JSON.stringify(request.body, null, 2))}`,
        ]),
    ...Object.keys(request.parts ?? {}).map((name) => `-F ${quoteForShell(`${name}=@${name}`)}`),
  ];
  return [`curl "$BASE/dpc${renderUrl(operation, request)}"`, ...options].join(' \\\n  ');
}

/** The path with its parameter values and the query. */
function renderUrl({ path }: Operation, { params = {}, query = {} }: PublishedExample['request']): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const search = new URLSearchParams(query).toString();
  // A colon is allowed in a query and reads better.
  return `${filled}${search === '' ? '' : `?${search.replaceAll('%3A', ':')}`}`;
}

/** Quotes a text for a shell. */
function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

const token = /("(?:[^"\\]|\\[\s\S])*"?)(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null/g;

/** JSON with a class for each kind of token. */
function renderJson(body: unknown): Markup {
  const text = JSON.stringify(body, null, 2);
  const parts: Markup[] = [];
  let end = 0;
  for (const match of text.matchAll(token)) {
    const [whole, string, colon] = match;
    parts.push(html`${text.slice(end, match.index)}`);
    if (colon !== undefined) parts.push(html`<span class="key">${string}</span>${colon}`);
    else parts.push(html`<span class="${string === undefined ? 'literal' : 'string'}">${whole}</span>`);
    end = match.index + whole.length;
  }
  return html`${parts}${text.slice(end)}`;
}
