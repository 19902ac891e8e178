/** Blobs one after another, gathered in memory until they are put as one object. */

/** A pack that has as much takes no further blob, and is put while the next one fills. */
export const fullPackBytes = 4 * 1_048_576;

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
  /** The bytes are kept as they are, and with them the whole piece of memory that they lie in. */
  add(digest: string, bytes: Uint8Array): void;
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
      blobs.push({ digest, size: bytes.length, key, offset: size });
      chunks.push(bytes);
      size += bytes.length;
    },
  };
}
