/** The object stores that one run uses. The run's process names them; their credentials stay with the agent. */
import { type StoreAddress } from '@headgate/pipelines';
import type { Questions } from '../engine/ports/run-messages.ts';
import type { RunFiles } from '../engine/ports/ports.ts';
import { followSignals } from '../followed-signals.ts';
import type { ObjectStore } from '../stores/object-store.ts';
import type { RunOptions } from './run-options.ts';

export interface RunStores {
  list(asked: Questions['store-list']['asked'], interrupt: AbortSignal): Promise<Questions['store-list']['answer']>;
  fetch(
    asked: Questions['store-fetch']['asked'],
    interrupt: AbortSignal,
  ): Promise<Questions['store-fetch']['answer']>;
  remove(asked: Questions['store-remove']['asked'], interrupt: AbortSignal): Promise<undefined>;
  closeAll(): void;
}

/** Objects of one list. */
const listLimit = 100_000;
/** Stores that one run has open. */
const openLimit = 50;

/** No file gets this name: what was fetched is loaded from its partial file. */
const fetchedName = '.object';

export function createRunStores(
  { stores, kill }: Pick<RunOptions, 'stores' | 'kill'>,
  files: Pick<RunFiles, 'beginWrite' | 'endWrite'>,
): RunStores {
  const opened = new Map<string, Promise<ObjectStore>>();

  function find(address: StoreAddress): Promise<ObjectStore> {
    const key = JSON.stringify(address);
    const known = opened.get(key);
    if (known !== undefined) return known;
    if (opened.size >= openLimit) throw new Error(`the run uses more than ${openLimit} object stores`);
    const opening = stores.open(address);
    opened.set(key, opening);
    opening.catch(() => opened.delete(key));
    return opening;
  }

  async function within<Result>(
    address: StoreAddress,
    interrupt: AbortSignal,
    use: (store: ObjectStore, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { controller, release } = followSignals([interrupt, kill]);
    try {
      return await use(await find(address), controller.signal);
    } finally {
      release();
    }
  }

  return {
    list: ({ place, limit = listLimit }, interrupt) =>
      within(place.store, interrupt, async (store, signal) => {
        const found: Questions['store-list']['answer'] = [];
        for await (const page of store.list(place.key, signal)) {
          found.push(...page);
          if (found.length > limit)
            throw new Error(
              `more than ${limit} objects begin with "${place.key}": name a longer prefix`,
            );
        }
        return found;
      }),
    fetch: ({ store: address, object, reading }, interrupt) =>
      within(address, interrupt, (store, signal) =>
        stores.fetch({
          ...{ store, object, reading, signal },
          createFile: () => files.beginWrite(fetchedName),
          removeFile: (path) => files.endWrite(path, false),
        }),
      ),
    remove: ({ store: address, keys }, interrupt) =>
      within(address, interrupt, async (store, signal) => {
        for (const key of keys) await store.remove(key, signal);
        return undefined;
      }),
    closeAll() {
      for (const store of opened.values()) void store.then((each) => each.close(), () => undefined);
      opened.clear();
    },
  };
}
