/** Of several concurrent requests for one name one succeeds, and the others get 409. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Operation, operations } from '@headgate/contract';
import { roundsOr } from '@headgate/contract/testing/rounds';
import { uniqueNames } from '../../../testing/guards.ts';
import { createPlace } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer({ settings: { HEADGATE_DATABASE_CONNECTIONS: '16' } });
const rounds = roundsOr(2);
const atOnce = 6;

const takesName = ({ problems }: Operation) =>
  problems.some((code) => /-taken$|^version-exists$|^execution-tag-running$/.test(code));

test("every operation that documents a taken name is in its slice's guards", () => {
  assert.deepEqual(
    new Set(Object.keys(uniqueNames)),
    new Set(operations.filter(takesName).map(({ id }) => id)),
  );
});

for (const [id, claim] of Object.entries(uniqueNames)) {
  test(`${id}: of ${atOnce} concurrent requests for one name one succeeds, and the others are 409`, async () => {
    const winner = operations.find((each) => each.id === id)?.success.status;
    const place = await createPlace(await server.account());
    for (let round = 0; round < rounds; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: atOnce }, (_, turn) => claim(place, `name_${round}`, turn)),
      );
      const statuses = answers.map((answer) => answer.status).sort();
      assert.deepEqual(
        statuses,
        [winner, ...Array(atOnce - 1).fill(409)],
        answers.map((answer) => answer.text).join('\n'),
      );
    }
  });
}
