/**
 * The OpenAPI 3.1 document, derived from the operations: `/openapi.json`, and the file of that name in the
 * repository.
 */
import type { TObject, TSchema } from 'typebox';
import { type PublishedExample, publishedExamples } from '../example.ts';
import { bodyIsOptional, type Operation, ProblemDetail, problemsOf, successTitles } from '../operation.ts';
import { type Grant, permissions } from '../permission.ts';
import { type ProblemCode, type ProblemStatus, problemMeanings, problems, statusTitles } from '../problem.ts';
import { operations } from '../resources.ts';

const problemSchema = { $ref: '#/components/schemas/ProblemDetail' };
const json = 'application/json';

export function openApiDocument(about: { version: string; serverUrl: string }): object {
  const shown = operations.filter((operation) => operation.surface === 'dpc');
  const examples = publishedExamples(about.serverUrl);
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of shown) {
    const path = paths[operation.path] ?? {};
    path[operation.method.toLowerCase()] = operationObject(operation, examples[operation.id]);
    paths[operation.path] = path;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Headgate',
      version: about.version,
      description:
        'The control plane of data pipelines: projects, environments, variables, artifacts, executions.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: `${about.serverUrl}/dpc` }],
    security: [{ token: [] }],
    tags: [...new Set(shown.map((operation) => operation.tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        token: {
          type: 'oauth2',
          flows: {
            clientCredentials: {
              tokenUrl: `${about.serverUrl}/oauth/dpc/token`,
              scopes: { 'pipeline-execution': 'All operations' },
            },
          },
        },
      },
      schemas: { ProblemDetail: plain(ProblemDetail) },
      headers: Object.fromEntries(
        Object.entries(answerHeaders).map(([name, description]) => [
          name,
          { description, schema: { type: 'string' } },
        ]),
      ),
    },
    'x-problems': Object.fromEntries(
      Object.entries(problems).map(([code, { status }]) => [
        code,
        { status, when: problemMeanings[code as ProblemCode] },
      ]),
    ),
  };
}

function operationObject(operation: Operation, example: PublishedExample | undefined): object {
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description: description(operation),
    ...permissionNote(operation),
    parameters: parameters(operation, example?.request),
    ...requestBody(operation, example?.request),
    responses: {
      [operation.success.status]: success(operation, example?.answer),
      ...notModified(operation),
      ...refusals(operation),
    },
  };
}

function description(operation: Operation): string {
  const parts = operation.description === undefined ? [] : [operation.description];
  if (operation.permission !== undefined) parts.push(permissionSentence(permissions[operation.permission]));
  return parts.join('\n\n');
}

function permissionSentence({ may, account, project, environment }: Grant): string {
  const columns = [
    ['account', account],
    ['project', project],
    ['environment', environment],
  ] as const;
  const roles = columns
    .filter(([, list]) => list.length > 0)
    .map(([where, list]) => `in the ${where} ${list.join(', ')}`);
  return `Needs a role that may ${may}: ${roles.join('; or ')}.`;
}

function permissionNote(operation: Operation): object {
  if (operation.permission === undefined) return {};
  const { environmentFrom } = operation;
  return {
    'x-permission': operation.permission,
    ...(environmentFrom === undefined ? {} : { 'x-environment-from': environmentFrom }),
  };
}

type Sent = PublishedExample['request'] | undefined;

function parameters(operation: Operation, sent: Sent): object[] {
  const listed = [
    ...parametersIn('path', operation.params, sent?.params),
    ...parametersIn('query', operation.query, sent?.query),
    ...parametersIn('header', operation.headers, sent?.headers),
  ];
  if (operation.method !== 'POST') return listed;
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'The answer to the first request under a key is given again to the same request for 24 hours',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  };
  return [...listed, key];
}

function parametersIn(
  place: 'path' | 'query' | 'header',
  schema: TObject | undefined,
  sent: Record<string, string> = {},
): object[] {
  if (schema === undefined) return [];
  const examples = Object.fromEntries(Object.entries(sent).map(([name, text]) => [name.toLowerCase(), text]));
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties).map(([name, member]) => {
    const { description, default: preset, ...rest } = plain(member as TSchema) as Record<string, unknown>;
    return {
      name,
      in: place,
      // A member with a default need not be sent.
      required: required.has(name) && preset === undefined,
      ...(description === undefined ? {} : { description }),
      schema: preset === undefined ? rest : { ...rest, default: preset },
      ...exampleOf(parameterValue(rest, examples[name.toLowerCase()])),
    };
  });
}

/** A parameter is text in the address; its example is a value of its schema. */
function parameterValue(schema: Record<string, unknown>, text: string | undefined): unknown {
  if (text === undefined) return undefined;
  if (schema.type === 'integer') return Number(text);
  return schema.type === 'array' ? [text] : text;
}

const exampleOf = (example: unknown) => (example === undefined ? {} : { example });

function requestBody(operation: Operation, sent: Sent): object {
  if (operation.mediaType === 'multipart/form-data') {
    const schema = {
      type: 'object',
      additionalProperties: { type: 'string', contentMediaType: 'text/plain' },
    };
    return {
      requestBody: {
        required: true,
        content: { 'multipart/form-data': { schema, ...exampleOf(sent?.parts) } },
      },
    };
  }
  if (operation.body === undefined) return {};
  const content = { schema: plain(operation.body), ...exampleOf(sent?.body) };
  return { requestBody: { required: !bodyIsOptional(operation), content: { [json]: content } } };
}

function success(
  { success: { status, body, headers = [], mediaType } }: Operation,
  answer: PublishedExample['answer'] | undefined,
): object {
  const listed = headers.map((name) => [
    name,
    { schema: { type: 'string' }, ...exampleOf(answer?.headers?.[name]) },
  ]);
  return {
    description: successTitles[status],
    headers: { ...Object.fromEntries(listed), ...headersOf(commonHeaders) },
    ...(mediaType === undefined ? {} : { content: { [mediaType]: { schema: { type: 'string' } } } }),
    ...(body === undefined
      ? {}
      : { content: { [json]: { schema: plain(body), ...exampleOf(answer?.body) } } }),
  };
}

function notModified({ success: { conditional } }: Operation): Record<string, object> {
  if (conditional === undefined) return {};
  const headers = { ETag: { schema: { type: 'string' } }, ...headersOf(commonHeaders) };
  return { 304: { description: 'Not Modified: `If-None-Match` names the state that it has', headers } };
}

function refusals(operation: Operation): Record<string, object> {
  const byStatus = Map.groupBy(problemsOf(operation), (code) => problems[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: `${statusTitles[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}`,
        ...(status in headersByStatus ? { headers: headersOf(headersByStatus[status] ?? []) } : {}),
        content: { 'application/problem+json': { schema: problemSchema } },
      },
    ]),
  );
}

const answerHeaders = {
  'x-request-id': 'Of this request; in a problem also `traceId`',
  RateLimit:
    'What is left of the account’s requests, and the seconds until there are more (draft-ietf-httpapi-ratelimit-headers-10)',
  'RateLimit-Policy': 'How many requests an account has in how many seconds',
  'Retry-After': 'Seconds until the request may be sent again',
  'WWW-Authenticate': 'What the bearer token lacks (RFC 6750 §3)',
  'Accept-Encoding': 'The encodings in which a body may be sent',
};
type AnswerHeader = keyof typeof answerHeaders;

const commonHeaders: readonly AnswerHeader[] = ['x-request-id', 'RateLimit', 'RateLimit-Policy'];
const headersByStatus: Partial<Record<ProblemStatus, readonly AnswerHeader[]>> = {
  401: ['WWW-Authenticate'],
  415: ['Accept-Encoding'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

function headersOf(names: readonly AnswerHeader[]): object {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** A schema as it is written in JSON, without what TypeBox hangs on it. */
function plain(schema: TSchema): object {
  return JSON.parse(JSON.stringify(schema)) as object;
}
