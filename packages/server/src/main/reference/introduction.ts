/** What comes before the operations: how to get a token, and what all operations have in common. */
import { commonProblems, type Grant, permissions } from '@headgate/contract';
import { html, type Markup } from './html.ts';
import { problemTable } from './operation-view.ts';

export interface Chapter {
  anchor: string;
  title: string;
  content: Markup;
}

export function introduction(publicUrl: string): Chapter[] {
  return [
    { anchor: 'start', title: 'Start', content: start(publicUrl) },
    { anchor: 'conventions', title: 'Conventions', content: conventions },
    { anchor: 'permissions', title: 'Permissions', content: permissionTable() },
    { anchor: 'problems', title: 'Problems', content: problemChapter() },
  ];
}

function start(publicUrl: string): Markup {
  return html`<p>All operations are below <code>${publicUrl}/dpc/v1</code> and take a bearer token. A credential gets one, good for 30
minutes; after that ask for another.</p>
<figure><figcaption>A token, for the examples below</figcaption><pre tabindex="0"><code>API=${publicUrl}/dpc
TOKEN=$(curl -s ${publicUrl}/oauth/dpc/token \\
  -d grant_type=client_credentials \\
  -d client_id="$CLIENT_ID" \\
  -d client_secret="$CLIENT_SECRET" | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')</code></pre></figure>
<p>The examples beside each operation are what a server answered: a test sends every one of them and compares. Programs read
<a href="openapi.json">openapi.json</a> (OpenAPI 3.1), which has the same operations.</p>`;
}

const conventions = html`<dl>
<dt>Pages</dt><dd><code>page</code> counts from 0, <code>size</code> is 25 unless given, and more than 100 is read as 100. The answer is
<code>{page, results, size, total}</code>. Where an answer has <code>more</code>, send its value as <code>paginationToken</code>; it is
absent at the end.</dd>
<dt>Times</dt><dd>ISO 8601 in UTC with milliseconds, as <code>2026-11-21T09:30:00.000Z</code>.</dd>
<dt>Members</dt><dd>One without a value is absent. Unknown members of a request are ignored.</dd>
<dt>Once only</dt><dd>A POST with an <code>Idempotency-Key</code> is carried out once; the same request gets the same answer for 24 hours, with
the header <code>idempotency-replayed: true</code>.</dd>
<dt>Changes of others</dt><dd>A single resource has an <code>ETag</code>. Send it back as <code>If-Match</code>, and nobody else’s change is
lost: 412 says that there was one. Without it the last write wins.</dd>
<dt>Rate limit</dt><dd><code>RateLimit</code> and <code>RateLimit-Policy</code> say what is left; beyond it 429 with
<code>Retry-After</code>.</dd>
<dt>Request id</dt><dd>Every answer has <code>x-request-id</code>; a problem names it as <code>traceId</code>, and the log of the server
has it.</dd>
</dl>`;

function permissionTable(): Markup {
  const cell = (roles: readonly string[]) => html`<td>${roles.length === 0 ? '–' : roles.join(', ')}</td>`;
  const rows = Object.entries(permissions).map(
    ([name, grant]: [string, Grant]) =>
      html`<tr><td><code>${name}</code><br>${grant.may}</td>${cell(grant.account)}${cell(grant.project)}${cell(grant.environment)}</tr>`,
  );
  return html`<p>An operation names one permission. Any one of the roles in its row is enough. A role in an environment counts in that
environment only. A caller without any role in a project is answered 404, as if it did not exist.</p>
<div class="wide" tabindex="0"><table><thead><tr><th scope="col">Permission</th><th scope="col">Role in the account</th><th scope="col">or in the project</th><th scope="col">or in the environment</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function problemChapter(): Markup {
  return html`<p>Whatever is refused is answered as <code>application/problem+json</code> (RFC 9457). <code>code</code> is the narrow reason,
<code>detail</code> says it in words, <code>violations</code> has a sentence for each fault of a request. 400 breaks the schema, 422 breaks a
rule; 409 is there already or has moved on. Each operation lists what it adds to these:</p>
${problemTable(commonProblems)}
<figure><figcaption>A problem <span class="status">400 Bad Request</span></figcaption><pre tabindex="0"><code>{
  "type": "…/problems/bad-request",
  "title": "Bad Request",
  "status": 400,
  "detail": "The request breaks its schema; \`violations\` lists every fault.",
  "instance": "/dpc/v1/projects/…/variables",
  "code": "invalid-request",
  "traceId": "01a1fda7-f79c-7000-808e-e064f4716f92",
  "violations": ["body.name: must be string"]
}</code></pre></figure>`;
}
