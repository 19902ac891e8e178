/** Bulk requests (RFC 7644 §3.7). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ScimBulkResult, type ScimUser, scimUrns } from '@headgate/contract';
import { createDirectoryClient, memberIds, requireScimError } from '../../../testing/directory-client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const account = await server.account();
const directory = createDirectoryClient(account.admin);

const bulk = (Operations: unknown, more: object = {}) =>
  directory.send<ScimBulkResult>('POST', '/Bulk', { schemas: [scimUrns.bulkRequest], Operations, ...more });
const createUser = (bulkId: string, more: object = {}) => ({
  method: 'POST',
  path: '/Users',
  bulkId,
  data: { schemas: [scimUrns.user], userName: `${bulkId}@bulk.example`, ...more },
});
const statuses = (result: ScimBulkResult) => result.Operations.map(({ status }) => status).join(' ');
const idOf = ({ location }: { location?: string }) => location?.split('/').at(-1) ?? '';

test('references by bulkId work in any order, and in a circle', async () => {
  const manager = (value: string) => ({ [scimUrns.enterpriseUser]: { manager: { value } } });
  const { body } = await bulk([
    {
      method: 'post',
      path: '/Groups',
      bulkId: 'team',
      data: { displayName: 'Team', members: [{ value: 'bulkId:ann' }, { value: 'bulkId:bob' }] },
    },
    createUser('ann', manager('bulkId:bob')),
    createUser('bob', manager('bulkId:ann')),
    {
      method: 'PATCH',
      path: '/Users/bulkId:ann',
      data: { Operations: [{ op: 'add', path: 'title', value: 'Guide' }] },
    },
  ]);
  assert.equal(statuses(body), '201 201 201 200');
  const [team, ann, bob] = body.Operations.map(idOf) as [string, string, string];
  assert.deepEqual(memberIds(await directory.group(team)), [ann, bob].toSorted());
  const user: ScimUser = await directory.user(ann);
  assert.deepEqual([user.title, user[scimUrns.enterpriseUser]?.manager?.value], ['Guide', bob]);
});

test('an operation that fails changes nothing, and the others go on', async () => {
  const retained = await directory.createUser('kept@bulk.example');
  const { body } = await bulk([
    createUser('fresh'),
    createUser('again', { userName: 'KEPT@bulk.example' }),
    {
      method: 'POST',
      path: '/Groups',
      bulkId: 'g',
      data: { displayName: 'G', members: [{ value: 'bulkId:again' }] },
    },
    { method: 'PATCH', path: `/Users/${retained.id}`, data: { Operations: [{ op: 'remove' }] } },
    { method: 'PUT', path: `/Users/${retained.id}`, version: '"9-0"', data: { userName: 'x' } },
    { method: 'DELETE', path: '/Users/nobody' },
    { method: 'GET', path: '/Users' },
    { method: 'POST', path: '/Users', data: { userName: 'no bulkId' } },
    { method: 'DELETE', path: `/Users/${retained.id}` },
  ]);
  assert.equal(statuses(body), '201 409 400 400 412 404 400 400 204');
  assert.match(JSON.stringify(body.Operations[1]?.response), /"scimType":"uniqueness"/);
  assert.equal((await directory.find('Groups', 'displayName eq "G"')).totalResults, 0);
});

test('failOnErrors ends the request, and limits are refused as a whole', async () => {
  const { body } = await bulk([createUser('p'), createUser('p2', { userName: '' }), createUser('p3')], {
    failOnErrors: 1,
  });
  assert.equal(statuses(body), '201 400');
  const many = Array.from({ length: 1_001 }, (_, index) => createUser(`many${index}`));
  requireScimError(await bulk(many), 413);
  requireScimError(await bulk('x'), 400, 'invalidSyntax');
  requireScimError(await bulk([createUser('same'), createUser('same')]), 400, 'invalidValue');
  requireScimError(await bulk([], { schemas: [scimUrns.patch] }), 400, 'invalidSyntax');
  assert.equal((await directory.find('Users', 'userName sw "many"')).totalResults, 0);
});
