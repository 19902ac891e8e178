/**
 * Events of refused token requests. They are written after the response: only a known client has an account
 * to write to, and the response time must not reveal which clients exist (docs/adr/0031).
 */

import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import type { Services } from '../../kernel/endpoint/endpoint.ts';
import { createFailureLog } from '../../kernel/failure-log.ts';
import type { Client } from '../credentials/index.ts';

/** Collects refusals for this long, so that few responses in a series coincide with a write. */
const gatherMilliseconds = 100;
/** Events kept in memory while the database is unavailable; further ones are only counted. */
const waitingLimit = 10_000;
const job = 'record refused token requests';

interface Refusals {
  client: Client;
  clientId: string;
  requestId: string;
  at: Date;
}

export interface RefusedAttempts {
  record(refused: Refusals): void;
  /** Resolves when each recorded refusal was written or failed to be. */
  close(): Promise<void>;
}

export function createRefusedAttempts({
  database,
  newId,
  log,
  clock,
}: Pick<Services, 'database' | 'newId' | 'log' | 'clock'>): RefusedAttempts {
  const failures = createFailureLog(log, clock);
  let waiting: Refusals[] = [];
  /** Events lost since the last successful write. */
  let lost = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  async function write(): Promise<void> {
    const some = waiting;
    waiting = [];
    if (some.length === 0) return;
    try {
      await database.transaction((tx) => {
        for (const { client, clientId, requestId, at } of some) {
          const { accountId, actorId, surface, userCredentialId } = client;
          const source = { accountId, actorId: null, actorKind: 'system', requestId } as const;
          const ofUser = userCredentialId === undefined ? 'credential' : 'user';
          const type = surface === 'agent' ? 'agent' : ofUser;
          const event: AccountEvent = {
            name: 'token-refused',
            subject: { type, id: actorId, name: clientId },
          };
          recordEvents(tx, source, [event], at, newId);
        }
      });
      if (lost > 0) log.warn({ job, lost }, 'events of refused token requests were lost');
      lost = 0;
      failures.recordSuccess(job);
    } catch (failure) {
      lost += some.length;
      failures.recordFailure(
        job,
        failure,
        'could not write the events of refused token requests; they are lost',
      );
    }
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length > 0) writing = writing.then(write);
    return writing;
  }

  return {
    record(refused) {
      if (waiting.length === waitingLimit) lost += 1;
      else waiting.push(refused);
      timer ??= setTimeout(flush, gatherMilliseconds);
    },
    close: flush,
  };
}
