/** Blobs one after another, gathered in memory until they are put as one object. */

/** A pack that has as much takes no further blob, and is put while the next one fills. */
export const fullPackBytes = 2 * 1_048_576;

/** The key of a blob without bytes. */
export const noObject = '';

export interface PlacedBlob {
  digest: string;
  size: number;
  key: string;
  offset: number;
}

export interface Pack {
  readonly key: string;
  readonly blobs: readonly PlacedBlob[];
  readonly chunks: readonly Uint8Array[];
  readonly size: number;
  /** Copies the bytes: a view of them would keep the whole chunk of the request in memory. */
  add(digest: string, bytes: Uint8Array): PlacedBlob;
}

export function createPack(key: string): Pack {
  const blobs: PlacedBlob[] = [];
  const chunks: Uint8Array[] = [];
  let size = 0;
  return {
    key,
    blobs,
    chunks,
    get size() {
      return size;
    },
    add(digest, bytes) {
      const blob = { digest, size: bytes.length, key, offset: size };
      blobs.push(blob);
      chunks.push(Buffer.from(bytes));
      size += bytes.length;
      return blob;
    },
  };
}
