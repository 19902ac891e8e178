/**
 * A file with the rows of a load: on each line a JSON object with `n`, which counts them, `r`, the row, and perhaps
 * `x`, the names of its values that are written as texts.
 */
import type { GatheredRows } from '@headgate/pipelines';
import type { RunPorts } from '../ports/ports.ts';

/** Characters that are sent to the agent at once. */
const chunkLength = 1_048_576;
/** It stands for the path in what a step shows. */
export const rowFileName = 'headgate-connector-rows.json';

export interface RowFile {
  readonly path: string;
  /** @param texts as `writeExactly` gives them */
  add(row: unknown, texts?: readonly string[]): Promise<void>;
  /** Writes what waits. Undefined if there is no row. */
  finish(): Promise<GatheredRows['file']>;
  remove(): Promise<void>;
}

export async function createRowFile(files: RunPorts['files']): Promise<RowFile> {
  const path = await files.beginWrite(rowFileName);
  let waiting: string[] = [];
  let length = 0;
  let rows = 0;
  let lineBytes = 0;
  let hasTexts = false;
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
    path,
    async add(row, texts) {
      rows += 1;
      hasTexts ||= texts !== undefined;
      const more = texts === undefined ? '' : `,"x":${JSON.stringify(texts)}`;
      const line = `{"n":${rows},"r":${JSON.stringify(row)}${more}}\n`;
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
      return { path, lineBytes, hasTexts };
    },
    async remove() {
      await writing.catch(() => undefined);
      await files.endWrite(path, false);
    },
  };
}
