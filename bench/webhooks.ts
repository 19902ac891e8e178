/** How fast webhooks send the events of an account to a local receiver, in order, and each event once. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { type Finding, median, spread, verdictAtLeast } from './finding.ts';
import { anotherAccount } from './second-account.ts';
import { startServer } from './server-process.ts';
import type { Work } from './work.ts';

const eventsOfRound = 2_000;
const withinMilliseconds = 60_000;

export const webhooks: Work = async (settings) => {
  await using ending = new AsyncDisposableStack();
  const allowed = { HEADGATE_EGRESS_ALLOW: '127.0.0.0/8' };
  const server = ending.adopt(await startServer(settings.profileFolder, allowed), (started) =>
    started.stop(),
  );
  const client = new pg.Client(server.connection);
  await client.connect();
  ending.defer(() => client.end());
  const found: Finding[] = [];
  for (const count of [1, 8]) {
    const account = await anotherAccount(server, `with ${count}`);
    const call = (path: string, body: object) =>
      server.call('POST', path, body, { authorization: `Bearer ${account.token}` });
    const receiver = ending.adopt(await startReceiver(), (started) => started.close());
    for (let number = 0; number < count; number += 1)
      await call('/webhooks', {
        name: `hook ${number}`,
        url: `${receiver.url}/${number}`,
        eventNames: ['variable-updated'],
      });
    const rates: number[] = [];
    for (let round = 0; round < settings.rounds; round += 1) {
      const each = Math.ceil(eventsOfRound / count);
      const exit = receiver.waitFor(each, count);
      await insertEvents(client, account.accountId, each);
      // A write of the API announces the events that were inserted.
      await call(`/credentials`, { name: `round ${round}`, role: 'MEMBER' });
      rates.push(await exit);
    }
    found.push({
      work: `webhooks: deliveries a second by ${count} webhook${count === 1 ? '' : 's'}`,
      measured: `${spread(rates)} a second`,
      limit: '≥ 300 a second',
      verdict: verdictAtLeast(median(rates), 300),
      rounds: rates,
    });
  }
  return found;
};

async function insertEvents(client: pg.Client, accountId: string, count: number): Promise<void> {
  await client.query(
    `insert into event (account_id, occurred_at, event_id, name, actor_id, actor_kind, request_id, project_id,
       subject_type, subject_id, subject_name, state_before, state_after)
     select $1, now(), gen_random_uuid(), 'variable-updated', gen_random_uuid(), 'credential', gen_random_uuid(),
       gen_random_uuid(), 'variable', n::text, 'variable_' || n,
       '{"name": "city", "value": "Oslo"}', '{"name": "city", "value": "Bergen"}'
     from generate_series(1, $2::integer) n`,
    [accountId, count],
  );
}

async function startReceiver() {
  let onEvent: (path: string, number: number) => void = () => undefined;
  const listening = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      const { data } = JSON.parse(body) as { data: { eventSubjectId: string } };
      onEvent(request.url ?? '', Number(data.eventSubjectId));
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    /** Resolves with the deliveries a second. Rejects for a wrong order, and for a duplicate. */
    waitFor(each: number, count: number): Promise<number> {
      const last = new Map<string, number>();
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const timer = setTimeout(() => reject(new Error('The deliveries did not arrive.')), withinMilliseconds);
      let [received, began] = [0, 0];
      onEvent = (path, number) => {
        if (number !== (last.get(path) ?? 0) + 1)
          reject(new Error(`The event ${number} came after ${last.get(path)}.`));
        last.set(path, number);
        if (received === 0) began = performance.now();
        received += 1;
        if (received < each * count) return;
        clearTimeout(timer);
        resolve((received - 1) / ((performance.now() - began) / 1_000));
      };
      return promise;
    },
    async close(): Promise<void> {
      listening.closeAllConnections();
      await new Promise((resolve) => listening.close(resolve));
    },
  };
}
