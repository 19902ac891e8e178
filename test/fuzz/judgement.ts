/** Compares a response with the document. Each difference is one sentence. */

import { findStructureFault } from '../../packages/server/src/kernel/http/json-body.ts';
import type { JsonSchema } from '../../packages/server/src/kernel/http/json-schema.ts';
import { tidyMembers } from '../../packages/server/src/kernel/http/members.ts';
import { answerShape, requestShape } from '../../packages/server/testing/shape.ts';
import { type Described, operationAt, problemSchema, type Response, scimErrorSchema } from './document.ts';
import type { Draft } from './draft.ts';
import type { Received, Wire } from './sending.ts';

export interface Judged {
  draft: Draft;
  wire: Wire;
  answer: Received;
  /** The tables that the request changed. */
  changed: readonly string[];
  secrets: ReadonlyMap<string, string>;
}

/** Internals that a response must not show. */
const insides =
  /\n\s+at |node:internal|node_modules|\.ts:\d|violates .{0,30}constraint|syntax error at|SQLSTATE|ECONNREFUSED/;
/** Statuses for a path or method that the document does not have. */
const elsewhere = [400, 404, 405, 431];

export function faultsOf(judged: Judged): string[] {
  const { wire, answer, secrets } = judged;
  const operation = operationAt(wire.method, wire.url);
  const faults: string[] = [];
  if (answer.status >= 500) faults.push(`it is ${answer.status}`);
  const documented = operation?.responses[String(answer.status)];
  if (operation !== undefined && documented === undefined)
    faults.push(`${operation.id} does not document ${answer.status}`);
  if (operation === undefined && answer.status >= 400 && !elsewhere.includes(answer.status))
    faults.push(`${answer.status} where nothing is documented`);
  if (answer.headers['x-request-id'] === undefined) faults.push('it has no x-request-id');
  if (answer.status >= 400) faults.push(...faultsOfRefusal(judged, operation));
  else if (operation !== undefined && documented !== undefined)
    faults.push(...faultsOfSuccess(judged, documented));
  faults.push(...faultsOfVerdict(judged, operation));
  const shown = answer.text + JSON.stringify(answer.headers);
  for (const [name, secret] of secrets) if (shown.includes(secret)) faults.push(`it shows ${name}`);
  return faults;
}

function faultsOfSuccess({ wire, answer: { text, headers } }: Judged, documented: Response): string[] {
  const faults = Object.keys(documented.headers ?? {})
    .filter((name) => headers[name.toLowerCase()] === undefined)
    .map((name) => `the documented header ${name} is missing`);
  const [content] = Object.entries(documented.content ?? {});
  if (content === undefined) return text === '' ? faults : [...faults, 'it has a body, and documents none'];
  const [mediaType, { schema }] = content;
  if (headers['content-type']?.split(';')[0] !== mediaType)
    faults.push(`its type is ${headers['content-type']}`);
  return wire.method === 'HEAD' || mediaType !== 'application/json'
    ? faults
    : [...faults, ...misshapen(text, schema)];
}

function misshapen(text: string, schema: object): string[] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return ['its body is no JSON'];
  }
  const check = answerShape(schema);
  return check(body) ? [] : [`its body breaks the schema: ${JSON.stringify(check.errors?.slice(0, 3))}`];
}

function faultsOfRefusal({ wire, answer, changed }: Judged, operation: Described | undefined): string[] {
  const { status, headers, text } = answer;
  const faults = changed.length === 0 ? [] : [`it is refused, and changed ${changed.join(', ')}`];
  const type = headers['content-type']?.split(';')[0];
  const isScim =
    type === 'application/scim+json' && wire.url.startsWith('/dpc/v1/directory-integration/scim/');
  if (!isScim && type !== 'application/problem+json') faults.push(`its type is ${type}`);
  if (status === 401 && !headers['www-authenticate']?.startsWith('Bearer '))
    faults.push('it lacks WWW-Authenticate');
  if (status === 405 && headers.allow === undefined) faults.push('it lacks Allow');
  if (wire.method === 'HEAD') return faults;
  faults.push(...misshapen(text, isScim ? scimErrorSchema : problemSchema));
  if (faults.length > 0) return faults;
  if (isScim) {
    const error = JSON.parse(text) as { status: string; detail: string };
    if (error.status !== String(status)) faults.push(`its member status is ${error.status}`);
    if (error.detail === '') faults.push('it says nothing');
    if (insides.test(error.detail)) faults.push('it shows internals of the server');
    return faults;
  }
  const problem = JSON.parse(text) as Record<
    'type' | 'title' | 'detail' | 'instance' | 'code' | 'traceId',
    string
  > & { status: number; violations?: string[] };
  if (problem.status !== status) faults.push(`its member status is ${problem.status}`);
  // The server knows nothing about a request with too large headers.
  if (status !== 431 && problem.instance !== wire.url.split('?', 1)[0]?.slice(0, 8_192))
    faults.push(`its instance is ${problem.instance}`);
  if (problem.traceId !== headers['x-request-id']) faults.push('its traceId is not its x-request-id');
  if (problem.title === '' || problem.detail === '') faults.push('it says nothing');
  if (problem.code === 'invalid-request' && (problem.violations ?? []).length === 0)
    faults.push('it names no violation');
  const listed = operation?.problems.includes(problem.code) ?? true;
  // Ignores an empty last segment.
  if (!listed && !(problem.code === 'path-not-found' && wire.url.split('?', 1)[0]?.endsWith('/')))
    faults.push(`the code ${problem.code} is not documented`);
  if (insides.test(problem.detail)) faults.push('it shows internals of the server');
  return faults;
}

/**
 * Rules that a schema cannot say: opaque cursors, one of several parameters, an order of times, addresses of
 * repositories.
 */
const stricterThanSchema: ReadonlySet<string> = new Set([
  'listEvents',
  'listLineageEvents',
  'getLineageGraph',
  'streamEvents',
  'streamAiTaskMessages',
  'createRepository',
  'startRepositoryMigration',
]);

/** The schema accepts valid requests, and refuses invalid ones. */
function faultsOfVerdict({ draft, wire, answer }: Judged, operation: Described | undefined): string[] {
  const isValid = draft.mutations.length === 0 && !stricterThanSchema.has(draft.operationId);
  if (isValid && answer.text.includes('"code":"invalid-request"'))
    return ['a request that fits the document is refused by its schema'];
  const { body } = operation ?? {};
  if (body === undefined || operation?.mediaType !== 'application/json' || answer.status >= 400) return [];
  const sent = wire.body ?? '';
  if (sent === '' && operation?.bodyIsRequired === false) return [];
  const fault = findStructureFault(sent);
  if (fault !== undefined) return [`a body is taken although ${fault}`];
  try {
    // RFC 8259 §8.1: a parser may ignore a byte order mark.
    const input: unknown = JSON.parse(sent.replace(/^\ufeff/, ''));
    // In a POST, null for an optional member means that it is absent.
    tidyMembers(body as JsonSchema, input, wire.method === 'POST');
    const check = requestShape(body);
    return check(input)
      ? []
      : [`a body that breaks the schema is taken: ${JSON.stringify(check.errors?.slice(0, 3))}`];
  } catch {
    return ['a body that is no JSON is taken'];
  }
}
