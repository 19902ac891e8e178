/**
 * Where bytes are kept outside the database: a folder, or a bucket (docs/adr/0017).
 *
 * Terminology
 *   object  bytes of one account under a key, written once; whether anything refers to it is said by the database
 *   key     letters, digits and hyphens, with at most one slash
 */
import type { Readable } from 'node:stream';
import type { Secret } from '../../kernel/security/sealed.ts';

export interface ObjectStore {
  /** Its puts wait for no network, so a transaction may wait for them. */
  readonly isLocal: boolean;
  /**
   * When the promise resolves the object is whole and outlives a crash; before, nobody reads it. Putting the same again does no harm.
   * @param chunks must not change until then
   */
  put(accountId: string, key: string, chunks: readonly Uint8Array[]): Promise<void>;
  /** A part that lies within the object, at least one byte. Undefined when there is no such object. */
  read(accountId: string, key: string, part: ObjectPart): Promise<Readable | undefined>;
  /** Also what a put that failed has left. Removing what is not there does nothing. */
  remove(accountId: string, key: string): Promise<void>;
  /** All objects of an account, also those that a put did not finish, in any order. */
  list(accountId: string): AsyncIterable<ListedObject>;
  /** Whether objects can be written, read and removed. @throws with what the operator has to mend */
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

/** What a store needs. The problems that they throw speak to callers; `cause` is for the log. */
export type ObjectStoreSettings =
  | { kind: 'folder'; folder: string }
  | {
      kind: 's3';
      bucket: string;
      /** Empty, or with a slash at its end. */
      prefix: string;
      region: string | undefined;
      endpoint: string | undefined;
      pathStyle: boolean;
      /** Undefined: what the SDK finds in its surroundings. */
      credentials: { accessKeyId: string; secretAccessKey: Secret } | undefined;
      /** Shorter in tests. */
      patience?: S3Patience;
    };

export interface S3Patience {
  /** How long the connection may be without a byte. */
  silentMilliseconds: number;
  /** Of all attempts together. */
  wholeMilliseconds: number;
  attempts: number;
}

/** The key of an object that holds one blob only: those from before there were packs, and those that a restore makes. */
export function buildSingleBlobKey(digest: string): string {
  return `${digest.slice(0, 2)}/${digest}`;
}
