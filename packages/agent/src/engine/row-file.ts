/** A file with the rows of a load: on each line a JSON object with `n`, which counts them, and `r`, the row. */
import type { GatheredRows } from '@headgate/pipelines';
import type { RunPorts } from './ports.ts';

/** Characters that are sent to the agent at once. */
const chunkLength = 1_048_576;
const name = 'headgate-connector-rows.json';

export interface RowFile {
  add(row: unknown): Promise<void>;
  /** Writes what waits. Undefined if there is no row. */
  finish(): Promise<GatheredRows['file']>;
  remove(): Promise<void>;
}

export async function createRowFile(files: RunPorts['files']): Promise<RowFile> {
  const path = await files.beginWrite(name);
  let waiting: string[] = [];
  let length = 0;
  let rows = 0;
  let lineBytes = 0;
  /** The previous part is written while the next one is read. */
  let writing: Promise<void> = Promise.resolve();

  async function flush(): Promise<void> {
    const text = waiting.join('');
    waiting = [];
    length = 0;
    await writing;
    writing = files.append(path, text);
    // It is awaited with the next part.
    writing.catch(() => undefined);
  }

  return {
    async add(row) {
      rows += 1;
      const line = `{"n":${rows},"r":${JSON.stringify(row)}}\n`;
      // No character has more than three bytes for each of its units.
      if (line.length * 3 > lineBytes) lineBytes = Math.max(lineBytes, Buffer.byteLength(line));
      waiting.push(line);
      length += line.length;
      if (length >= chunkLength) await flush();
    },
    async finish() {
      if (rows === 0) return undefined;
      await flush();
      await writing;
      return { path, lineBytes };
    },
    async remove() {
      await writing.catch(() => undefined);
      await files.endWrite(path, false);
    },
  };
}
