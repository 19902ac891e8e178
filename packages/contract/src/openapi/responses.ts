/** Responses of the document. Those of problems, and those without a body, are the same for all operations. */

import type { TSchema } from 'typebox';
import { scimMediaType } from '../directory/directory.ts';
import type { PublishedExample } from '../example.ts';
import { commonProblems, type Operation, problemsOf, successTitles } from '../operation.ts';
import { type ProblemCode, type ProblemStatus, problems, statusTitles } from '../problem.ts';
import type { SchemaWriter } from './schemas.ts';

const headerDescriptions = {
  'x-request-id': 'The id of this request. A problem repeats it as `traceId`.',
  RateLimit:
    'The requests that the account has left, and the seconds until the limit is reset (draft-ietf-httpapi-ratelimit-headers-10).',
  'RateLimit-Policy': 'How many requests an account may send in how many seconds.',
  'Retry-After': 'The number of seconds after which the request can be sent again.',
  'WWW-Authenticate': 'Why the bearer token was not accepted (RFC 6750 §3).',
  'Accept-Encoding': 'The encodings in which a body can be sent.',
  ETag: 'The state of the resource. Send it back in `If-Match` to write only if the resource has not changed.',
};
type Header = keyof typeof headerDescriptions;

const commonHeaders: readonly Header[] = ['x-request-id', 'RateLimit', 'RateLimit-Policy'];
const headersByStatus: Partial<Record<ProblemStatus, readonly Header[]>> = {
  401: ['WWW-Authenticate'],
  415: ['Accept-Encoding'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

const refer = (kind: 'headers' | 'responses', name: string) => ({ $ref: `#/components/${kind}/${name}` });
const headersOf = (names: readonly Header[]) =>
  Object.fromEntries(names.map((name) => [name, refer('headers', name)]));

export const headerComponents = Object.fromEntries(
  Object.entries(headerDescriptions).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ]),
);

/** `Unprocessable Entity` → `UnprocessableEntity`. */
const componentOf = (status: ProblemStatus, withScim: boolean) =>
  (withScim ? 'Scim' : '') + statusTitles[status].replaceAll(' ', '');

/** Operations of SCIM answer errors of SCIM, or problems if `Accept` names them. */
const isScim = ({ success }: Operation) => success.mediaType === scimMediaType;

function problemResponse(status: ProblemStatus, withScim: boolean): object {
  const headers = headersByStatus[status];
  const scim = { [scimMediaType]: { schema: { $ref: '#/components/schemas/ScimError' } } };
  return {
    description: statusTitles[status],
    ...(headers === undefined ? {} : { headers: headersOf(headers) }),
    content: {
      ...(withScim ? scim : {}),
      'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemDetail' } },
    },
  };
}

export function responseComponents(operations: readonly Operation[]): Record<string, object> {
  const describe = (some: readonly Operation[], withScim: boolean) => {
    const statuses = new Set(some.flatMap(problemsOf).map((code) => problems[code].status));
    const sorted = [...statuses].toSorted((one, other) => one - other);
    return sorted.map((status) => [componentOf(status, withScim), problemResponse(status, withScim)]);
  };
  const scim = operations.filter(isScim);
  return {
    NoContent: { description: successTitles[204], headers: headersOf(commonHeaders) },
    NotModified: {
      description: 'Not Modified: `If-None-Match` has the ETag of the current state',
      headers: headersOf(['ETag', ...commonHeaders]),
    },
    ...Object.fromEntries(describe(operations, false)),
    ...Object.fromEntries(describe(scim, true)),
  };
}

/** The codes of an operation that are not those of every operation. */
export function ownProblems(operation: Operation): ProblemCode[] {
  const common: readonly ProblemCode[] = commonProblems;
  return problemsOf(operation).filter((code) => !common.includes(code));
}

export function responsesOf(
  operation: Operation,
  answer: PublishedExample['answer'] | undefined,
  schemas: SchemaWriter,
): Record<string, object> {
  const { status, conditional, dryRun, endsWith204 } = operation.success;
  return {
    ...(dryRun === undefined ? {} : { 200: describeDryRun(operation.id, dryRun, schemas) }),
    [status]: success(operation, answer, schemas),
    ...(endsWith204 === undefined ? {} : { 204: refer('responses', 'NoContent') }),
    ...(conditional === undefined ? {} : { 304: refer('responses', 'NotModified') }),
    ...problemResponses(operation),
  };
}

function success(
  { id, success: { status, body, headers = [], mediaType } }: Operation,
  answer: PublishedExample['answer'] | undefined,
  schemas: SchemaWriter,
): object {
  if (status === 204 && headers.length === 0) return refer('responses', 'NoContent');
  const example = answer?.body === undefined ? {} : { example: answer.body };
  const content =
    body === undefined
      ? mediaType && { [mediaType]: { schema: { type: 'string' } } }
      : {
          [mediaType ?? 'application/json']: {
            schema: schemas.writeAs(componentName(id, 'Result'), body),
            ...example,
          },
        };
  return {
    description: successTitles[status],
    headers: { ...ownHeaders(headers, answer), ...headersOf(commonHeaders) },
    ...(content === undefined ? {} : { content }),
  };
}

function describeDryRun(id: string, body: TSchema, schemas: SchemaWriter): object {
  return {
    description: 'The findings of a dry run',
    headers: headersOf(commonHeaders),
    content: { 'application/json': { schema: schemas.writeAs(componentName(id, 'Result'), body) } },
  };
}

function ownHeaders(
  names: readonly ('ETag' | 'Location')[],
  answer: PublishedExample['answer'] | undefined,
): object {
  const entries = names.map((name) => {
    if (name === 'ETag') return [name, refer('headers', name)];
    const example = answer?.headers?.[name];
    const description = 'The URL of the new resource.';
    return [name, { description, schema: { type: 'string' }, ...(example === undefined ? {} : { example }) }];
  });
  return Object.fromEntries(entries);
}

/** Each status once. The codes that the operation declares are in the description; `x-problems` has all. */
function problemResponses(operation: Operation): Record<string, object> {
  const byStatus = Map.groupBy(problemsOf(operation), (code) => problems[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => {
      const named = codes.filter((code) => operation.problems.includes(code)).map((code) => `\`${code}\``);
      const description =
        named.length === 0 ? {} : { description: `${statusTitles[status]}: ${named.join(', ')}` };
      return [status, { ...refer('responses', componentOf(status, isScim(operation))), ...description }];
    }),
  );
}

/** `createProject` → `CreateProjectRequest`. Generators of clients use the ending `Response` themselves. */
export function componentName(operationId: string, part: 'Request' | 'Result'): string {
  return `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}${part}`;
}
