/** What must hold for every operation, whoever adds it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventNames } from './event.ts';
import { publishedExamples } from './example.ts';
import { isOfProject, type Operation, ProblemDetail, problemsOf } from './operation.ts';
import { permissions } from './permission.ts';
import { problems, problemTypeName, statusTitles } from './problem.ts';
import { operations } from './resources.ts';

type Json = null | boolean | number | string | Json[] | { [member: string]: Json };
const isObject = (json: Json | undefined): json is { [member: string]: Json } =>
  typeof json === 'object' && json !== null && !Array.isArray(json);

/** Where a schema lets in what has no bound. */
function unbounded(schema: Json | undefined, at: string): string[] {
  if (Array.isArray(schema)) return schema.flatMap((each, index) => unbounded(each, `${at}/${index}`));
  if (!isObject(schema)) return [];
  const faults: string[] = [];
  const closed = 'enum' in schema || 'const' in schema;
  if (schema.type === 'string' && !closed && !('maxLength' in schema))
    faults.push(`${at}: a string without maxLength`);
  if (schema.type === 'array' && !('maxItems' in schema)) faults.push(`${at}: an array without maxItems`);
  if (schema.type === 'object' && isObject(schema.additionalProperties)) {
    if (!('maxProperties' in schema)) faults.push(`${at}: a map without maxProperties`);
    if (!isObject(schema.propertyNames) || !('maxLength' in schema.propertyNames))
      faults.push(`${at}: keys without maxLength`);
  }
  for (const [key, member] of Object.entries(schema)) {
    if (key !== 'enum' && key !== 'propertyNames') faults.push(...unbounded(member, `${at}/${key}`));
  }
  return faults;
}

const plain = (schema: unknown) =>
  schema === undefined ? undefined : (JSON.parse(JSON.stringify(schema)) as Json);

test('what a schema without a bound looks like is noticed', () => {
  assert.equal(
    unbounded({ type: 'object', properties: { a: { type: 'string' }, b: { type: 'array' } } }, '').length,
    2,
  );
});

test('every string, array and map of every request and answer has a bound', () => {
  const faults = operations.flatMap((operation) =>
    (['params', 'query', 'headers', 'body'] as const)
      .flatMap((part) => unbounded(plain(operation[part]), `${operation.id} ${part}`))
      .concat(unbounded(plain(operation.success.body), `${operation.id} answer`))
      .concat(unbounded(plain((operation as Operation).success.dryRun), `${operation.id} dry run`)),
  );
  assert.deepEqual([...faults, ...unbounded(plain(ProblemDetail), 'ProblemDetail')], []);
});

test('headers are written as everywhere else', () => {
  const members = new Map<string, string>();
  const collect = (schema: Json | undefined): void => {
    if (Array.isArray(schema)) schema.forEach(collect);
    if (!isObject(schema)) return;
    if (isObject(schema.properties))
      for (const name of Object.keys(schema.properties)) members.set(name.toLowerCase(), name);
    Object.values(schema).forEach(collect);
  };
  for (const { params, query, body, success } of operations)
    for (const part of [params, query, body, success.body]) collect(plain(part));
  const names = operations.flatMap(({ headers }) => Object.keys(headers?.properties ?? {}));
  assert.ok(names.length > 0);
  for (const name of names) {
    if (name.includes('-')) assert.match(name, /^[A-Z][a-z]*(-[A-Z][a-z]*)+$/);
    else assert.equal(name, members.get(name.toLowerCase()));
  }
});

test('no summary has a reference to a specification', () => {
  for (const { id, summary } of operations) assert.doesNotMatch(summary, /\bE\d|\.md|§/, id);
});

test('an id, and a method with a path, name one operation', () => {
  const unique = (keys: string[]) => assert.deepEqual(keys.length, new Set(keys).size);
  unique(operations.map((operation) => operation.id));
  unique(
    operations.map(
      ({ method, surface, path }) => `${method} ${surface} ${path.replaceAll(/\{\w+\}/g, '{}')}`,
    ),
  );
});

test('every operation of the management interface declares its permission, those of agents none', () => {
  for (const { id, surface, permission } of operations) {
    if (surface === 'agent') assert.equal(permission, undefined, id);
    else assert.ok(permission !== undefined && permission in permissions, id);
  }
  const used = new Set(operations.map((operation) => operation.permission));
  for (const permission of Object.keys(permissions))
    assert.ok(used.has(permission as 'project:read'), permission);
});

test('a permission that environments give says where its environment is: in a required member that is text', () => {
  for (const operation of operations) {
    const { id, permission, environmentFrom } = operation as Operation;
    const given = permission !== undefined && permissions[permission].environment.length > 0;
    assert.equal(environmentFrom !== undefined, given, id);
    if (environmentFrom === undefined || environmentFrom === 'resource' || environmentFrom === 'items')
      continue;
    const [part, name] = environmentFrom.split('.') as ['body', string];
    const schema = plain(operation[part as keyof typeof operation]) as {
      properties: Record<string, { type?: string }>;
      required: string[];
    };
    assert.equal(schema.properties[name]?.type, 'string', `${id}: ${environmentFrom}`);
    assert.ok(schema.required.includes(name), `${id}: ${environmentFrom} is required`);
  }
});

test('an operation in a project may answer that there is none', () => {
  for (const operation of operations.filter(isOfProject)) {
    const codes = problemsOf(operation);
    // A resource that names no project is itself unknown.
    const isOwn = operation.projectFrom === 'resource';
    const isUnknown = (code: string) => (isOwn ? code.endsWith('-not-found') : code === 'project-not-found');
    assert.ok(codes.some(isUnknown), operation.id);
  }
});

test('what an operation names in its path is declared, and nothing more', () => {
  for (const { id, path, params } of operations) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    assert.deepEqual(Object.keys(params?.properties ?? {}).toSorted(), named.toSorted(), id);
  }
});

const writes = ({ method }: Operation) => method !== 'GET';

/** Who has seen a secret is to be known. */
const readsOfSecrets = ['getAgentCredentials'];

test('a write declares the events that it leaves, or says why it leaves none; a read declares none', () => {
  for (const operation of operations) {
    if (!writes(operation) && !readsOfSecrets.includes(operation.id))
      assert.deepEqual(operation.events, [], operation.id);
    else if (operation.withoutEvent === undefined) assert.ok(operation.events.length > 0, operation.id);
    else assert.deepEqual(operation.events, [], operation.id);
    for (const name of operation.events) assert.ok(eventNames.includes(name), name);
  }
});

test('a name of a problem is kebab-case, and its status has a phrase', () => {
  for (const [code, { status }] of Object.entries(problems)) {
    assert.match(code, /^[a-z]+(-[a-z]+)*$/);
    assert.ok(statusTitles[status]);
    assert.match(problemTypeName(status), /^[a-z]+(-[a-z]+)*$/);
  }
  assert.deepEqual(
    [400, 403, 404, 422, 500].map((status) => problemTypeName(status as 400)),
    ['bad-request', 'forbidden', 'not-found', 'unprocessable-entity', 'internal-server-error'],
  );
});

test('every problem can be answered by something', () => {
  // Answered outside of operations: by the parser of HTTP, by the router, and by an operator's command.
  const elsewhere = ['malformed-request', 'path-not-found', 'method-not-allowed', 'account-name-taken'];
  // Answered to the git program at /git.
  elsewhere.push(
    'git-password-required',
    'git-password-refused',
    'git-address-incomplete',
    'smart-git-required',
    'invalid-push',
    'not-hosted-here',
    'ref-refused',
  );
  // Answered to Git providers, whose webhooks are no operations.
  elsewhere.push('hook-not-found', 'hook-invalid', 'hook-repeated');
  const answered = new Set<string>([
    ...elsewhere,
    ...operations.flatMap((operation) => problemsOf(operation)),
  ]);
  assert.deepEqual(
    Object.keys(problems).filter((code) => !answered.has(code)),
    [],
  );
});

test('every operation of the management interface has an example, of its success and with all that it requires', () => {
  const examples = publishedExamples('https://x.example');
  const shown = operations.filter(({ surface }) => surface === 'dpc');
  assert.deepEqual(Object.keys(examples).toSorted(), shown.map(({ id }) => id).toSorted());
  for (const { id, success, params, query, headers, body, mediaType } of shown) {
    const { request, answer } = examples[id] ?? assert.fail(id);
    assert.equal(answer.status, success.status, id);
    assert.equal(answer.body !== undefined, success.body !== undefined, id);
    assert.equal(request.body !== undefined, body !== undefined, id);
    assert.equal(request.parts !== undefined, mediaType === 'multipart/form-data', id);
    const sent = { params, query, headers };
    for (const [part, schema] of Object.entries(sent)) {
      if (schema === undefined) continue;
      const inputs = Object.keys(request[part as keyof typeof sent] ?? {}).map((name) => name.toLowerCase());
      for (const name of schema.required ?? []) {
        const preset = (schema.properties[name] as { default?: unknown }).default;
        assert.ok(preset !== undefined || inputs.includes(name.toLowerCase()), `${id}: ${name}`);
      }
    }
  }
});
