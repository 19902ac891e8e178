/** The chapters before the operations: how to get a token, and what all operations have in common. */
import { commonProblems, type Grant, permissions } from '@headgate/contract';
import { html, type Markup } from '../../kernel/http/html.ts';
import { renderProblemTable } from './operation-view.ts';

export interface Chapter {
  anchor: string;
  title: string;
  content: Markup;
}

export function renderIntroduction(publicUrl: string): Chapter[] {
  return [
    { anchor: 'start', title: 'Start', content: renderStart(publicUrl) },
    { anchor: 'conventions', title: 'Conventions', content: conventions },
    { anchor: 'permissions', title: 'Permissions', content: renderPermissionTable() },
    { anchor: 'problems', title: 'Problems', content: renderProblemChapter() },
  ];
}

function renderStart(publicUrl: string): Markup {
  return html`<p>All operations are below <code>${publicUrl}/dpc/v1</code> and take a bearer token. Get one with a credential; it is
valid for 30 minutes.</p>
<figure><figcaption>A token, for the examples below</figcaption><pre tabindex="0"><code>BASE=${publicUrl}
TOKEN=$(curl -s $BASE/oauth/dpc/token \\
  -d grant_type=client_credentials \\
  -d client_id="$CLIENT_ID" \\
  -d client_secret="$CLIENT_SECRET" | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')</code></pre></figure>
<p>The example beside each operation was recorded from a server, and tests check that it is still correct.
<a href="openapi.json">openapi.json</a> (OpenAPI 3.1) has the same operations for programs.</p>`;
}

const conventions = html`<dl>
<dt>Pages</dt><dd><code>page</code> counts from 0; <code>size</code> is 25 by default and 100 at most. The response is
<code>{page, results, size, total}</code>. If a response has <code>more</code>, send its value as <code>paginationToken</code>; it is
absent on the last page.</dd>
<dt>Times</dt><dd>ISO 8601 in UTC with milliseconds, as <code>2026-11-21T09:30:00.000Z</code>.</dd>
<dt>Members</dt><dd>A member without a value is absent. Unknown members of a request are ignored. The header <code>Headgate-Warning</code>
names those that look like a typo.</dd>
<dt>Idempotency</dt><dd>A POST with an <code>Idempotency-Key</code> is carried out once; repeating it within 24 hours returns the same response with
the header <code>idempotency-replayed: true</code>.</dd>
<dt>Concurrent changes</dt><dd>A single resource has an <code>ETag</code>. Send it back in <code>If-Match</code>: if the resource has changed in the
meantime, the status is 412. Without <code>If-Match</code> the last write wins.</dd>
<dt>Rate limit</dt><dd><code>RateLimit</code> and <code>RateLimit-Policy</code> say how many requests are left. Above the limit the status is
429, with <code>Retry-After</code>.</dd>
<dt>Request id</dt><dd>Every response has the header <code>x-request-id</code>. A problem repeats it as <code>traceId</code>, and the
server logs it as <code>requestId</code>.</dd>
</dl>`;

function renderPermissionTable(): Markup {
  const cell = (roles: readonly string[]) => html`<td>${roles.length === 0 ? '–' : roles.join(', ')}</td>`;
  const rows = Object.entries(permissions).map(
    ([name, grant]: [string, Grant]) =>
      html`<tr><td><code>${name}</code><br>${grant.may}</td>${cell(grant.account)}${cell(grant.project)}${cell(grant.environment)}</tr>`,
  );
  return html`<p>Each operation needs one permission. Any role in its row is enough. A role in an environment counts in that
environment only. A caller without a role in a project gets 404, as if the project did not exist.</p>
<div class="wide" tabindex="0"><table><thead><tr><th scope="col">Permission</th><th scope="col">Role in the account</th><th scope="col">or in the project</th><th scope="col">or in the environment</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function renderProblemChapter(): Markup {
  return html`<p>Every error response is <code>application/problem+json</code> (RFC 9457). <code>code</code> is the exact reason and
<code>detail</code> explains it; <code>violations</code> has one sentence for each of the first 100 faults of a request. 400: the request is
invalid. 422: it breaks a rule. 409: the resource already exists, or its state has changed. Every operation can answer these problems; each operation lists its
own:</p>
${renderProblemTable(commonProblems)}
<figure><figcaption>A problem <span class="status">400 Bad Request</span></figcaption><pre tabindex="0"><code>{
  "type": "…/problems/bad-request",
  "title": "Bad Request",
  "status": 400,
  "detail": "The request is invalid; see \`violations\`.",
  "instance": "/dpc/v1/projects/…/variables",
  "code": "invalid-request",
  "traceId": "01a1fda7-f79c-7000-808e-e064f4716f92",
  "violations": ["body.name: must be a string, not a number"]
}</code></pre></figure>`;
}
