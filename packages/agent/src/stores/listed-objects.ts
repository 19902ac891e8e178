/** Judges what a store lists: a server may answer anything, and the agent keeps the list in its memory. */
import { ConnectorError, PermanentFault } from '@headgate/pipelines';
import type { StoredObject } from './object-store.ts';

/** Bytes of a name. S3 and Google Storage have 1,024 bytes, Azure 1,024 characters. */
const keyLimit = 4_096;
/** Bytes of what tells the versions of an object apart. */
const versionLimit = 1_024;

export interface ObjectPage<Cursor> {
  objects: readonly StoredObject[];
  /** Where the next page begins; undefined: this is the last one. */
  next: Cursor | undefined;
}

/** @throws ConnectorError if a store repeats a page */
export async function* listPages<Cursor>(
  name: string,
  readPage: (from: Cursor | undefined) => Promise<ObjectPage<Cursor>>,
): AsyncGenerator<readonly StoredObject[]> {
  let cursor: Cursor | undefined;
  do {
    const { objects, next } = await readPage(cursor);
    if (next !== undefined && next === cursor)
      throw new ConnectorError(`${name} answered the same page of its list again`);
    cursor = next;
    yield objects;
  } while (cursor !== undefined);
}

/** @throws PermanentFault if the store lists what was not asked for, or what no store has */
export function checkListed(objects: readonly StoredObject[], prefix: string, name: string): StoredObject[] {
  for (const { key, size, version } of objects) {
    const isRight =
      key.startsWith(prefix) && Number.isSafeInteger(size) && size >= 0 && isText(key) && isText(version);
    const fault = isRight ? undefined : 'which was not asked for';
    // It becomes a header of the requests for the object.
    const isVersion = /^[ -~]*$/.test(version);
    const isLong = Buffer.byteLength(key) > keyLimit || Buffer.byteLength(version) > versionLimit;
    const longWords = isLong ? 'whose name or version is longer than those of stores' : undefined;
    const versionWords = isVersion ? undefined : 'whose ETag has characters that no ETag has';
    const refusal = fault ?? longWords ?? versionWords;
    if (refusal !== undefined)
      throw new PermanentFault(
        `${name} listed ${JSON.stringify(key.slice(0, 200))}, ${refusal}: rename the object, or check "endpoint"`,
      );
  }
  return objects.map((object) => ({ ...object, key: copy(object.key), version: copy(object.version) }));
}

/** No PostgreSQL and no address has other characters. */
const isText = (text: string) => text.isWellFormed() && !text.includes('\0');

/** A part of a text keeps the whole text in memory, which is a page of the list. */
const copy = (text: string) => Buffer.from(text).toString();
