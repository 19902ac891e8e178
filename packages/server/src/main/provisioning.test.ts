import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newClientId } from '../access/credentials/index.ts';
import { generateSecret } from '../kernel/sealed.ts';
import { startTestServer } from '../testing/server.ts';
import { ensureFirstAccount, ensureGivenCredential } from './provisioning.ts';

const server = await startTestServer();

test('servers that start at the same moment make one account and one first credential', async () => {
  const given = { clientId: newClientId(), secret: generateSecret() };
  const eight = <Result>(start: () => Promise<Result>) => Promise.all(Array.from({ length: 8 }, start));
  const [accountId = '', ...same] = await eight(() => ensureFirstAccount(server.deps));
  assert.deepEqual(new Set(same), new Set([accountId]));
  await eight(() => ensureGivenCredential(server.deps, accountId, given));
  const found = await server.database.query('select from credential where client_id = $1', [given.clientId]);
  assert.equal(found.length, 1);
});
