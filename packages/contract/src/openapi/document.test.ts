/** The OpenAPI document: complete, small, and with names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemsOf } from '../operation.ts';
import { problems } from '../problem.ts';
import { operations } from '../resources.ts';
import { openApiDocument } from './document.ts';

type Json = null | boolean | number | string | Json[] | { [member: string]: Json };
const isObject = (json: Json | undefined): json is { [member: string]: Json } =>
  typeof json === 'object' && json !== null && !Array.isArray(json);

const document = JSON.parse(
  JSON.stringify(openApiDocument({ version: '1', serverUrl: 'https://x.example' })),
) as {
  openapi: string;
  info: { title: string; version: string };
  tags: { name: string; description?: string }[];
  servers: { url: string }[];
  paths: Record<string, Record<string, Json>>;
  components: Record<string, Record<string, Json>>;
};

/** What a reference leads to, or the JSON itself. */
function resolved(json: Json | undefined): Json | undefined {
  if (!isObject(json) || typeof json.$ref !== 'string') return json;
  const steps = json.$ref.split('/').slice(1);
  return steps.reduce<Json | undefined>(
    (at, step) => (isObject(at) ? at[step] : undefined),
    document as unknown as Json,
  );
}

test('the OpenAPI document shows every operation of the management interface once', () => {
  assert.equal(document.openapi, '3.1.0');
  assert.ok(document.info.title && document.info.version);
  const shown = Object.values(document.paths).flatMap((path) => Object.values(path));
  const ids = shown.map((operation) => (isObject(operation) ? operation.operationId : undefined));
  const declared = operations
    .filter((operation) => operation.surface === 'dpc')
    .map((operation) => operation.id);
  assert.deepEqual(ids.toSorted(), declared.toSorted());
});

test('each operation of the OpenAPI document has the shape that OpenAPI 3.1 asks for', () => {
  const tags = document.tags.map((tag) => tag.name);
  for (const [path, methods] of Object.entries(document.paths)) {
    assert.match(path, /^\/v1\//);
    for (const [method, operation] of Object.entries(methods)) {
      assert.ok(['get', 'post', 'put', 'patch', 'delete'].includes(method));
      assert.ok(isObject(operation));
      const { parameters, responses, tags: own, summary, requestBody } = operation;
      assert.ok(
        typeof summary === 'string' && Array.isArray(own) && own.every((tag) => tags.includes(String(tag))),
      );
      assert.ok(isObject(responses));
      const listed = Array.isArray(parameters) ? parameters.map(resolved) : [];
      const keys = listed.filter(isObject).map((parameter) => {
        assert.ok(isObject(parameter.schema), `${path} ${String(parameter.name)}`);
        assert.ok(['path', 'query', 'header'].includes(String(parameter.in)));
        assert.equal(parameter.in === 'path' ? parameter.required : true, true);
        return `${String(parameter.in)} ${String(parameter.name)}`;
      });
      assert.equal(new Set(keys).size, keys.length);
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => `path ${match[1]}`);
      assert.deepEqual(keys.filter((key) => key.startsWith('path ')).toSorted(), named.toSorted());
      for (const [status, written] of Object.entries(responses)) {
        const response = resolved(written);
        assert.match(status, /^[2-5]\d\d$/);
        assert.ok(
          isObject(response) && typeof response.description === 'string' && response.description !== '',
        );
      }
      assert.ok(Object.keys(responses).some((status) => status.startsWith('2')));
      if (requestBody !== undefined) assert.ok(isObject(requestBody) && isObject(requestBody.content));
    }
  }
});

test('every reference in the OpenAPI document leads somewhere', () => {
  const references: { $ref: string }[] = [];
  const walk = (json: Json | undefined): void => {
    if (Array.isArray(json)) for (const each of json) walk(each);
    if (!isObject(json)) return;
    if (typeof json.$ref === 'string') references.push({ $ref: json.$ref });
    for (const member of Object.values(json)) walk(member);
  };
  walk(document as unknown as Json);
  assert.ok(references.length > 0);
  for (const reference of references) assert.ok(resolved(reference) !== undefined, reference.$ref);
});

test('an operation takes at most 4 kB of the document on average', () => {
  const shown = operations.filter(({ surface }) => surface === 'dpc').length;
  const size = JSON.stringify(document).length / shown;
  assert.ok(size <= 4_000, `${Math.round(size)} bytes an operation`);
});

test('the bodies of requests and responses are schemas with names', () => {
  const { schemas = {} } = document.components;
  const bodies: Json[] = [];
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    assert.ok(isObject(operation) && isObject(operation.responses));
    for (const part of [operation.requestBody, ...Object.values(operation.responses)].map(resolved)) {
      const content = isObject(part) && isObject(part.content) ? part.content['application/json'] : undefined;
      if (isObject(content)) bodies.push(content.schema ?? null);
    }
  }
  assert.ok(bodies.length > 0);
  for (const body of bodies) assert.ok(isObject(body) && typeof body.$ref === 'string', JSON.stringify(body));
  for (const name of ['Project', 'CreateProjectRequest', 'ProjectPage', 'Variable', 'PipelineExecution'])
    assert.ok(name in schemas, name);
  for (const name of Object.keys(schemas)) assert.match(name, /^([A-Z][a-z]+)+$/);
});

test('every heading of the document has a description', () => {
  for (const { name, description } of document.tags) assert.match(description ?? '', /^[A-Z].*\.$/, name);
});

test('the document shows examples, and the permission and problems of each operation', () => {
  const { post } = document.paths['/v1/projects/{projectId}/variables'] ?? {};
  const text = JSON.stringify(post);
  assert.match(text, /"x-permission":"project:configure"/);
  assert.match(text, /"example":\{"name":"wetDayMillimetres"/);
  assert.match(text, /"example":"https:\/\/x\.example\/dpc\/v1\/projects\//);
  const known = (document as unknown as { 'x-problems': Record<string, { when: string }> })['x-problems'];
  for (const code of Object.keys(problems)) assert.match(known[code]?.when ?? '', /^\S.*\.$/, code);
});

test('an operation lists the codes of all problems that it can answer', () => {
  const { patch } = document.paths['/v1/projects/{projectId}/variables/{variableName}'] ?? {};
  assert.ok(isObject(patch) && Array.isArray(patch['x-problems']) && isObject(patch.responses));
  const common = (document as unknown as { 'x-common-problems': string[] })['x-common-problems'];
  const declared = operations.find(({ id }) => id === 'updateVariable') ?? assert.fail();
  assert.deepEqual([...common, ...patch['x-problems']].toSorted(), problemsOf(declared).toSorted());
  assert.match(JSON.stringify(patch.responses['412']), /PreconditionFailed".*`etag-mismatch`/);
});
