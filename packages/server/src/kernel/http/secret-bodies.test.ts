/** Bodies and responses that hold a secret are declared, not repeated by errors, and not kept. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { getHeapSnapshot } from 'node:v8';
import { gzipSync } from 'node:zlib';
import { type Operation, operations } from '@headgate/contract';
import type { Answer } from '../../../testing/client.ts';
import { examples, sortGuards } from '../../../testing/guards.ts';
import { createPlace, type Example } from '../../../testing/place.ts';
import { createSealingAgent } from '../../../testing/sealing-agent.ts';
import { listForms } from '../../../testing/secret-forms.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';

const server = await startTestServer(patientRequests);
const withSecret = operations.filter(({ bodyHoldsSecret }) => bodyHoldsSecret !== undefined);

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  allOf?: Schema[];
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
}

/** A reference to a secret: it has the name of the secret, not its value. */
const isReference = ({ properties = {} }: Schema) => 'secretType' in properties && 'secretName' in properties;

/** The pointers of all members of a schema, except of references to secrets. */
function listPointers(schema: Schema | undefined, at = ''): string[] {
  if (schema === undefined) return [];
  const { properties = {}, patternProperties = {}, items, anyOf = [], allOf = [] } = schema;
  return [
    ...Object.entries(properties)
      .filter(([, member]) => !isReference(member))
      .flatMap(([name, member]) => [`${at}/${name}`, ...listPointers(member, `${at}/${name}`)]),
    ...Object.values(patternProperties).flatMap((member) => listPointers(member, `${at}/*`)),
    ...(items === undefined ? [] : listPointers(items, `${at}/*`)),
    ...[...anyOf, ...allOf].flatMap((each) => listPointers(each, at)),
  ];
}

/** Names of members that hold a secret, not the place of one. */
const secretName = /(^|\/)(password|passphrase|secret|\w*Secret|token|\w*Token|privateKey|apiKey)$/;
/** A page token, and whether there is a token or a secret. */
const noSecrets = /\/(paginationToken|hasToken|hasClientSecret)$/;

test('a body or response with a member named like a secret declares that it holds one', () => {
  for (const { id, surface, body, success, bodyHoldsSecret = [], answerHoldsSecret } of operations) {
    const named = (schema: unknown) =>
      listPointers(schema as Schema).filter((each) => secretName.test(each) && !noSecrets.test(each));
    const undeclared = named(body).filter(
      (each) => !bodyHoldsSecret.some((held) => held === each || held.startsWith(`${each}/`)),
    );
    assert.deepEqual(undeclared, [], `the body of ${id}`);
    if (surface === 'dpc' && answerHoldsSecret !== true)
      assert.deepEqual(named(success.body), [], `the answer of ${id}`);
    for (const held of bodyHoldsSecret)
      assert.ok(listPointers(body as Schema).includes(held), `${id} ${held}`);
  }
  assert.ok(withSecret.length > 0);
});

test('responses with a secret are not cacheable, nor are replays and refusals', async () => {
  const place = await createPlace(await server.account());
  const { admin } = place.account;
  const shown = sortGuards(operations.filter(({ answerHoldsSecret }) => answerHoldsSecret));
  assert.ok(shown.length >= 4);
  for (const { id, method } of shown) {
    const { path, ...asked } = (await examples[id]?.(place)) ?? assert.fail(id);
    const once = { ...asked, headers: { ...asked.headers, 'idempotency-key': `once ${id}` } };
    const stranger = await place.account.actor('MEMBER');
    const { authorization: _, ...withoutCaller } = asked.headers ?? {};
    const answers = [
      await admin.send(method, path, once),
      await admin.send(method, path, once),
      await stranger.send(method, path, { ...asked, headers: withoutCaller }),
    ];
    if (method === 'POST') assert.equal(answers[1]?.headers['idempotency-replayed'], 'true', id);
    assert.equal(answers[2]?.status, path.startsWith('/projects/') ? 404 : 403, id);
    for (const { headers } of answers) assert.equal(headers['cache-control'], 'no-store', id);
  }
});

function put(body: unknown, pointer: string, value: unknown): unknown {
  const steps = pointer.split('/').slice(1);
  const copy = structuredClone(body) as Record<string, unknown>;
  let at = copy;
  for (const step of steps.slice(0, -1)) at = at[step] as Record<string, unknown>;
  at[steps.at(-1) ?? ''] = value;
  return copy;
}

const get = (body: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce((at: unknown, step) => (at as Record<string, unknown>)[step], body);

/** Invalid bodies, each with the secret in its place or in a wrong one. */
function makeBrokenBodies(operation: Operation, { body }: Example, secret: string): (string | Buffer)[] {
  const wrong = [
    ...[secret, [secret], { [secret]: 1 }, { x: { y: secret } }, { password: [secret] }],
    ...[
      { password: secret.repeat(5_000) },
      { [secret]: secret, password: `${secret}\0` },
      { [secret]: null },
    ],
    Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${secret} ${index}`, secret])),
  ];
  // Where the secret is a text, a text is right.
  const isObject = (pointer: string) => typeof get(body, pointer) === 'object';
  const parsed = (operation.bodyHoldsSecret ?? []).flatMap((pointer) =>
    wrong
      .filter((value) => typeof value !== 'string' || isObject(pointer))
      .map((value) => JSON.stringify(put(body, pointer, value))),
  );
  const right = JSON.stringify(body).replaceAll(/"correct[^}]*"/g, JSON.stringify(secret));
  assert.ok(right.includes(secret));
  const unquoted = right.replace(JSON.stringify(secret), secret);
  const broken = [
    ...[unquoted, right.slice(0, right.indexOf(secret) + secret.length), `${right}${secret}`, secret],
    ...[right.replace('{', `{"${secret}":1,"${secret}":2,`), `${right}\xff${secret}`],
  ];
  return [...parsed, ...broken, gzipSync(unquoted)];
}

test('a refused body with a secret appears nowhere', async () => {
  const secret = `canary-${randomUUID()}`;
  const place = await createPlace(await server.account());
  const answers: Answer[] = [];
  for (const operation of withSecret) {
    const example = (await examples[operation.id]?.(place)) ?? assert.fail(operation.id);
    const { path, headers } = example;
    for (const [index, body] of makeBrokenBodies(operation, example, secret).entries()) {
      const sent = {
        ...headers,
        'idempotency-key': `${index}`,
        ...(Buffer.isBuffer(body) ? { 'content-encoding': 'gzip' } : {}),
      };
      const answer = await place.account.admin.send(operation.method, path, { headers: sent, body });
      assert.ok(answer.status >= 400 && answer.status < 500, answer.text);
      answers.push(answer);
    }
  }
  const tables = await server.database.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`,
  );
  const rows = await Promise.all(
    tables.map(({ name }) => server.database.query<{ row: string }>(`select t::text as row from ${name} t`)),
  );
  const places = [
    ...answers.map((answer) => answer.text + JSON.stringify(answer.headers)),
    ...server.logLines,
    ...rows.flat().map(({ row }) => row),
  ];
  const inside = answers.filter(({ text }) => text.includes('/body/secret/value'));
  assert.ok(inside.length > 5);
  for (const { text } of inside)
    assert.match(text, /body\.secret\.value: must be an object whose members are strings/);
  const found = places.filter((place) => listForms(secret).some((form) => place.includes(form)));
  assert.deepEqual(found, []);
});

test('the bytes of a body with a secret are wiped, and those of other bodies are not kept', async () => {
  const place = await createPlace(await server.account());
  const { sealer } = server.deps;
  const { digest } = sealer;
  const digested: Buffer[] = [];
  sealer.digest = (content, purpose) => {
    if (typeof content !== 'string') digested.push(...content);
    return digest(content, purpose);
  };
  for (const operation of withSecret) {
    const { path, headers, body } = (await examples[operation.id]?.(place)) ?? assert.fail(operation.id);
    const keyed = { ...headers, 'idempotency-key': randomUUID() };
    const before = digested.length;
    const answer = await place.account.admin.send(operation.method, path, { headers: keyed, body });
    assert.equal(answer.status, operation.success.status, answer.text);
    assert.equal(digested.length, before + 1);
  }
  sealer.digest = digest;
  for (const bytes of digested) assert.ok(bytes.every((byte) => byte === 0));
});

/** Which texts V8's heap contains after garbage collection. Passed as bytes, which are outside that heap. */
async function findInHeap(...searched: readonly Buffer[]): Promise<boolean[]> {
  const longest = Math.max(...searched.map(({ length }) => length));
  let tail = Buffer.alloc(0);
  const found = searched.map(() => false);
  for await (const chunk of getHeapSnapshot()) {
    const here = Buffer.concat([tail, chunk as Buffer]);
    for (const [index, bytes] of searched.entries()) found[index] ||= here.includes(bytes);
    tail = Buffer.from(here.subarray(-longest));
  }
  return found;
}

test('during and after its way to a vault, a secret is in no string of the server', async () => {
  const { account } = await createPlace(await server.account());
  const agent = await createSealingAgent(account);
  const url = new URL(await server.listen());
  // Kept as bytes: only the server makes a string of it in this process.
  const secret = Buffer.from(randomBytes(24).toString('hex').toUpperCase());
  // Shows that what is in the heap is found.
  const retained = { text: randomBytes(24).toString('hex').toUpperCase() };
  const path = `/dpc/v1/secrets/${agent.agentId}/secret-value`;
  const headers = {
    authorization: `Bearer ${await account.admin.token()}`,
    'content-type': 'application/json',
    'idempotency-key': 'once',
  };
  const sent = httpRequest({ host: url.hostname, port: url.port, path, method: 'POST', headers });
  const answered = new Promise<string>((resolve, reject) => {
    sent.on('error', reject).on('response', (response) => resolve(text(response)));
  });
  sent.write('{"secret": {"name": "orders", "type": "PASSWORD", "value": {"password": "');
  sent.write(secret);
  sent.end('"}}}');
  const work = (await agent.next()) ?? assert.fail('nothing came to the agent');
  const searched = [secret, Buffer.from(retained.text)];
  assert.deepEqual(await findInHeap(...searched), [false, true], 'while the request waits');
  await agent.end(work);
  assert.match(await answered, /"vaultSecretName":"orders"/);
  assert.deepEqual(await findInHeap(...searched), [false, true], 'after the answer');
  // Uses it after the last search, so that it is kept until then.
  assert.ok(retained.text.length > 0);
});
