import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../../testing/server.ts';
import { createLog } from '../../kernel/log.ts';
import { createRefusedAttempts } from './refused-attempts.ts';

test('without a database, lost events are logged once a minute, and counted when it is back', async () => {
  const server = await startTestServer();
  const { accountId, admin } = await server.account();
  const lines: Record<string, unknown>[] = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) });
  const { database, clock, newId } = server.deps;
  let isAway = true;
  const transaction: typeof database.transaction = (work, opening) =>
    isAway
      ? Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
      : database.transaction(work, opening);
  const attempts = createRefusedAttempts({ database: { ...database, transaction }, clock, newId, log });
  const refuse = async () => {
    const client = { accountId, actorId: admin.actorId, surface: 'dpc' } as never;
    attempts.record({ client, clientId: admin.clientId, requestId: newId(), at: clock.now() });
    await attempts.close();
  };
  const readLoggedLines = () => lines.map(({ level: _, time: __, job: ___, err: ____, ...line }) => line);
  for (let second = 0; second < 90; second++) {
    await refuse();
    server.clock.advance(1);
  }
  const msg = 'could not write the events of refused token requests; they are lost';
  assert.deepEqual(readLoggedLines(), [{ msg }, { repeated: 59, msg }]);
  isAway = false;
  await refuse();
  assert.deepEqual(readLoggedLines().slice(2), [
    { lost: 90, msg: 'events of refused token requests were lost' },
    { failures: 90, msg: 'works again' },
  ]);
});
