/** Fetches the files of one version, verifies each against the manifest, and seals them. */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ArtifactManifest } from '@headgate/contract';
import { retry } from '../backoff.ts';
import { type ControlPlane, isTransient } from '../session/control-plane.ts';

const parallelFetches = 4;
const attemptsPerFile = 6;
const segmentLimitBytes = 255;

type ManifestFile = ArtifactManifest['files'][number];
type Source = Pick<ControlPlane, 'blob'>;

/** Fetches all files into a folder and seals it. @throws Error with a message for the user */
export async function fetchFiles(
  source: Source,
  folder: string,
  files: readonly ManifestFile[],
  signal: AbortSignal,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const waiting = files.values();
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const worker = async () => {
    try {
      for (const file of waiting) {
        const target = join(folder, file.path);
        await mkdir(dirname(target), { recursive: true });
        await retryFetch(() => fetchFile(source, target, file, either), either);
      }
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  };
  const workers = Array.from({ length: parallelFetches }, worker);
  await Promise.allSettled(workers);
  await Promise.all(workers);
  await seal(folder);
}

async function fetchFile(
  source: Source,
  target: string,
  file: ManifestFile,
  signal: AbortSignal,
): Promise<void> {
  const hash = createHash('sha256');
  let size = 0;
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      hash.update(chunk);
      done(size > file.size ? new DamagedFile(file, `more than ${file.size} bytes`) : null, chunk);
    },
  });
  const bytes = Readable.from(await source.blob(file.sha256, signal));
  try {
    // `wx`: two paths that are the same on this file system must not overwrite each other.
    await pipeline(bytes, check, createWriteStream(target, { flags: 'wx', mode: 0o444 }), { signal });
    if (size !== file.size)
      throw new Error(`${file.path}: the transfer ended after ${size} of ${file.size} bytes`);
    const found = hash.digest('hex');
    if (found !== file.sha256) throw new DamagedFile(file, `SHA-256 ${found}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new DamagedFile(file, 'the same name as another file of the artifact on this file system');
    }
    await rm(target, { force: true });
    throw error;
  }
}

/** The received bytes do not match the manifest. A retry does not help. */
class DamagedFile extends Error {
  constructor(file: ManifestFile, found: string) {
    super(
      `the artifact’s file ${JSON.stringify(file.path)} differs from the published one: it has ${found}, ` +
        `but its manifest says ${file.size} bytes with SHA-256 ${file.sha256}: publish the version again`,
    );
  }
}

export function retryFetch<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const again = (error: unknown) => !(error instanceof DamagedFile) && isTransient(error);
  return retry(attempt, { limit: attemptsPerFile, signal, again });
}

/** Checks a path again although the server did at upload: a bad path could escape from the folder. */
export function checkPath(path: string): void {
  const segments = path.split('/');
  const bad = segments.some((segment) => segment === '' || segment === '.' || segment === '..');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  if (bad || /[\\\u0000-\u001f\u007f]/.test(path)) {
    throw new Error(
      `the artifact’s path ${JSON.stringify(path)} is not a relative path inside the artifact: publish it under another path`,
    );
  }
  const long = segments.find((segment) => Buffer.byteLength(segment) > segmentLimitBytes);
  if (long) {
    throw new Error(
      `the artifact’s path ${JSON.stringify(path)} has a segment of more than ${segmentLimitBytes} bytes: shorten it`,
    );
  }
}

async function seal(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await seal(join(folder, entry.name));
  }
  await chmod(folder, 0o555);
}
