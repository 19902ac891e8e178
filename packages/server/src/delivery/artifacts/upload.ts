/**
 * Reads an upload: turns the parts of a multipart form into blobs and manifest entries as they arrive.
 *
 * Terminology
 *   batch  files that are looked up with one query. While one batch is stored the next one fills, and then the
 *          request waits, so memory does not grow with the request
 */
import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setImmediate as breath } from 'node:timers/promises';
import type { IgnoredPipeline, IgnoredResource } from '@headgate/contract';
import { decodeContent } from '../../kernel/http/content-encoding.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { BlobWriter, KeptBlobs } from '../blobs/index.ts';
import { findAssetNameFault, normalizeName, requireNoFileAsFolder } from './asset-name.ts';
import { createFormParser, type FormPart } from './form-parser.ts';
import { createTooLargeProblem, createUnreadableProblem } from './form-problems.ts';
import { createGitFiles, isGitFile } from './git-files.ts';
import { buildManifest, type Manifest, type ManifestFile } from './manifest.ts';
import type { PipelineChecks } from './pipeline-checks.ts';
import { isPipelinePath, type PipelineDescription } from './pipeline-description.ts';

export interface UploadLimits {
  parts: number;
  partBytes: number;
  requestBytes: number;
}

export interface Upload {
  manifest: Manifest;
  pipelines: PipelineDescription[];
  ignored: IgnoredResource[];
  /** The pipelines among the ignored files. */
  unreadable: IgnoredPipeline[];
  blobs: KeptBlobs;
}

const batchFiles = 1_024;
const batchBytes = 2 * 1_048_576;
/** An upload yields to other requests after working this long without a wait. */
const longestStretchMilliseconds = 10;

/**
 * When it resolves, all bytes are stored, and nothing references them yet. Throws `unsupported-media-type`,
 * `invalid-upload`, `invalid-asset-name`, `body-too-large` and the problems of the storage.
 */
export async function readUpload(
  request: IncomingMessage,
  limits: UploadLimits,
  writer: BlobWriter,
  checks: PipelineChecks,
): Promise<Upload> {
  const collected = createCollection(createBatches(writer), checks);
  await readParts(request, limits, (name, bytes) => collected.add(name, bytes));
  return collected.finish();
}

function createCollection(batches: Batches, checks: PipelineChecks) {
  const files: ManifestFile[] = [];
  const pipelines: PipelineDescription[] = [];
  const ignored: IgnoredResource[] = [];
  const unreadable: IgnoredPipeline[] = [];
  const names = new Set<string>();
  const gitFiles = createGitFiles();

  function store(path: string, bytes: Buffer): Promise<void> | undefined {
    const sha256 = hash('sha256', bytes, 'hex');
    files.push({ path, sha256, size: bytes.length });
    return batches.add(sha256, bytes);
  }

  async function storePipeline(path: string, bytes: Buffer): Promise<void> {
    const { pipeline, fault } = await checks.take(path, bytes.toString('utf8'));
    if (pipeline === undefined) {
      ignored.push({ name: path, reason: `The pipeline cannot be read: ${fault.reason}` });
      unreadable.push({ path, ...fault });
      return;
    }
    pipelines.push(pipeline);
    await store(path, bytes);
  }

  return {
    /** Returns a promise if the next part must wait. */
    add(name: string, bytes: Buffer): Promise<void> | undefined {
      if (isGitFile(name)) {
        gitFiles.add(name);
        return undefined;
      }
      const key = normalizeName(name);
      if (names.has(key))
        throw problem('invalid-asset-name', { name, reason: 'another part has the same name.' });
      names.add(key);
      // The bytes decide whether a file is text, not its content type (decisions.md E10).
      if (!isUtf8(bytes) || bytes.includes(0)) {
        ignored.push({
          name,
          reason: 'It is not a text file: its bytes are not valid UTF-8 or contain NUL.',
        });
        if (isPipelinePath(name)) {
          const fault = { reason: 'line 1: it is not a text file', line: 1 };
          unreadable.push({ path: name, ...fault });
          checks.leaveOut(name, fault);
        }
        return undefined;
      }
      return isPipelinePath(name) ? storePipeline(name, bytes) : store(name, bytes);
    },
    async finish(): Promise<Upload> {
      requireNoFileAsFolder(names);
      const kept = batches.finish();
      // Reported where `kept` is awaited.
      kept.catch(() => undefined);
      ignored.push(...gitFiles.listIgnored());
      return { manifest: buildManifest(files), pipelines, ignored, unreadable, blobs: await kept };
    },
  };
}

interface Batches {
  /** Returns a promise if the next file must wait. */
  add(digest: string, bytes: Buffer): Promise<void> | undefined;
  finish(): Promise<KeptBlobs>;
}

function createBatches(writer: BlobWriter): Batches {
  let batch: { digest: string; bytes: Buffer }[] = [];
  let bytesInBatch = 0;
  let keeping: Promise<void> = Promise.resolve();

  async function handOver(): Promise<void> {
    const full = batch;
    batch = [];
    bytesInBatch = 0;
    await keeping;
    keeping = writer.keep(full);
    keeping.catch(() => undefined);
  }

  return {
    add(digest, bytes) {
      batch.push({ digest, bytes });
      bytesInBatch += bytes.length;
      return batch.length < batchFiles && bytesInBatch < batchBytes ? undefined : handOver();
    },
    async finish() {
      if (batch.length > 0) await handOver();
      await keeping;
      return writer.finish();
    },
  };
}

/** Calls `take` for each part in the order of the form. The request waits for its promise. */
async function readParts(
  request: IncomingMessage,
  limits: UploadLimits,
  take: (name: string, bytes: Buffer) => Promise<void> | undefined,
): Promise<void> {
  const form = createFormParser(readBoundary(request), { ...limits, isUnwanted: isGitFile });
  let received = 0;
  let since = performance.now();

  async function takeAll(parts: readonly FormPart[]): Promise<void> {
    for (const { name, content } of parts) {
      const fault = findAssetNameFault(name);
      if (fault !== undefined) throw problem('invalid-asset-name', { name, reason: fault });
      const wait = take(name, content);
      if (wait !== undefined) await wait;
    }
  }

  try {
    for await (const chunk of decodeContent(request)) {
      received += chunk.length;
      if (received > limits.requestBytes)
        throw createTooLargeProblem(
          `an upload has at most ${limits.requestBytes} bytes`,
          'HEADGATE_UPLOAD_MB',
        );
      await takeAll(await form.write(chunk));
      if (performance.now() - since < longestStretchMilliseconds) continue;
      await breath();
      since = performance.now();
    }
    await takeAll(await form.end());
  } catch (failure) {
    // The connection closed before the form was complete.
    const lost = failure instanceof Error && 'code' in failure && failure.code === 'ECONNRESET';
    throw lost ? createUnreadableProblem('the client closed the connection') : failure;
  }
}

function readBoundary(request: IncomingMessage): string {
  const match = /^multipart\/form-data\s*;.*\bboundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(
    request.headers['content-type'] ?? '',
  );
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined)
    throw problem('unsupported-media-type', { expected: 'multipart/form-data; boundary=…' });
  return boundary;
}
