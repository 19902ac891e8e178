import { open } from 'node:fs/promises';
import type { LogTarget } from '@headgate/contract/log-writer';
import { createStream, type RotatingFileStream } from 'rotating-file-stream';

/**
 * A log file of about `maxBytes`; the previous one has the same name with `.1`. After a failure the next
 * write opens the file again.
 */
export function createRotatingFile(path: string, maxBytes: number): LogTarget {
  let stream: RotatingFileStream | undefined;

  function openStream(): RotatingFileStream {
    const opened = createStream(path, { size: `${maxBytes}B`, rotate: 1, mode: 0o600 });
    // The callback of the write reports it.
    opened.on('error', () => undefined);
    return opened;
  }

  return {
    async write(text) {
      // A line truncated by a failure or crash must not run into the next one.
      const whole = stream === undefined && (await endsWithinLine(path)) ? `\n${text}` : text;
      stream ??= openStream();
      const used = stream;
      await new Promise<void>((resolve, reject) => {
        used.write(whole, (failure) => {
          if (failure === null || failure === undefined) return resolve();
          stream = undefined;
          used.destroy();
          reject(failure);
        });
      });
    },
    async close() {
      const used = stream;
      if (used !== undefined) await new Promise<void>((resolve) => used.end(() => resolve()));
    },
  };
}

async function endsWithinLine(path: string): Promise<boolean> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return false;
  try {
    const { size } = await file.stat();
    if (size === 0) return false;
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer.toString() !== '\n';
  } finally {
    await file.close();
  }
}
