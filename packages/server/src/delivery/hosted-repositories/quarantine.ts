/**
 * The pack of a push, apart from the repository until it has been judged. What is refused or cut leaves
 * nothing.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../../kernel/http/problems.ts';
import {
  type Git,
  type GitCall,
  type GitRepository,
  type IncomingObjects,
  makeIncomingObjects,
  measureObjects,
  openGitRepository,
  strictOption,
} from '../git/index.ts';

/** Of the header of a pack: PACK, version, number of objects. */
const headerBytes = 12;
const checksumBytes = 20;
const longestUnpackMilliseconds = 900_000;
/** Codes of writing to a program that reads no more, or has ended. */
const stoppedReading = new Set<string | undefined>([
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_UNABLE_TO_PIPE',
]);
const longestCheckMilliseconds = 300_000;

export interface PackLimits {
  /** Of the whole repository. */
  bytes: number;
  /** Of one pack. */
  objects: number;
  /**
   * After the last byte has arrived, and as much again for each MB: a small pack can say that its objects are
   * the same bytes many times over.
   */
  resolveMilliseconds: number;
}

/** Why a pack was not taken, for the user. */
export class PackRefusal extends Error {
  override name = 'PackRefusal';
  /** What git says, line by line. */
  readonly words: string;
  /** Whether the repository has no room for it. */
  readonly isForSize: boolean;

  constructor(reason: string, words = '', isForSize = false) {
    super(reason);
    this.words = words;
    this.isForSize = isForSize;
  }
}

export interface Quarantine {
  /** The repository with the objects of the pack. */
  repository: GitRepository;
  /** Reads the pack and checks every object. @throws PackRefusal */
  unpack(content: AsyncGenerator<Buffer, void, undefined>): Promise<void>;
  /**
   * Adds what these objects need and only a deleted branch had: a repack under way may drop it there.
   * @returns false if something is missing @throws PackRefusal if the repository has no room for it
   */
  complete(objectIds: readonly string[]): Promise<boolean>;
  /** Makes the objects part of the repository. */
  release(): Promise<void>;
  remove(): Promise<void>;
}

export async function openQuarantine(
  git: Git,
  {
    folder,
    accountId,
    id,
    limits,
    signal,
  }: { folder: string; accountId: string; id: string; limits: PackLimits; signal: AbortSignal },
): Promise<Quarantine> {
  const incoming = await makeIncomingObjects(git, folder, id);
  const { environment } = incoming;
  const call: GitCall = { folder, accountId, signal, environment };
  return {
    repository: openGitRepository(git, { folder, accountId, signal, environment }),
    unpack: (content) => unpack(git, call, { content, limits }),
    async complete(objectIds) {
      const isComplete = await packMissing(incoming, objectIds, call);
      // An empty pack, again and again, would add the objects of the same deleted branch each time.
      const added = isComplete ? await incoming.measure() : 0;
      if (added > 0 && added + (await measurePresent(git, call)) > limits.bytes)
        throw createSizeRefusal(limits);
      return isComplete;
    },
    release: incoming.release,
    remove: incoming.remove,
  };
}

async function packMissing(
  incoming: IncomingObjects,
  objectIds: readonly string[],
  call: GitCall,
): Promise<boolean> {
  try {
    return await incoming.packMissing(objectIds, { ...call, timeoutMilliseconds: longestCheckMilliseconds });
  } catch (failure) {
    // Ended by a limit, as a tree of a million levels is.
    if (failure instanceof Problem && failure.code === 'git-failed') return false;
    throw failure;
  }
}

/** Bytes of the repository without the pack. */
const measurePresent = (git: Git, call: GitCall) => measureObjects(git, { ...call, environment: {} });

function createSizeRefusal({ bytes }: PackLimits, words = ''): PackRefusal {
  const most = Math.floor(bytes / 1_048_576);
  return new PackRefusal(`the repository would have more than ${most} MB`, words, true);
}

async function unpack(
  git: Git,
  call: GitCall,
  { content, limits }: { content: AsyncGenerator<Buffer, void, undefined>; limits: PackLimits },
): Promise<void> {
  const { head, count } = await readHeader(content);
  if (count > limits.objects)
    throw new PackRefusal(`the pack has ${count} objects; a push may have at most ${limits.objects}`);
  if (count === 0) return readEmptyPack(head, content);
  const left = limits.bytes - (await measurePresent(git, call));
  if (left <= 0) throw createSizeRefusal(limits);
  const args = ['index-pack', '--stdin', '--keep', '--fix-thin', strictOption, `--max-input-size=${left}`];
  const indexing = await git.spawn(args, {
    ...call,
    kind: 'long',
    timeoutMilliseconds: longestUnpackMilliseconds,
  });
  let unread = 0;
  let bytes = head.length;
  async function* feed() {
    yield head;
    for await (const chunk of content) {
      unread = chunk.length;
      bytes += chunk.length;
      yield chunk;
    }
  }
  let sourceFailure: unknown;
  let isAllRead = true;
  const answered: Buffer[] = [];
  indexing.stdout.on('data', (chunk: Buffer) => answered.push(chunk));
  const feeding = pipeline(Readable.from(feed(), { objectMode: false }), indexing.stdin).catch(
    (failure: NodeJS.ErrnoException) => {
      // Git stopped reading; its own words say why.
      if (stoppedReading.has(failure.code)) isAllRead = unread === 0;
      else {
        sourceFailure = failure;
        indexing.kill();
      }
    },
  );
  let isSlow = false;
  let timer: NodeJS.Timeout | undefined;
  const bounded = feeding.then(() => {
    const milliseconds = limits.resolveMilliseconds * (1 + Math.ceil(bytes / 1_048_576));
    timer = setTimeout(() => {
      isSlow = true;
      indexing.kill();
    }, milliseconds);
  });
  const { code, stderr } = await indexing.ended.finally(() => bounded.then(() => clearTimeout(timer)));
  if (isSlow) throw new PackRefusal('its objects take too long to unpack: they are far larger than the pack');
  if (sourceFailure !== undefined) throw sourceFailure;
  if (code !== 0) {
    const isTooLarge = code !== undefined && /exceeds maximum allowed size/.test(stderr);
    throw isTooLarge
      ? createSizeRefusal(limits, stderr)
      : new PackRefusal('git index-pack refused it', stderr);
  }
  // It answers `keep`, the checksum, and what it read beyond the pack.
  const answer = Buffer.concat(answered);
  if (!isAllRead || answer.indexOf(10) !== answer.length - 1)
    throw new PackRefusal('there are bytes after the end of the pack');
}

async function readHeader(
  content: AsyncGenerator<Buffer, void, undefined>,
): Promise<{ head: Buffer; count: number }> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < headerBytes) {
    const next = await content.next();
    if (next.done === true) throw new PackRefusal(head.length === 0 ? 'there is no pack' : 'the pack is cut');
    head = Buffer.concat([head, next.value]);
  }
  if (head.subarray(0, 4).toString('latin1') !== 'PACK')
    throw new PackRefusal('what follows the commands is no pack');
  return { head, count: head.readUInt32BE(8) };
}

async function readEmptyPack(head: Buffer, content: AsyncGenerator<Buffer, void, undefined>): Promise<void> {
  let bytes = head.length;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > headerBytes + checksumBytes)
      throw new PackRefusal('there are bytes after the end of the pack');
  }
  if (bytes < headerBytes + checksumBytes) throw new PackRefusal('the pack is cut');
}
