/**
 * The port to object stores. All methods go through the agent's judge of addresses, end when the signal is aborted, and
 * throw ConnectorError, PermanentFault, ExchangeError or EgressRefused with the reason.
 *
 * - **version**: what changes when the content of an object changes, such as an entity tag.
 */
import type { AccessKey } from './sigv4.ts';

export interface StoredObject {
  key: string;
  /** In bytes. */
  size: number;
  /** ISO 8601. */
  modified: string;
  version: string;
}

/** A file on the agent's disk with what was in an object. */
export interface FetchedFile {
  /** Absolute. */
  path: string;
  /** Of a file in an archive; ''. */
  entry: string;
  /** Unpacked. */
  bytes: number;
  /** The longest of its long lines. */
  longestLine: number;
  /** The byte at which that line begins. */
  longestLineAt: number;
}

export interface ReadRange {
  /** The first byte. */
  from: number;
  /** The object must have this version; '' for any. */
  version: string;
}

/** `folder`: what is in folders below may be left out. */
export type ListScope = 'folder' | 'all';

export interface ObjectStore {
  /** The objects whose keys begin so, page by page, in the order of the store. */
  list(prefix: string, signal: AbortSignal, scope?: ListScope): AsyncIterable<readonly StoredObject[]>;
  stat(key: string, signal: AbortSignal): Promise<StoredObject>;
  /** Gives the bytes of an object as they come. They may break off: `readObject` goes on. */
  read<Result>(
    key: string,
    range: ReadRange,
    signal: AbortSignal,
    use: (body: AsyncIterable<Buffer>) => Promise<Result>,
  ): Promise<Result>;
  /** Writes an object, or nothing. Returns its bytes. */
  write(key: string, body: AsyncIterable<Buffer>, signal: AbortSignal): Promise<number>;
  /** An object that is not there is no fault. */
  remove(key: string, signal: AbortSignal): Promise<void>;
  /** Copies an object within the store, on the side of the server. */
  copy(from: string, to: string, signal: AbortSignal): Promise<void>;
  /** The access key, for a warehouse that reaches the store itself; absent: there is none. */
  readKey?(): Promise<AccessKey>;
  /** The same of a store that is reached by shared access signatures. */
  readonly signature?: string;
  /** Closes the connections that are kept open. */
  close(): void;
}
