/**
 * The file of a backup: a gzipped tar, which any tar lists and extracts (docs/adr/0016).
 *
 * Terminology
 *   member   one file in it, small enough to fit in memory
 *   sums     the last member but one: SHA-256 and name of every earlier member, as `sha256sum -c` reads them
 *   seal     the last member: a digest of the sums, keyed with the master key
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { link, open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline as piped } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { createGunzip, createGzip } from 'node:zlib';
import { createTarDecoder, createTarPacker, type ParsedTarEntry } from 'modern-tar';
import { processIdentity } from '../../../../../scripts/process-lock.mjs';

const sumsName = 'SHA256SUMS';
const sealName = 'SHA256SUMS.seal';
/** Larger than any table part or published file. */
const largestMemberBytes = 2_000_000_000;

export interface Member {
  name: string;
  bytes: Buffer;
}

export type AddMember = (name: string, bytes: Buffer) => Promise<void>;
export type SealSums = (sums: string) => string;

/**
 * Writes to a temporary name and renames the file when it is complete and on disk.
 * @throws if the file exists; after any failure nothing is left
 */
export async function writeArchive(
  file: string,
  by: { seal: SealSums; madeAt: Date; signal: AbortSignal },
  fill: (add: AddMember) => Promise<void>,
): Promise<void> {
  await removeLeftovers(file);
  const aside = `${file}.${process.pid}.partial`;
  try {
    await writeMembers(aside, by, fill);
    await link(aside, file).catch((failure) => {
      if (failure.code !== 'EEXIST') throw failure;
      throw new Error(`${file} already exists. Give another file name, or move the existing file.`);
    });
  } finally {
    await rm(aside, { force: true });
  }
  const folder = await open(dirname(file), 'r');
  await folder.sync().finally(() => folder.close());
}

async function writeMembers(
  file: string,
  { seal, madeAt, signal }: { seal: SealSums; madeAt: Date; signal: AbortSignal },
  fill: (add: AddMember) => Promise<void>,
): Promise<void> {
  const { readable, controller } = createTarPacker();
  async function writeMember(name: string, bytes: Buffer): Promise<void> {
    const writer = controller.add({ name, size: bytes.length, mode: 0o600, mtime: madeAt }).getWriter();
    if (bytes.length > 0) await writer.write(bytes);
    await writer.close();
  }
  async function fillAndSeal(): Promise<void> {
    const lines: string[] = [];
    await fill(async (name, bytes) => {
      lines.push(formatSumLine(name, bytes));
      await writeMember(name, bytes);
    });
    const sums = lines.join('');
    await writeMember(sumsName, Buffer.from(sums));
    await writeMember(sealName, Buffer.from(`${seal(sums)}\n`));
    controller.finalize();
  }
  // The end of the stream that fails first has the reason.
  let failure: unknown;
  const noteFailure = (reason: unknown): void => {
    failure ??= reason;
    controller.error(failure);
  };
  // The fastest level, because the backup runs beside a server.
  const gzip = createGzip({ level: 1 });
  const written = piped(
    Readable.fromWeb(readable as ReadableStream),
    gzip,
    createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }),
    { signal },
  );
  await Promise.all([written.catch(noteFailure), fillAndSeal().catch(noteFailure)]);
  if (failure !== undefined) throw failure;
}

/** Removes partial files of killed backups. */
async function removeLeftovers(file: string): Promise<void> {
  const folder = dirname(file);
  for (const name of await readdir(folder)) {
    const pid = name.startsWith(`${basename(file)}.`) && /\.(\d+)\.partial$/.exec(name)?.[1];
    if (pid && processIdentity(Number(pid)) === undefined) await rm(join(folder, name), { force: true });
  }
}

function formatSumLine(name: string, bytes: Buffer): string {
  return `${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`;
}

/** The file is not a valid backup. */
export class DamagedArchive extends Error {
  override name = 'DamagedArchive';
}

/**
 * Reads the whole file once and returns its sums. Nothing may be used before that.
 * @param look gets the first member, before all others; its errors are passed on
 * @throws DamagedArchive if anything is missing, changed, or sealed by another key
 */
export async function verifyArchive(
  file: string,
  seal: SealSums,
  look: (first: Member) => void,
): Promise<string> {
  const found: string[] = [];
  let sums: string | undefined;
  let sealed = false;
  for await (const member of readMembers(file)) {
    const { name, bytes } = member;
    if (found.length === 0) look(member);
    if (name === sealName && sums !== undefined) sealed = bytes.toString().trim() === seal(sums);
    else if (sums !== undefined)
      throw createDamagedError(file, `it has a member ${JSON.stringify(name)} after its end`);
    else if (name === sumsName) {
      sums = bytes.toString();
      checkSums(file, sums, found);
    } else found.push(formatSumLine(name, bytes));
  }
  if (sums === undefined) throw createDamagedError(file, 'its end is missing');
  if (!sealed) throw createDamagedError(file, 'its list of contents was not sealed by this master key');
  return sums;
}

function checkSums(file: string, sums: string, found: readonly string[]): void {
  const expected = sums.split(/(?<=\n)/);
  const wrong = found.find((line, index) => line !== expected[index]) ?? expected[found.length];
  if (wrong !== undefined)
    throw createDamagedError(file, `${wrong.slice(66).trim()} does not match its checksum`);
}

/** Yields the members of a verified file in order, after comparing each with its sum again. */
export async function* readVerifiedMembers(file: string, sums: string): AsyncGenerator<Member> {
  const expected = sums.split(/(?<=\n)/);
  let index = 0;
  for await (const member of readMembers(file)) {
    if (member.name === sumsName) return;
    if (formatSumLine(member.name, member.bytes) !== expected[index])
      throw createDamagedError(file, 'it was changed while it was read');
    index += 1;
    yield member;
  }
}

async function* readMembers(file: string): AsyncGenerator<Member> {
  const unpacked = pipeline(createReadStream(file), createGunzip(), () => undefined);
  const entries = Readable.toWeb(unpacked).pipeThrough(
    createTarDecoder({ strict: true }) as unknown as {
      readable: ReadableStream<ParsedTarEntry>;
      writable: WritableStream;
    },
  );
  const reader = entries.getReader();
  try {
    for (;;) {
      const { done, value: entry } = await reader.read();
      if (done) return;
      const { name, size, type } = entry.header;
      if (type !== 'file' || size > largestMemberBytes)
        throw new Error(`${name} does not belong in a backup`);
      yield { name, bytes: await buffer(entry.body as ReadableStream) };
    }
  } catch (failure) {
    if (failure instanceof DamagedArchive) throw failure;
    if (failure instanceof Error && 'code' in failure && /^E[A-Z]+$/.test(String(failure.code)))
      throw new Error(`${file} cannot be read: ${failure.message}`);
    throw createDamagedError(file, failure instanceof Error ? failure.message : String(failure));
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function createDamagedError(file: string, reason: string): DamagedArchive {
  return new DamagedArchive(
    `${file} is not a complete backup: ${reason}. The file is truncated or changed; nothing was restored.`,
  );
}
