/**
 * Events about refused attempts at a token. They are written after the answer: only a known client has an
 * account to write to, and the time to answer must not tell which clients are known (docs/adr/0031).
 */

import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import type { Services } from '../../kernel/endpoint/endpoint.ts';
import { createFailureLog } from '../../kernel/failure-log.ts';
import type { Client } from '../credentials/index.ts';

/** Gathered this long, so that a write is not under way whenever the next attempt of a series is answered. */
const gatherMilliseconds = 100;
/** While the database is away. */
const waitingLimit = 10_000;
const job = 'events of refused attempts at a token';

interface Refused {
  client: Client;
  clientId: string;
  requestId: string;
  at: Date;
}

export interface RefusedAttempts {
  note(refused: Refused): void;
  /** Resolves when all that was noted is written, or could not be. */
  close(): Promise<void>;
}

export function createRefusedAttempts({
  database,
  newId,
  log,
  clock,
}: Pick<Services, 'database' | 'newId' | 'log' | 'clock'>): RefusedAttempts {
  const failures = createFailureLog(log, clock);
  let waiting: Refused[] = [];
  /** Since the last write that succeeded. */
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
          const { accountId, actorId, surface } = client;
          const source = { accountId, actorId: null, actorKind: 'system', requestId } as const;
          const type = surface === 'agent' ? 'agent' : 'credential';
          const event: AccountEvent = {
            name: 'token-refused',
            subject: { type, id: actorId, name: clientId },
          };
          recordEvents(tx, source, [event], at, newId);
        }
      });
      if (lost > 0) log.warn({ job, lost }, 'refused attempts at a token left no event');
      lost = 0;
      failures.recordSuccess(job);
    } catch (failure) {
      lost += some.length;
      failures.recordFailure(
        job,
        failure,
        'refused attempts at a token could not be written; they leave no event',
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
    note(refused) {
      if (waiting.length === waitingLimit) lost += 1;
      else waiting.push(refused);
      timer ??= setTimeout(flush, gatherMilliseconds);
    },
    close: flush,
  };
}
