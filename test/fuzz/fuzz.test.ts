/** A short `npm run fuzz`, with another seed each time. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { operations } from './document.ts';
import { fuzz } from './fuzz.ts';
import { rare } from './generation.ts';

const requests = 900;
/** On a busy machine it ends after this time, with fewer requests. */
const milliseconds = 180_000;

test(`every response to ${requests} random requests is as the OpenAPI document says`, async () => {
  const seed = randomInt(2 ** 31);
  console.log(`npm run fuzz -- ${requests} --seed ${seed}`);
  const { finding, asked, statuses } = await fuzz({ requests, seed, milliseconds });
  assert.equal(finding, undefined);
  const missing = operations.filter(({ id }) => !asked.has(id) && !rare.includes(id)).map(({ id }) => id);
  assert.deepEqual(missing, [], 'every operation was asked');
  for (const status of [200, 400, 401, 404]) assert.ok(status in statuses, JSON.stringify(statuses));
});
