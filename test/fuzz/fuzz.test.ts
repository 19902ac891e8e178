/** A small part of `npm run fuzz`, with another seed each time. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { operations } from './document.ts';
import { fuzz } from './fuzz.ts';

const requests = 3_000;

test(`of ${requests} random requests at the operations of the OpenAPI document, every answer is as it documents`, async () => {
  const seed = randomInt(2 ** 31);
  console.log(`npm run fuzz -- ${requests} --seed ${seed}`);
  const result = await fuzz({ requests, seed });
  assert.equal(result.finding, undefined);
  assert.equal(result.operations.size, operations.length, 'every operation was asked');
  const [successes, refusals] = [
    Object.keys(result.statuses).filter((status) => Number(status) < 300),
    ['400', '401', '403', '404', '409'],
  ];
  assert.ok(
    successes.length >= 3 && refusals.every((status) => status in result.statuses),
    JSON.stringify(result.statuses),
  );
});
