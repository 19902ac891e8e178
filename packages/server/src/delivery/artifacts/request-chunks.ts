/**
 * The memory of a request, freed as soon as nothing reads it. V8 frees it with a large collection only, and makes one for every 40 MiB of it: they
 * took a third of the processor time of an upload (docs/adr/0028).
 *
 * Terminology
 *   chunk  what one read of the connection gave; the parts of a form are cut out of chunks. What cuts them still reads the last one
 */
export interface RequestChunks {
  /** Told of each chunk before anything is cut out of it. */
  arrived(chunk: Buffer): void;
  /** Frees, when it is called, the chunks up to now but for the last: nothing that was cut out of them is needed any more by then. */
  upToNow(): () => void;
}

/** What is not freed by then is left to V8: files that are ignored never are, and a part may be larger than all that is to be in memory. */
const mostChunks = 128;

export function createRequestChunks(): RequestChunks {
  let chunks: Buffer[] = [];
  return {
    arrived(chunk) {
      if (chunks.length === mostChunks) chunks = [];
      chunks.push(chunk);
    },
    upToNow() {
      const before = chunks.slice(0, -1);
      chunks = chunks.slice(-1);
      return () => before.forEach(freeMemory);
    },
  };
}

/** Whoever reads the bytes afterwards finds none. Those that share their memory with others stay, and what is free is free. */
export function freeMemory({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength && !buffer.detached)
    buffer.transfer(0);
}
