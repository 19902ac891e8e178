import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../testing/server.ts';
import { generateClientId } from '../access/credentials/index.ts';
import { generateSecret } from '../kernel/security/sealed.ts';
import { ensureFirstAccount, ensureGivenCredential, ensureLocalAgent } from './provisioning.ts';

const server = await startTestServer();

test('servers that start at the same time create one account and one credential', async () => {
  const input = { clientId: generateClientId(), secret: generateSecret() };
  const eight = <Result>(start: () => Promise<Result>) => Promise.all(Array.from({ length: 8 }, start));
  const [accountId = '', ...same] = await eight(() => ensureFirstAccount(server.deps));
  assert.deepEqual(new Set(same), new Set([accountId]));
  await eight(() => ensureGivenCredential(server.deps, accountId, input));
  const found = await server.database.query('select from credential where client_id = $1', [input.clientId]);
  assert.equal(found.length, 1);
});

test('servers that start at the same time register one local agent, and start it with the same secret', async () => {
  const accountId = await ensureFirstAccount(server.deps);
  const made = await Promise.all(Array.from({ length: 8 }, () => ensureLocalAgent(server.deps, accountId)));
  assert.equal(new Set(made.map(({ agentId }) => agentId)).size, 1);
  assert.equal(new Set(made.map(({ secret }) => secret.reveal())).size, 1);
  assert.equal(made.filter(({ isNew }) => isNew).length, 1);
});
