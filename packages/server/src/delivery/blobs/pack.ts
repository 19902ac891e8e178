/** Blobs one after another, gathered in memory until they are put as one object. */

/** A pack that has as much takes no further blob, and is put while the next one fills. */
export const fullPackBytes = 2 * 1_048_576;

/** Bytes are copied into pieces of memory so large: a thousand small ones take three times as long to write. */
const pieceBytes = 262_144;

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
  /** The bytes are copied. */
  add(digest: string, bytes: Uint8Array): void;
}

export function createPack(key: string): Pack {
  const blobs: PlacedBlob[] = [];
  const full: Buffer[] = [];
  let piece = Buffer.alloc(0);
  let used = 0;
  let size = 0;
  return {
    key,
    blobs,
    get chunks() {
      return [...full, piece.subarray(0, used)];
    },
    get size() {
      return size;
    },
    add(digest, bytes) {
      blobs.push({ digest, size: bytes.length, key, offset: size });
      size += bytes.length;
      for (let at = 0; at < bytes.length; ) {
        if (used === piece.length) {
          if (used > 0) full.push(piece);
          piece = Buffer.allocUnsafeSlow(pieceBytes);
          used = 0;
        }
        const some = bytes.subarray(at, at + piece.length - used);
        piece.set(some, used);
        used += some.length;
        at += some.length;
      }
    },
  };
}
