/**
 * Bodies up to the size limit are validated in linear time, whatever they contain, without blocking other
 * requests.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVariable, writeOverrides } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createBodyReader } from './body-reader.ts';
import { Problem } from './problems.ts';

const limit = 8 * 1_048_576;
const server = await startTestServer();
const { admin, ...account } = await server.account();
const { path } = await account.project();

const fillBody = (unit: string, before: string, after: string) =>
  before +
  Array(Math.floor((limit - before.length - after.length) / (unit.length + 1)))
    .fill(unit)
    .join(',') +
  after;
const grid = '{"name":"g","type":"GRID","behaviour":"SHARED","value":{"columns":[],"rows":[';
const text = '{"name":"g","type":"TEXT","behaviour":"SHARED",';
const makeRow = (cell: string) => `[${Array(200).fill(cell).join(',')}]`;

const makeNames = (before: string, length: number) =>
  `${before}${Array.from({ length: 400_000 }, (_, index) => `{"${String(index).padStart(length, 'x')}":1}`).join(',')}]`;

/** Each fills the limit: faults in every cell, row or name, deep in a union, and unknown members. */
const hostile: [string, string][] = [
  ['cells of a wrong type', fillBody(makeRow('true'), grid, ']}}')],
  ['rows of a wrong type', fillBody('7', grid, ']}}')],
  ['unknown empty arrays', fillBody('[]', `${text}"x":[`, ']}')],
  ['empty objects for a value', fillBody('{}', `${text}"value":[`, ']}')],
  ['objects without names in common', makeNames('[', 5)],
  ['objects with names in common', fillBody('{"abcde":1}', '[', ']')],
  ['unknown properties', fillBody('{"q":1,"r":2}', `${text}"value":{"columns":[`, '],"rows":[]}}')],
  ['one long text', `${text}"value":"${'x'.repeat(limit - 100)}"}`],
  ['members without number', `{${Array.from({ length: 500_000 }, (_, index) => `"m${index}":1`).join(',')}}`],
  ['escapes', `${text}"value":"${'\\u0041'.repeat(Math.floor((limit - 100) / 6))}"}`],
  ['a list for an object', fillBody('1', '[', ']')],
  ['no JSON', `${text}${'x'.repeat(limit - 100)}`],
];

test('every large invalid body is refused without blocking the event loop', async () => {
  // Starts the thread.
  await admin.post(`${path}/variables`, Buffer.from(hostile[0]?.[1] ?? ''));
  for (const [name, body] of hostile) {
    const content = Buffer.from(body);
    const before = process.threadCpuUsage();
    const answer = await admin.post(`${path}/variables`, content);
    const { user, system } = process.threadCpuUsage(before);
    assert.equal(answer.status, 400, `${name}: ${answer.text.slice(0, 300)}`);
    assert.ok((answer.problem.violations ?? []).length <= 100, name);
    // Of the thread of the event loop: a busy machine delays it, and does not lengthen this.
    const milliseconds = (user + system) / 1_000;
    assert.ok(milliseconds < 400, `${name} took the event loop ${milliseconds} ms`);
  }
});

test('a large valid body is treated like a small one: defaults, nulls and unknown members', async () => {
  const rows = Array.from({ length: 9_000 }, (_, index) => [String(index), index, null]);
  const columns = ['a', 'b', 'c'].map((name) => ({ name, type: name === 'b' ? 'NUMBER' : 'TEXT' }));
  const sent = {
    name: 'big',
    type: 'GRID',
    behaviour: 'SHARED',
    description: null,
    colour: 1,
    value: { columns, rows },
  };
  const answer = await admin.post<{ value: unknown }>(`${path}/variables`, sent);
  assert.equal(answer.status, 201, answer.text.slice(0, 300));
  assert.deepEqual(answer.body.value, { columns, rows });
  const key = { 'idempotency-key': 'large' };
  const again = { ...sent, name: 'once' };
  const [first, second] = [
    await admin.post(`${path}/variables`, again, { headers: key }),
    await admin.post(`${path}/variables`, again, { headers: key }),
  ];
  assert.deepEqual([first.status, second.status, second.text === first.text], [201, 201, true]);
});

test('faults of a large body are reported together with those of the URL', async () => {
  const overrides = Array.from({ length: 400 }, () => ({ value: 'x'.repeat(1_000) }));
  const answer = await admin.post('/projects/nonsense/variables/city/environment-overrides', overrides);
  const { violations = [] } = requireProblem(answer, 400, 'invalid-request');
  assert.match(violations[0] ?? '', /^params\.projectId: must be a UUID in lower case/);
  assert.equal(violations[1], 'body[0].environmentName: is required');
  assert.equal(violations.length, 100);
});

test('an unauthenticated request is refused before its body is read', async () => {
  const body = hostile[0]?.[1] ?? '';
  const answer = await server.transport({
    method: 'POST',
    url: `/dpc/v1${path}/variables`,
    headers: { 'content-type': 'application/json', authorization: 'Bearer x.y.z' },
    body: `${body}broken`,
  });
  assert.equal(answer.status, 401);
});

const longName = JSON.stringify({ name: 'x'.repeat(70_000), type: 'TEXT', behaviour: 'SHARED' });
const nameFaults = [{ pointer: '/name', detail: 'must have at most 255 characters; it has 70,000' }];

test('the time for a body begins when the thread has started, which takes long on a busy machine', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const reading = createBodyReader({ limitBytes: limit }).read(createVariable, [Buffer.from(longName)], 'a');
  t.mock.timers.tick(3_600_000);
  assert.deepEqual((await reading).faults, nameFaults);
});

test('a body that exceeds the memory of the thread is refused, and the next one is read', async () => {
  // On a busy machine the thread takes long to use up its memory.
  // Above what the thread itself needs, and below what the body needs.
  const reader = createBodyReader({ limitBytes: limit, megabytes: 32, milliseconds: 200_000 });
  const many = Buffer.from(`[${Array.from({ length: 900_000 }, (_, index) => `"${index}"`).join(',')}]`);
  await assert.rejects(
    async () => reader.read(writeOverrides, [many], 'account'),
    (failure) => failure instanceof Problem && /takes too much memory; send less/.test(failure.message),
  );
  const { faults } = await reader.read(createVariable, [Buffer.from(longName)], 'account');
  assert.deepEqual(faults, nameFaults);
});

test('a large body goes to the thread in its pieces, without a copy', async () => {
  const reader = createBodyReader({ limitBytes: limit });
  const bytes = new TextEncoder().encode(longName);
  // Each with memory of its own, as they arrive.
  const pieces = [bytes.slice(0, 40_000), bytes.slice(40_000)].map(({ buffer }) => Buffer.from(buffer));
  const { faults } = await reader.read(createVariable, pieces, 'account');
  assert.deepEqual(faults, nameFaults);
  assert.deepEqual(
    pieces.map(({ length }) => length),
    [0, 0],
  );
});

test('a body in pieces is read as a whole, also where a character is in two of them', async () => {
  const bytes = Buffer.from(
    JSON.stringify({ name: 'a', type: 'TEXT', behaviour: 'SHARED', value: '\u{1f3d9}' }),
  );
  const cut = bytes.indexOf(0x9f);
  const reading = await createBodyReader({ limitBytes: limit }).read(
    createVariable,
    [bytes.subarray(0, cut), bytes.subarray(cut)],
    'account',
  );
  assert.equal((reading.value as { value: string }).value, '\u{1f3d9}');
});
