/** A pack: blobs one after another, collected in memory and put as one object. */

/** A pack of this size is put while the next one fills. */
export const fullPackBytes = 2 * 1_048_576;

/** Packs are written in pieces of this size. */
const pieceBytes = 262_144;

/** The key of an empty blob. */
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
  const pieces: Buffer[] = [];
  let size = 0;

  /** Returns the rest of the last piece, or a new piece. */
  function getFreePiece(): Buffer {
    const used = size - (pieces.length - 1) * pieceBytes;
    const last = pieces.at(-1)?.subarray(used);
    if (last !== undefined && last.length > 0) return last;
    const piece = Buffer.allocUnsafe(pieceBytes);
    pieces.push(piece);
    return piece;
  }

  return {
    key,
    blobs,
    get chunks() {
      return pieces.map((piece, index) => piece.subarray(0, size - index * pieceBytes));
    },
    get size() {
      return size;
    },
    add(digest, bytes) {
      const blob = { digest, size: bytes.length, key, offset: size };
      blobs.push(blob);
      for (let left = bytes; left.length > 0; ) {
        const into = getFreePiece();
        const some = left.subarray(0, into.length);
        into.set(some);
        size += some.length;
        left = left.subarray(some.length);
      }
      return blob;
    },
  };
}
