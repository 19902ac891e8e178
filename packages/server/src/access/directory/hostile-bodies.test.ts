/** Bodies of the largest size, of what SCIM ignores or refuses: none holds the event loop. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bulkScim,
  createScimGroup,
  createScimUser,
  type Operation,
  patchScimGroup,
  patchScimUser,
  replaceScimUser,
  searchScim,
} from '@headgate/contract';
import { createBodyReader } from '../../kernel/http/body-reader.ts';

const limit = 8 * 1_048_576;
const reader = createBodyReader({ limitBytes: limit });

function fill(before: string, item: (index: number) => string, after: string): Buffer {
  const items: string[] = [];
  let left = limit - before.length - after.length;
  for (let index = 0; ; index++) {
    const next = item(index);
    left -= next.length + 1;
    if (left < 0) break;
    items.push(next);
  }
  return Buffer.from(before + items.join(',') + after);
}

const bodies: [string, (item: (index: number) => string) => Buffer][] = [
  ['an unknown attribute', (item) => fill('{"userName":"a","unknown":[', item, ']}')],
  ['e-mail addresses', (item) => fill('{"userName":"a","emails":[', item, ']}')],
  ['a PATCH', (item) => fill('{"Operations":[{"op":"add","path":"members","value":[', item, ']}]}')],
  [
    'Bulk',
    (item) =>
      fill('{"Operations":[{"method":"POST","path":"/Users","bulkId":"a","data":{"x":[', item, ']}}]}'),
  ],
];
const items: [string, RegExp, (index: number) => string][] = [
  ['numbers', /more than 300,000 values/, () => '1'],
  ['short texts', /more than 100,000 different texts/, (index) => `"${index.toString(36)}"`],
  ['empty lists', /more than 200,000 objects and arrays/, () => '[]'],
  ['names', /more than 20,000 different member names/, (index) => `{"${index.toString(36)}":1}`],
];
const operations: Operation[] = [
  createScimUser,
  createScimGroup,
  replaceScimUser,
  patchScimUser,
  patchScimGroup,
  searchScim,
  bulkScim,
];

for (const [where, build] of bodies)
  test(`${where}: 8 MB of small values are refused in the thread`, async () => {
    for (const [index, [, reason, item]] of items.entries()) {
      const body = build(item);
      for (const operation of index === 0 ? operations : [createScimUser])
        await assert.rejects(async () => reader.read(operation, [Buffer.from(body)], 'account'), {
          code: 'invalid-json',
          message: reason,
        });
    }
  });

test('8 MB of members are read', async () => {
  const member = (index: number) =>
    `{"value":"01a1fd70-f1c0-7ba9-8a73-${String(index).padStart(12, '0')}","type":"User"}`;
  const body = fill('{"displayName":"a","members":[', member, ']}');
  const { value, faults } = await reader.read(createScimGroup, [body], 'account');
  assert.deepEqual(faults, []);
  assert.ok((value as { members: unknown[] }).members.length > 130_000);
});
