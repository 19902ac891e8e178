/** With If-Match no update is lost; without it the last write wins. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Operation, operations } from '@headgate/contract';
import type { Actor } from '../../../testing/account.ts';
import { type Answer, requireProblem } from '../../../testing/client.ts';
import { counted, countedElsewhere } from '../../../testing/guards.ts';
import { createPlace, type Place } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';
import type { Counted } from '../../../testing/slice-guards.ts';

const server = await startTestServer({ settings: { HEADGATE_DATABASE_CONNECTIONS: '16' } });
const clients = 8;
const incrementsEach = 4;

async function createPlaceWithNumbers(): Promise<Place> {
  const place = await createPlace(await server.account());
  const { admin } = place.account;
  for (const { create, path, set } of Object.values(counted)) {
    if (create !== undefined) requireTaken(await create(place));
    requireTaken(await admin.patch(path(place), set(0)));
  }
  return place;
}

test("every PATCH that takes If-Match is in its slice's guards", () => {
  const takes = ({ method, headers }: Operation) =>
    method === 'PATCH' && headers !== undefined && 'If-Match' in headers.properties;
  const tried = new Set([...Object.keys(counted), ...Object.keys(countedElsewhere)]);
  assert.deepEqual(tried, new Set(operations.filter(takes).map(({ id }) => id)));
});

function requireTaken(answer: Answer): void {
  assert.ok(answer.status < 300, answer.text);
}

/** Reads, adds one, and writes with If-Match; retries if the resource changed. */
async function increment(admin: Actor, path: string, { set, get }: Counted): Promise<void> {
  for (;;) {
    const { body, etag } = await admin.get<Record<string, unknown>>(path);
    const answer = await admin.patch(path, set(get(body) + 1), { headers: { 'if-match': etag } });
    if (answer.status < 300) return;
    requireProblem(answer, 412, 'etag-mismatch');
  }
}

for (const [id, resource] of Object.entries(counted)) {
  test(`${id}: ${clients} clients that each add ${incrementsEach} with If-Match leave their sum`, async () => {
    const place = await createPlaceWithNumbers();
    const { admin } = place.account;
    const path = resource.path(place);
    const adding = Array.from({ length: clients }, async () => {
      for (let done = 0; done < incrementsEach; done += 1) await increment(admin, path, resource);
    });
    await Promise.all(adding);
    const { body } = await admin.get<Record<string, unknown>>(path);
    assert.equal(resource.get(body), clients * incrementsEach);
  });

  test(`${id}: without If-Match every write succeeds, and the last one wins`, async () => {
    const place = await createPlaceWithNumbers();
    const { admin } = place.account;
    const path = resource.path(place);
    const answers = await Promise.all(
      Array.from({ length: clients }, (_, index) =>
        admin.patch<Record<string, unknown>>(path, resource.set(index + 1)),
      ),
    );
    for (const answer of answers) requireTaken(answer);
    const read = await admin.get<Record<string, unknown>>(path);
    const last = answers.find((answer) => answer.etag === read.etag);
    assert.ok(last !== undefined, 'what is read is what one of them wrote');
    assert.deepEqual(read.body, last.body);
    await admin.patch(path, resource.set(100));
    assert.equal(resource.get((await admin.get<Record<string, unknown>>(path)).body), 100);
  });
}
