/**
 * Connections outside the pools: one that listens while the server runs, and one for each periodic job that
 * holds a lock while it works. A small pool must not lose a connection to these.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type Read, toSend } from './transaction.ts';
import { sendOnClient } from './trips/batch.ts';
import type { Statement } from './trips/statement.ts';

const firstRetryMilliseconds = 100;
const lastRetryMilliseconds = 5_000;

export interface ListenOptions {
  connection: pg.ClientConfig;
  /** Timeout for connecting and for responses. */
  patienceMilliseconds: number;
  /** How often the connection is tested: a host that disappears sends nothing. */
  keepAliveMilliseconds: number;
  onConnectionError(failure: Error): void;
}

export interface Hearing {
  message(payload: string): void;
  /** Called when listening resumes: messages may have been missed. */
  missed(): void;
}

export interface Listening {
  close(): Promise<void>;
}

/**
 * Listens until closed, and reconnects when the connection fails. Resolves when the first attempt has
 * succeeded or failed.
 */
export async function listenOn(
  options: ListenOptions,
  channel: string,
  hearing: Hearing,
): Promise<Listening> {
  const closing = new AbortController();
  const attempted = Promise.withResolvers<void>();
  const listening = keepListening(options, channel, hearing, closing.signal, attempted.resolve);
  await attempted.promise;
  return {
    async close() {
      closing.abort();
      await listening;
    },
  };
}

async function keepListening(
  options: ListenOptions,
  channel: string,
  hearing: Hearing,
  closing: AbortSignal,
  attempted: () => void,
): Promise<void> {
  let retry = firstRetryMilliseconds;
  let isFirst = true;
  while (!closing.aborted) {
    try {
      await listenOnce(options, channel, hearing, closing, () => {
        retry = firstRetryMilliseconds;
        attempted();
        if (!isFirst) hearing.missed();
      });
    } catch (failure) {
      if (!closing.aborted) options.onConnectionError(failure as Error);
    }
    isFirst = false;
    attempted();
    await delay(retry, undefined, { signal: closing }).catch(() => undefined);
    retry = Math.min(retry * 2, lastRetryMilliseconds);
  }
}

/** Listens on one connection until it breaks, stops responding or is closed. */
async function listenOnce(
  { connection, patienceMilliseconds, keepAliveMilliseconds }: ListenOptions,
  channel: string,
  hearing: Hearing,
  closing: AbortSignal,
  listening: () => void,
): Promise<void> {
  const client = openClient(connection, 'headgate listener', patienceMilliseconds);
  const over = new AbortController();
  const broken = new Promise<never>((_, reject) => {
    client.on('error', reject);
    client.on('end', () => reject(new Error('The LISTEN connection was closed.')));
    over.signal.addEventListener('abort', () => reject(over.signal.reason));
  });
  broken.catch(() => over.abort());
  const abortListening = () => over.abort(new Error('closed'));
  closing.addEventListener('abort', abortListening, { once: true });
  client.on('notification', ({ payload }) => hearing.message(payload ?? ''));
  const queryWithin = async (text: string) => {
    const patience = new AbortController();
    const silent = delay(patienceMilliseconds, undefined, { signal: patience.signal }).then(() => {
      throw new Error(
        `PostgreSQL did not respond on the LISTEN connection within ${patienceMilliseconds} ms.`,
      );
    });
    silent.catch(() => undefined);
    const query = client.query(text);
    query.catch(() => undefined);
    await Promise.race([query, broken, silent]).finally(() => patience.abort());
  };
  try {
    await Promise.race([client.connect(), broken]);
    await queryWithin(`listen ${pg.escapeIdentifier(channel)}`);
    listening();
    for (;;) {
      await Promise.race([delay(keepAliveMilliseconds, undefined, { signal: over.signal }), broken]);
      await queryWithin('select 1');
    }
  } finally {
    closing.removeEventListener('abort', abortListening);
    // `end` destroys the socket if a query is pending, and otherwise closes it properly.
    const exit = client.end().catch(() => undefined);
    if (closing.aborted) await Promise.race([exit, delay(patienceMilliseconds, undefined, { ref: false })]);
  }
}

/** Runs `work` on a new connection, then closes it, which releases its session locks. */
export async function onOwnConnection<Result>(
  { connection, patienceMilliseconds }: Pick<ListenOptions, 'connection' | 'patienceMilliseconds'>,
  work: (read: Read) => Promise<Result>,
): Promise<Result> {
  const client = openClient(connection, 'headgate job', patienceMilliseconds);
  // If the connection breaks, the current or next statement fails.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(
      async <Row, Parameters>(query: Statement<Row, Parameters>, parameters: NoInfer<Parameters>) => {
        const sent = toSend(query, parameters);
        await sendOnClient(client, [sent]);
        return sent.rows as Row[];
      },
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

function openClient(connection: pg.ClientConfig, name: string, patienceMilliseconds: number): pg.Client {
  return new pg.Client({
    ...connection,
    application_name: name,
    connectionTimeoutMillis: patienceMilliseconds,
    keepAlive: true,
  });
}
