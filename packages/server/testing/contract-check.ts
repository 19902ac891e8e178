/**
 * Checks every response in tests against the contract: the status is documented, the body has the documented
 * members only, the headers are present, and the problem code is one of the operation's.
 */
import assert from 'node:assert/strict';
import {
  type Operation,
  operations,
  ProblemDetail,
  type ProblemStatus,
  problems,
  problemsOf,
  problemTypeName,
  ScimDryRun,
  ScimError,
  statusTitles,
} from '@headgate/contract';
import { renderRoutePath } from '../src/kernel/endpoint/endpoint.ts';
import { answerShape } from './shape.ts';

export interface Received {
  method: string;
  /** Path with query. */
  url: string;
  status: number;
  headers: Readonly<Record<string, string | undefined>>;
  text: string;
}

const routes = operations.map((operation) => ({
  operation,
  form: new RegExp(`^${renderRoutePath(operation).replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`),
}));

/** Finds the operation of a request; HEAD uses the GET of the same path. */
export function findOperation(method: string, url: string): Operation | undefined {
  const path = url.split('?', 1)[0] ?? '';
  const request = method === 'HEAD' ? 'GET' : method;
  // A literal path precedes one with a parameter, as in the router.
  const found = routes.filter(({ operation, form }) => operation.method === request && form.test(path));
  return found.sort((one, other) => parameters(one.operation) - parameters(other.operation))[0]?.operation;
}

const parameters = ({ path }: Operation) => path.split('{').length;

export function requireContract(received: Received): void {
  const operation = findOperation(received.method, received.url);
  if (received.status >= 400) requireProblem(received, operation);
  else if (operation !== undefined) requireSuccess(received, operation);
}

function requireSuccess({ method, status, headers, text, url }: Received, operation: Operation): void {
  const { success } = operation;
  const what = `${method} ${url}`;
  if (success.conditional && status === 304) {
    assert.ok(headers.etag && text === '', `${what} is not modified: it has its ETag and no body`);
    return;
  }
  if (success.endsWith204 && status === 204) {
    assert.equal(text, '', `${what} has no body`);
    return;
  }
  if (operation.answerHoldsSecret)
    assert.equal(headers['cache-control'], 'no-store', `${what} holds a secret`);
  if (success.mediaType === 'application/scim+json') {
    requireScimSuccess({ method, status, headers, text, url }, operation);
    return;
  }
  if (success.dryRun !== undefined && isDryRun(url)) {
    assert.equal(status, 200, `${what}: ${text}`);
    const check = answerShape(success.dryRun);
    assert.ok(check(JSON.parse(text)), `${what}: ${JSON.stringify(check.errors)} in ${text.slice(0, 2_000)}`);
    return;
  }
  assert.equal(status, success.status, `${what} documents ${success.status}, answered ${status}: ${text}`);
  for (const name of success.headers ?? []) {
    assert.ok(headers[name.toLowerCase()], `${what} documents the header ${name}`);
  }
  if (success.body === undefined || method === 'HEAD') {
    if (success.mediaType === undefined) assert.equal(text, '', `${what} has no body`);
    else assert.equal(headers['content-type']?.split(';')[0], success.mediaType, what);
    return;
  }
  assert.match(headers['content-type'] ?? '', /^application\/json\b/, what);
  const check = answerShape(success.body);
  const body: unknown = JSON.parse(text);
  assert.ok(check(body), `${what}: ${JSON.stringify(check.errors)} in ${text.slice(0, 2_000)}`);
}

const isDryRun = (url: string) => /[?&]dryRun=true\b/.test(url);

/** A dry run has another body, and status 200. */
function requireScimSuccess({ method, url, status, headers, text }: Received, { success }: Operation): void {
  const what = `${method} ${url}`;
  const isDry = isDryRun(url);
  assert.equal(status, isDry ? 200 : success.status, `${what}: ${text}`);
  const schema = isDry ? ScimDryRun : success.body;
  if (schema === undefined || method === 'HEAD') {
    assert.equal(text, '', `${what} has no body`);
    return;
  }
  assert.match(headers['content-type'] ?? '', /^application\/(scim\+)?json\b/, what);
  for (const name of isDry ? [] : (success.headers ?? []))
    assert.ok(headers[name.toLowerCase()], `${what} documents the header ${name}`);
  const check = answerShape(schema);
  assert.ok(check(JSON.parse(text)), `${what}: ${JSON.stringify(check.errors)} in ${text.slice(0, 2_000)}`);
}

function requireScimError({ method, url, status, text }: Received): void {
  const check = answerShape(ScimError);
  const body = JSON.parse(text) as ScimError;
  assert.ok(check(body), `${method} ${url}: ${JSON.stringify(check.errors)} in ${text}`);
  assert.equal(body.status, String(status), text);
}

function requireProblem(
  { method, url, status, headers, text }: Received,
  operation: Operation | undefined,
): void {
  const path = url.split('?', 1)[0];
  if (path?.startsWith('/oauth/')) return;
  const what = `${method} ${url}`;
  if (/^application\/scim\+json\b/.test(headers['content-type'] ?? '') && method !== 'HEAD') {
    requireScimError({ method, url, status, headers, text });
    return;
  }
  assert.match(headers['content-type'] ?? '', /^application\/problem\+json\b/, `${what} ${status}: ${text}`);
  if (status === 401) assert.match(headers['www-authenticate'] ?? '', /^Bearer /, what);
  if (status === 429 || status === 503) assert.ok(headers['retry-after'], `${what} answers Retry-After`);
  if (method === 'HEAD') return;
  const check = answerShape(ProblemDetail);
  const body = JSON.parse(text) as ProblemDetail;
  assert.ok(check(body), `${what}: ${JSON.stringify(check.errors)} in ${text}`);
  const documented: Record<string, { status: number }> = problems;
  assert.equal(body.status, status, what);
  assert.equal(documented[body.code]?.status, status, `${what}: ${body.code}`);
  assert.equal(body.title, statusTitles[status as ProblemStatus], what);
  assert.ok(
    body.type.endsWith(`/problems/${problemTypeName(status as ProblemStatus)}`),
    `${what}: ${body.type}`,
  );
  assert.equal(body.instance, path, what);
  assert.equal(body.traceId, headers['x-request-id'], what);
  if (operation === undefined) return;
  const codes: readonly string[] = problemsOf(operation);
  assert.ok(codes.includes(body.code), `${operation.id} does not document ${body.code}: ${text}`);
}
