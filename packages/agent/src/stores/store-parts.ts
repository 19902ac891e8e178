/** Divides what is written to a store into parts, which are sent one after the other. */
import { PermanentFault } from '@headgate/pipelines';

/** Bytes of a part. S3 takes at most 10,000 parts of at least 5 MiB. */
const partBytes = 8 * 1_048_576;
const partLimit = 10_000;

export interface PartWriter {
  /** Writes an object that fits into one part. */
  writeWhole(bytes: Buffer): Promise<void>;
  begin(): Promise<string>;
  /** Returns what identifies the part. */
  writePart(upload: string, number: number, bytes: Buffer): Promise<string>;
  complete(upload: string, parts: readonly string[]): Promise<void>;
  abandon(upload: string): Promise<void>;
}

/** Returns the bytes. Nothing is left of an object that is not complete. */
export async function writeInParts(body: AsyncIterable<Buffer>, writer: PartWriter): Promise<number> {
  let upload: string | undefined;
  const parts: string[] = [];
  let total = 0;
  try {
    for await (const { bytes, isLast } of divide(body)) {
      total += bytes.byteLength;
      if (upload === undefined && isLast) {
        await writer.writeWhole(bytes);
        return total;
      }
      upload ??= await writer.begin();
      if (parts.length === partLimit)
        throw new PermanentFault(
          `an object of more than ${(partLimit * partBytes) / 1_048_576} MiB cannot be written: divide it`,
        );
      parts.push(await writer.writePart(upload, parts.length + 1, bytes));
    }
    await writer.complete(upload ?? '', parts);
    return total;
  } catch (error) {
    // Parts that are not completed cost money until they are removed.
    if (upload !== undefined) await writer.abandon(upload).catch(() => undefined);
    throw error;
  }
}

async function* divide(body: AsyncIterable<Buffer>): AsyncGenerator<{ bytes: Buffer; isLast: boolean }> {
  let waiting: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    waiting.push(chunk);
    length += chunk.byteLength;
    // A part is sent when it is known that it is not the last one.
    while (length > partBytes) {
      const all = Buffer.concat(waiting);
      yield { bytes: all.subarray(0, partBytes), isLast: false };
      const rest = Buffer.from(all.subarray(partBytes));
      waiting = [rest];
      length = rest.byteLength;
    }
  }
  yield { bytes: Buffer.concat(waiting), isLast: true };
}
