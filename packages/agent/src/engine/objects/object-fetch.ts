/** Fetches the objects of a load to the agent's disk, several at a time, and converts them. */
import {
  type Action,
  csvLineLimit,
  type FileConversion,
  nameObject,
  PermanentFault,
  type StorePlace,
} from '@headgate/pipelines';
import { followSignals } from '../../followed-signals.ts';
import type { StoredObject } from '../../stores/object-store.ts';
import type { ActionContext } from '../context/action-context.ts';
import type { RunPorts } from '../ports/ports.ts';
import type { LoadedFile } from './row-faults.ts';

type LoadAction = Extract<Action, { action: 'load-objects' }>;

/** A load whose stage was looked up. */
export interface LocatedLoad extends Omit<LoadAction, 'source'> {
  source: { place: StorePlace; pattern: string };
}

/** Bytes of all files of one load on the agent's disk. */
const totalLimit = 100 * 1_024 ** 3;

/** Returns the objects that were fetched: all, or those within the limit of bytes. */
export async function fetchAll(
  chosen: readonly StoredObject[],
  { source, reading, load }: LocatedLoad,
  files: LoadedFile[],
  { run }: ActionContext,
): Promise<StoredObject[]> {
  const { ports, limit } = run.context;
  const { store } = source.place;
  const wanted = withinSize(chosen, load.sizeLimit);
  const places: LoadedFile[][] = wanted.map(() => []);
  let total = 0;
  const fetch = async (object: StoredObject, place: LoadedFile[], signal: AbortSignal) => {
    const halted = run.context.findHalt();
    if (halted !== undefined) throw new Error(halted.message ?? 'the run was cancelled');
    const fetched = await ports.stores.fetch(store, object, reading, signal);
    const name = nameObject({ store, key: object.key });
    for (const file of fetched) {
      const loaded = { ...file, object, name: file.entry === '' ? name : `${name}/${file.entry}` };
      place.push(loaded);
      await convertFile(loaded, load.conversion, ports, signal);
      total += loaded.bytes;
      requireShortLines(loaded, load.format);
    }
    if (total > totalLimit)
      throw new PermanentFault(
        `the objects have more than ${totalLimit / 1_024 ** 3} GiB when they are unpacked, which is the limit of one load: name a longer prefix, or set sizeLimitB`,
      );
  };
  try {
    await fetchInParallel(wanted, limit, (object, index, signal) =>
      fetch(object, places[index] ?? [], signal),
    );
  } finally {
    // In the order of the list, also those that a failure leaves behind.
    files.push(...places.flat());
  }
  return wanted;
}

/** The first failure ends the others. @throws it */
async function fetchInParallel(
  objects: readonly StoredObject[],
  limit: AbortSignal | undefined,
  fetch: (object: StoredObject, index: number, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failed = new AbortController();
  const { controller, release } = followSignals([failed.signal, ...(limit === undefined ? [] : [limit])]);
  const next = objects.entries();
  const work = async () => {
    for (const [index, object] of next) {
      if (failed.signal.aborted) return;
      await fetch(object, index, controller.signal);
    }
  };
  const workers = Array.from({ length: Math.min(fetchesAtOnce, objects.length) }, async () => {
    await work().catch((error: unknown) => failed.abort(error));
  });
  try {
    await Promise.all(workers);
    failed.signal.throwIfAborted();
  } finally {
    release();
  }
}

/** Small objects take a round trip each, during which others are fetched. */
const fetchesAtOnce = 8;

/** The objects up to the one with which the limit is reached. */
function withinSize(chosen: readonly StoredObject[], limit: number | undefined): StoredObject[] {
  let bytes = 0;
  const end = chosen.findIndex(({ size }) => {
    bytes += size;
    return limit !== undefined && bytes >= limit;
  });
  return chosen.slice(0, end < 0 ? chosen.length : end + 1);
}

/** Replaces the file by what it is converted to. */
async function convertFile(
  file: LoadedFile,
  conversion: FileConversion | undefined,
  { convert, files }: Pick<RunPorts, 'convert' | 'files'>,
  signal: AbortSignal,
): Promise<void> {
  if (conversion === undefined) return;
  try {
    const { path, bytes, lineBytes } = await convert({ partial: file.path }, conversion, signal);
    await files.endWrite(file.path, false);
    Object.assign(file, { path, bytes, longestLine: lineBytes, longestLineAt: 0 });
  } catch (error) {
    if (error instanceof Error) error.message = `"${file.name}" was not loaded: ${error.message}`;
    throw error;
  }
}

function requireShortLines(
  { name, longestLine, longestLineAt }: LoadedFile,
  { type }: LoadAction['load']['format'],
): void {
  if (type === 'CSV' && longestLine > csvLineLimit)
    throw new PermanentFault(
      `"${name}" has a line of ${longestLine} bytes at byte ${longestLineAt}; the limit is ${csvLineLimit}: check the record delimiter, or leave the object out`,
    );
}
