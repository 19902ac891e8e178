/** One operation: what it does, its permission, request, response, problems and example. */
import {
  commonProblems,
  type Grant,
  type Operation,
  type ProblemCode,
  type PublishedExample,
  permissions,
  problemMeanings,
  problems,
  problemsOf,
  statusTitles,
  successTitles,
} from '@headgate/contract';
import { html, type Markup, renderPath, renderProse } from '../../kernel/http/html.ts';
import { renderExample } from './example-view.ts';
import { describeType, renderMember, renderShape, type Schema } from './schema-view.ts';

/** `createVariable` → `create-variable`: the anchor of the operation. */
export function getAnchor({ id }: Operation): string {
  return id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The summary without the operation's number. */
export function getTitle({ summary }: Operation): string {
  return summary.replace(/ \(E\d+\)$/, '');
}

export function renderOperation(operation: Operation, example: PublishedExample | undefined): Markup {
  const anchor = getAnchor(operation);
  return html`<section class="operation" id="${anchor}" aria-labelledby="${anchor}.title">
<div class="text">
<h3 id="${anchor}.title"><a href="#${anchor}">${getTitle(operation)}</a></h3>
<p class="request"><span class="method ${operation.method.toLowerCase()}">${operation.method}</span> <code>${renderPath(`/dpc${operation.path}`)}</code> <code class="id" title="operationId">${operation.id}</code></p>
${operation.description === undefined ? undefined : html`<p>${renderProse(operation.description)}</p>`}
${renderPermission(operation)}
${renderParameters(operation)}
${renderBody(operation)}
${renderResponse(operation)}
${renderProblems(operation)}
${renderEvents(operation)}
</div>
${example === undefined ? undefined : renderExample(operation, example)}
</section>
`;
}

function renderPermission({ permission }: Operation): Markup | undefined {
  if (permission === undefined) return undefined;
  return html`<h4>Permission</h4>
<p class="permission"><a href="../../docs#permissions"><code>${permission}</code></a>: ${renderRoles(permissions[permission])}</p>`;
}

/** `SUPER_ADMIN of the account; or OWNER of the project`. */
function renderRoles(grant: Grant): Markup[] {
  const places = ['account', 'project', 'environment'] as const;
  return places
    .filter((place) => grant[place].length > 0)
    .map((place, index) => {
      const roles = grant[place].map((role, at) => html`${at === 0 ? '' : ', '}<code>${role}</code>`);
      return html`${index === 0 ? '' : '; or '}${roles} of the ${place}`;
    });
}

const idempotencyKey: Schema = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  description:
    'The server carries out the request once. If it gets the same request with the same key again within 24 hours, it returns the same response',
};

function renderParameters({ method, params, query, headers }: Operation): Markup[] {
  const own = Object.entries((headers as Schema | undefined)?.properties ?? {});
  const key: [string, Schema][] = method === 'POST' ? [['Idempotency-Key', idempotencyKey]] : [];
  const inHeaders: Schema = {
    required: headers?.required ?? [],
    properties: Object.fromEntries([...own, ...key]),
  };
  return [
    renderList('Path', params as Schema),
    renderList('Query', query as Schema),
    renderList('Headers', inHeaders),
  ].flat();
}

function renderList(title: string, schema: Schema | undefined): Markup[] {
  const members = Object.entries(schema?.properties ?? {});
  if (members.length === 0) return [];
  const required = new Set(schema?.required ?? []);
  const items = members.map(([name, member]) =>
    renderMember(name, member, { required: required.has(name) && member.default === undefined }),
  );
  return [
    html`<h4>${title}</h4>
<ul class="members">${items}</ul>`,
  ];
}

function renderBody({ body, mediaType }: Operation): Markup | undefined {
  if (mediaType === 'multipart/form-data') {
    return html`<h4>Body <span class="media">multipart/form-data</span></h4>
<p>One part for each file; the name of the part is the path of the file.</p>`;
  }
  if (body === undefined) return undefined;
  return html`<h4>Body <span class="media">application/json, ${describeType(body as Schema)}</span></h4>
${renderShape(body as Schema)}`;
}

function renderResponse({ success }: Operation): Markup {
  const { status, body, headers = [], mediaType } = success;
  const names = headers.map((name, index) => html`${index === 0 ? '' : ', '}<code>${name}</code>`);
  return html`<h4>Response <span class="status">${status} ${successTitles[status]}</span></h4>
${headers.length === 0 ? undefined : html`<p>Has the ${headers.length === 1 ? 'header' : 'headers'} ${names}.</p>`}
${body === undefined ? html`<p>${mediaType === undefined ? 'No body.' : `The body is ${mediaType}.`}</p>` : (renderShape(body as Schema) ?? html`<p>${describeType(body as Schema)}</p>`)}`;
}

function renderProblems(operation: Operation): Markup {
  const common: readonly string[] = commonProblems;
  const codes = problemsOf(operation).toSorted((one, other) => problems[one].status - problems[other].status);
  const own = codes.filter((code) => !common.includes(code));
  return html`<h4>Problems</h4>
${renderProblemTable(own)}
<p class="common">And <a href="../../docs#problems">those that every operation can answer</a>.</p>`;
}

export function renderProblemTable(codes: readonly ProblemCode[], anchored = false): Markup {
  const rows = codes.map((code) => {
    const { status } = problems[code];
    const target = anchored ? html` id="problem-${code}"` : undefined;
    return html`<tr${target}><td><span title="${statusTitles[status]}">${status}</span></td><td><code>${code}</code></td><td>${renderProse(problemMeanings[code])}</td></tr>`;
  });
  return html`<table class="problems"><thead><tr><th scope="col">Status</th><th scope="col"><code>code</code></th><th scope="col">When</th></tr></thead><tbody>${rows}</tbody></table>`;
}

function renderEvents({ events }: Operation): Markup | undefined {
  if (events.length === 0) return undefined;
  const names = events.map((name, index) => html`${index === 0 ? '' : ', '}<code>${name}</code>`);
  return html`<h4>Events</h4>
<p>${names}</p>`;
}
