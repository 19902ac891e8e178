import { appendFileSync, renameSync, statSync } from 'node:fs';

/** A log of at most twice `maxBytes`: the file, and the one before it under the same name with `.1`. */
export function boundedLogFile(path: string, maxBytes: number): { append(text: string): void } {
  let size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return {
    append(text) {
      if (size > maxBytes) {
        renameSync(path, `${path}.1`);
        size = 0;
      }
      appendFileSync(path, text, { mode: 0o600 });
      size += Buffer.byteLength(text);
    },
  };
}
