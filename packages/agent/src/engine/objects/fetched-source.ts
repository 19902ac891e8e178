/** Brings a file from wherever it is to the agent's disk. */
import { type FileSource, nameObject, type ObjectReading } from '@headgate/pipelines';
import type { RunPorts, SentFile } from '../ports/ports.ts';

/** A file of the files folder or one that is being written, and its name in an archive, or ''. */
export interface FetchedSource {
  source: Exclude<SentFile['source'], { object: unknown }>;
  entry: string;
}

/** What is partial must be ended. */
export async function fetchSource(
  source: FileSource,
  compression: ObjectReading['compression'],
  { stores, download }: Pick<RunPorts, 'stores' | 'download'>,
  limit: AbortSignal | undefined,
): Promise<FetchedSource[]> {
  if ('path' in source) return [{ source, entry: '' }];
  if ('address' in source)
    return [{ source: { partial: await download(source.address, false, limit) }, entry: '' }];
  const { store } = source.place;
  const object = await stores.stat(source.place, limit);
  const reading = { compression, encoding: undefined, replacesInvalid: false } as const;
  const files = await stores.fetch(store, object, reading, limit);
  return files.map(({ path, entry }) => ({ source: { partial: path }, entry }));
}

/** For messages. Without a user, a password and the query of an address, which may be a signature. */
export function nameSource(source: FileSource): string {
  if ('path' in source) return source.path;
  if ('place' in source) return nameObject(source.place);
  const url = URL.parse(source.address);
  return url === null ? 'the address' : `${url.origin}${url.pathname}`;
}
