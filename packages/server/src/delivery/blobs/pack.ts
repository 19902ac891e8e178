/** Blobs one after another, gathered in memory until they are put as one object. */

/** A pack that has as much takes no further blob, and is put while the next one fills. */
export const fullPackBytes = 4 * 1_048_576;
const slabBytes = 1_048_576;

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
  /** Copies the bytes: a small file would keep the whole piece of the request that it came in. */
  add(digest: string, bytes: Uint8Array): void;
}

export function createPack(key: string): Pack {
  const blobs: PlacedBlob[] = [];
  const chunks: Uint8Array[] = [];
  let slab: Uint8Array = new Uint8Array(0);
  let used = 0;
  let size = 0;

  function append(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (used === slab.length) {
        slab = Buffer.allocUnsafeSlow(slabBytes);
        used = 0;
        chunks.push(slab);
      }
      const piece = bytes.subarray(at, at + slab.length - used);
      slab.set(piece, used);
      used += piece.length;
      at += piece.length;
    }
  }

  return {
    key,
    blobs,
    get size() {
      return size;
    },
    get chunks() {
      const last = chunks.length - 1;
      return chunks.map((chunk, index) => (index === last ? chunk.subarray(0, used) : chunk));
    },
    add(digest, bytes) {
      blobs.push({ digest, size: bytes.length, key, offset: size });
      append(bytes);
      size += bytes.length;
    },
  };
}
