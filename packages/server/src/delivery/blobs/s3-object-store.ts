/** Objects in a bucket of S3 or a compatible store: `<prefix><account>/<key>`. */
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { problem } from '../../kernel/http/problems.ts';
import type { ListedObject, ObjectStore, ObjectStoreSettings, S3Patience } from './object-store.ts';

type Settings = Extract<ObjectStoreSettings, { kind: 's3' }>;

/** A slow or unavailable store is reported within about a minute. */
const usualPatience: S3Patience = { silentMilliseconds: 10_000, wholeMilliseconds: 60_000, attempts: 3 };
const connectMilliseconds = 5_000;
/** The region in signatures for compatible stores without regions. */
const usualRegion = 'us-east-1';
/** Codes of full stores; not every compatible store uses one of them. */
const fullCodes = ['XMinioStorageFull', 'QuotaExceeded', 'InsufficientStorage'];

export function createS3ObjectStore(settings: Settings): ObjectStore {
  const { bucket, prefix } = settings;
  const patience = settings.patience ?? usualPatience;
  const client = createClient(settings, patience);
  const buildName = (accountId: string, key: string) => `${prefix}${accountId}/${key}`;

  /**
   * Bounds the total time of all attempts. A body that streams afterwards is bounded by the silence limit.
   */
  async function runWithDeadline<Result>(
    work: (abortSignal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), patience.wholeMilliseconds);
    try {
      return await work(late.signal);
    } finally {
      clearTimeout(timer);
    }
  }
  const put = (Key: string, chunks: readonly Uint8Array[]) =>
    runWithDeadline((abortSignal) =>
      // Complete in memory, because it is signed by its digest and may be sent again.
      client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: Buffer.concat(chunks) }), {
        abortSignal,
      }),
    );
  async function getObject(Key: string, start: number, end: number): Promise<Readable> {
    const command = new GetObjectCommand({ Bucket: bucket, Key, Range: `bytes=${start}-${end}` });
    const { Body, ContentLength } = await runWithDeadline((abortSignal) =>
      client.send(command, { abortSignal }),
    );
    const body = Body as Readable;
    // A store that ignores the range would send the other files of the pack too.
    if (ContentLength === end - start + 1) return body;
    body.on('error', () => undefined).destroy();
    throw new Error(`The bucket sent ${ContentLength} bytes for the range ${start}-${end}.`);
  }
  const deleteObject = (Key: string) =>
    runWithDeadline((abortSignal) =>
      client.send(new DeleteObjectCommand({ Bucket: bucket, Key }), { abortSignal }),
    );
  function listPage(Prefix: string, after: string | undefined): Promise<ListObjectsV2CommandOutput> {
    const from = after === undefined ? {} : { ContinuationToken: after };
    const command = new ListObjectsV2Command({ Bucket: bucket, Prefix, ...from });
    return runWithDeadline((abortSignal) => client.send(command, { abortSignal }));
  }

  return {
    isLocal: false,
    async put(accountId, key, chunks) {
      await put(buildName(accountId, key), chunks).catch(throwProblem);
    },
    async read(accountId, key, { start, length }) {
      return getObject(buildName(accountId, key), start, start + length - 1).catch((failure) =>
        isNotFound(failure) ? undefined : throwProblem(failure),
      );
    },
    async remove(accountId, key) {
      await deleteObject(buildName(accountId, key)).catch(
        (failure) => isNotFound(failure) || throwProblem(failure),
      );
    },
    async *list(accountId): AsyncGenerator<ListedObject> {
      const folder = buildName(accountId, '');
      const pages = new Set<string | undefined>();
      let after: string | undefined;
      do {
        pages.add(after);
        const found: ListObjectsV2CommandOutput = await listPage(folder, after).catch(throwProblem);
        for (const { Key = '', LastModified } of found.Contents ?? []) {
          // What is listed may be deleted. A store that ignores the prefix lists objects of others.
          if (!Key.startsWith(folder)) throw new Error(`The bucket listed a key outside of ${folder}.`);
          if (LastModified !== undefined) yield { key: Key.slice(folder.length), modifiedAt: LastModified };
        }
        after = found.NextContinuationToken;
        if (after !== undefined && pages.has(after))
          throw new Error('The bucket repeats a continuation token, so that its list has no end.');
      } while (after !== undefined);
    },
    async probe() {
      const name = `${prefix}probe-${randomUUID()}`;
      await put(name, [Buffer.from('probe')]);
      (await getObject(name, 1, 3)).resume();
      await listPage(name, undefined);
      await deleteObject(name);
    },
    close: () => client.destroy(),
  };
}

function createClient(
  { region, endpoint, pathStyle, credentials: input }: Settings,
  patience: S3Patience,
): S3Client {
  const credentials = input && {
    accessKeyId: input.accessKeyId,
    secretAccessKey: input.secretAccessKey.reveal(),
  };
  return new S3Client({
    ...(endpoint === undefined ? {} : { endpoint, region: usualRegion }),
    ...(region === undefined ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials }),
    forcePathStyle: pathStyle,
    maxAttempts: patience.attempts,
    // Requests are signed by their digest. Not every compatible store supports further checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: Math.min(connectMilliseconds, patience.silentMilliseconds),
      socketTimeout: patience.silentMilliseconds,
    },
  });
}

function isNotFound(failure: unknown): boolean {
  return failure instanceof S3ServiceException && failure.name === 'NoSuchKey';
}

/** Throws a problem that reveals nothing of the bucket or its keys. */
function throwProblem(failure: unknown): never {
  const full = failure instanceof Error && fullCodes.includes(failure.name);
  throw Object.assign(problem(full ? 'storage-full' : 'storage-unavailable'), { cause: failure });
}
