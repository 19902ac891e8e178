/** Reads a whole object. A body that breaks off is continued from where it ended. */
import { PermanentFault } from '@headgate/pipelines';
import { createBackoff } from '../backoff.ts';
import { ExchangeError } from '../connectors/exchange.ts';
import type { ObjectStore, StoredObject } from './object-store.ts';
import type { StoreTime } from './store-calls.ts';

/** Breaks without a byte in between. */
const breakLimit = 5;

export async function readObject(
  store: Pick<ObjectStore, 'read'>,
  { key, size, version }: StoredObject,
  time: StoreTime,
  signal: AbortSignal,
  take: (chunk: Buffer) => Promise<void>,
): Promise<void> {
  const backoff = createBackoff({ firstMilliseconds: 500, limitMilliseconds: 30_000, random: time.random });
  let done = 0;
  let breaks = 0;
  while (true) {
    const before = done;
    try {
      await store.read(key, { from: done, version }, signal, async (body) => {
        for await (const chunk of body) {
          done += chunk.byteLength;
          if (done > size) throw describeChange(key);
          await take(chunk);
        }
      });
      if (done === size) return;
      throw new ExchangeError(`the object "${key}" broke off at byte ${done} of ${size}`);
    } catch (error) {
      // The connection broke after the last byte: there is no range to ask for.
      if (error instanceof ExchangeError && done === size && done > before) return;
      if (!(error instanceof ExchangeError) || !error.isTransient || signal.aborted) throw error;
      if (done > before) {
        breaks = 0;
        backoff.reset();
      }
      breaks += 1;
      if (breaks === breakLimit) throw error;
      await time.sleep(backoff.next(), signal);
      signal.throwIfAborted();
    }
  }
}

const describeChange = (key: string) =>
  new PermanentFault(`the object "${key}" has more bytes than the store said: it was changed; run again`);
