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
import { exampleView } from './example-view.ts';
import { html, type Markup, path, prose } from './html.ts';
import { memberView, type Schema, shapeView, typeOf } from './schema-view.ts';

/** `createVariable` → `create-variable`: where a link to it leads. */
export function anchorOf({ id }: Operation): string {
  return id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The summary without the number that the interface's own document gives to the operation. */
export function titleOf({ summary }: Operation): string {
  return summary.replace(/ \(E\d+\)$/, '');
}

export function operationView(operation: Operation, example: PublishedExample | undefined): Markup {
  const anchor = anchorOf(operation);
  return html`<section class="operation" id="${anchor}" aria-labelledby="${anchor}.title">
<div class="text">
<h3 id="${anchor}.title"><a href="#${anchor}">${titleOf(operation)}</a></h3>
<p class="request"><span class="method ${operation.method.toLowerCase()}">${operation.method}</span> <code>${path(`/dpc${operation.path}`)}</code> <code class="id" title="operationId">${operation.id}</code></p>
${operation.description === undefined ? undefined : html`<p>${prose(operation.description)}</p>`}
${permissionView(operation)}
${parametersView(operation)}
${bodyView(operation)}
${answerView(operation)}
${problemsView(operation)}
${eventsView(operation)}
</div>
${example === undefined ? undefined : exampleView(operation, example)}
</section>
`;
}

function permissionView({ permission }: Operation): Markup | undefined {
  if (permission === undefined) return undefined;
  return html`<h4>Permission</h4>
<p class="permission"><a href="#permissions"><code>${permission}</code></a>: ${rolesOf(permissions[permission])}</p>`;
}

/** `SUPER_ADMIN of the account; or OWNER of the project`. */
function rolesOf(grant: Grant): Markup[] {
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

function parametersView({ method, params, query, headers }: Operation): Markup[] {
  const own = Object.entries((headers as Schema | undefined)?.properties ?? {});
  const key: [string, Schema][] = method === 'POST' ? [['Idempotency-Key', idempotencyKey]] : [];
  const inHeaders: Schema = {
    required: headers?.required ?? [],
    properties: Object.fromEntries([...own, ...key]),
  };
  return [list('Path', params as Schema), list('Query', query as Schema), list('Headers', inHeaders)].flat();
}

function list(title: string, schema: Schema | undefined): Markup[] {
  const members = Object.entries(schema?.properties ?? {});
  if (members.length === 0) return [];
  const required = new Set(schema?.required ?? []);
  const items = members.map(([name, member]) =>
    memberView(name, member, { required: required.has(name) && member.default === undefined }),
  );
  return [
    html`<h4>${title}</h4>
<ul class="members">${items}</ul>`,
  ];
}

function bodyView({ body, mediaType }: Operation): Markup | undefined {
  if (mediaType === 'multipart/form-data') {
    return html`<h4>Body <span class="media">multipart/form-data</span></h4>
<p>One part for each file; the name of the part is the path of the file.</p>`;
  }
  if (body === undefined) return undefined;
  return html`<h4>Body <span class="media">application/json, ${typeOf(body as Schema)}</span></h4>
${shapeView(body as Schema)}`;
}

function answerView({ success }: Operation): Markup {
  const { status, body, headers = [], mediaType } = success;
  const names = headers.map((name, index) => html`${index === 0 ? '' : ', '}<code>${name}</code>`);
  return html`<h4>Response <span class="status">${status} ${successTitles[status]}</span></h4>
${headers.length === 0 ? undefined : html`<p>Has the ${headers.length === 1 ? 'header' : 'headers'} ${names}.</p>`}
${body === undefined ? html`<p>${mediaType === undefined ? 'No body.' : `The body is ${mediaType}.`}</p>` : (shapeView(body as Schema) ?? html`<p>${typeOf(body as Schema)}</p>`)}`;
}

function problemsView(operation: Operation): Markup {
  const common: readonly string[] = commonProblems;
  const codes = problemsOf(operation).toSorted((one, other) => problems[one].status - problems[other].status);
  const own = codes.filter((code) => !common.includes(code));
  return html`<h4>Problems</h4>
${problemTable(own)}
<p class="common">And <a href="#problems">those that every operation can answer</a>.</p>`;
}

export function problemTable(codes: readonly ProblemCode[], anchored = false): Markup {
  const rows = codes.map((code) => {
    const { status } = problems[code];
    const target = anchored ? html` id="problem-${code}"` : undefined;
    return html`<tr${target}><td><span title="${statusTitles[status]}">${status}</span></td><td><code>${code}</code></td><td>${prose(problemMeanings[code])}</td></tr>`;
  });
  return html`<table class="problems"><thead><tr><th scope="col">Status</th><th scope="col"><code>code</code></th><th scope="col">When</th></tr></thead><tbody>${rows}</tbody></table>`;
}

function eventsView({ events }: Operation): Markup | undefined {
  if (events.length === 0) return undefined;
  const names = events.map((name, index) => html`${index === 0 ? '' : ', '}<code>${name}</code>`);
  return html`<h4>Events</h4>
<p>${names}</p>`;
}
