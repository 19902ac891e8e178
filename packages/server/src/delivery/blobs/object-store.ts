/**
 * Storage of bytes outside the database: a folder or a bucket (docs/adr/0017).
 *
 * Terminology
 *   object  bytes of one account under a key, written once; the database knows whether it is used
 *   key     letters, digits and hyphens, with at most one slash
 */
import type { Readable } from 'node:stream';
import type { Secret } from '../../kernel/security/sealed.ts';

export interface ObjectStore {
  /** Puts use no network, so a transaction may wait for them. */
  readonly isLocal: boolean;
  /**
   * When the promise resolves, the object is complete and durable; before, no reader sees it. Repeating a
   * put is harmless.
   * @param chunks must not change until then
   */
  put(accountId: string, key: string, chunks: readonly Uint8Array[]): Promise<void>;
  /** Reads a part within the object, at least one byte. Undefined if there is no such object. */
  read(accountId: string, key: string, part: ObjectPart): Promise<Readable | undefined>;
  /** Also removes the rest of a failed put. Removing a missing object does nothing. */
  remove(accountId: string, key: string): Promise<void>;
  /** Lists all objects of an account in any order, including unfinished puts. */
  list(accountId: string): AsyncIterable<ListedObject>;
  /**
   * Checks that objects can be written, read and removed.
   * @throws with the fault that the operator must fix
   */
  probe(): Promise<void>;
  close(): void;
}

export interface ObjectPart {
  start: number;
  length: number;
}

export interface ListedObject {
  key: string;
  modifiedAt: Date;
}

/** Settings of a store. Its problems are shown to callers; their `cause` is for the log. */
export type ObjectStoreSettings =
  | { kind: 'folder'; folder: string }
  | {
      kind: 's3';
      bucket: string;
      /** Empty, or ends with a slash. */
      prefix: string;
      region: string | undefined;
      endpoint: string | undefined;
      pathStyle: boolean;
      /** Undefined: the SDK's default credentials. */
      credentials: { accessKeyId: string; secretAccessKey: Secret } | undefined;
      /** Shorter in tests. */
      patience?: S3Patience;
    };

export interface S3Patience {
  /** How long the connection may be silent. */
  silentMilliseconds: number;
  /** The limit of all attempts together. */
  wholeMilliseconds: number;
  attempts: number;
}

/** The key of an object with a single blob: from before there were packs, or from a restore. */
export function buildSingleBlobKey(digest: string): string {
  return `${digest.slice(0, 2)}/${digest}`;
}
