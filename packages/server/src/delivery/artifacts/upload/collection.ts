/**
 * Collects the files of a version: whatever they come from, the same rules decide which are stored, which are
 * ignored, and which refuse the whole.
 *
 * Terminology
 *   batch  files that are looked up with one query. While one batch is stored the next one fills, and then the
 *          source waits, so memory does not grow with the version
 */
import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { connectorProfileBytes, type IgnoredPipeline, type IgnoredResource } from '@headgate/contract';
import {
  connectorProfileName,
  describeProfileFinding,
  outlineProfile,
  type ProfileOutline,
  readProfileText,
  type Unreadable,
} from '@headgate/pipelines';
import { problem } from '../../../kernel/http/problems.ts';
import type { BlobWriter, KeptBlobs } from '../../blobs/index.ts';
import type { PipelineChecks } from '../reading/pipeline-checks.ts';
import { isPipelinePath, type PipelineDescription } from '../reading/pipeline-description.ts';
import { findAssetNameFault, normalizeName, requireNoFileAsFolder } from './asset-name.ts';
import { createGitFiles, isGitFile } from './git-files.ts';
import { buildManifest, type Manifest, type ManifestFile } from './manifest.ts';

export interface Upload {
  manifest: Manifest;
  pipelines: PipelineDescription[];
  ignored: IgnoredResource[];
  /** The pipelines and connector profiles among the ignored files. */
  unreadable: IgnoredPipeline[];
  blobs: KeptBlobs;
}

const batchFiles = 1_024;
const batchBytes = 2 * 1_048_576;
export interface Collection {
  /**
   * Takes a file. Returns a promise if the next one must wait. Throws `invalid-asset-name` and
   * `body-too-large`.
   */
  add(name: string, bytes: Buffer): Promise<void> | undefined;
  /** Lists something that is no file of the version. */
  leaveOut(name: string, reason: string): void;
  /** When it resolves, all bytes are stored, and nothing references them yet. */
  finish(): Promise<Upload>;
}

/** `retain`: is given each text file. */
export function createCollection(
  writer: BlobWriter,
  checks: PipelineChecks,
  retain: (path: string, bytes: Buffer) => void = () => undefined,
): Collection {
  const batches = createBatches(writer);
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

  function storeProfile(path: string, bytes: Buffer): Promise<void> | undefined {
    const { outline, fault } = readProfileFile(bytes);
    if (outline !== undefined) {
      checks.takeProfile(path, outline);
      return store(path, bytes);
    }
    ignored.push({ name: path, reason: `The connector profile cannot be read: ${fault.reason}` });
    leaveOutUnreadable(path, fault);
    return undefined;
  }

  function leaveOutUnreadable(path: string, fault: Unreadable): void {
    unreadable.push({ path, ...fault });
    checks.leaveOut(path, fault);
  }

  return {
    add(name, bytes) {
      const fault = findAssetNameFault(name);
      if (fault !== undefined) throw problem('invalid-asset-name', { name, reason: fault });
      if (isGitFile(name)) {
        gitFiles.add(name);
        return undefined;
      }
      const key = normalizeName(name);
      if (names.has(key))
        throw problem('invalid-asset-name', { name, reason: 'another part has the same name.' });
      names.add(key);
      // The bytes decide whether a file is text, not its content type.
      if (!isUtf8(bytes) || bytes.includes(0)) {
        ignored.push({
          name,
          reason: 'It is not a text file: its bytes are not valid UTF-8 or contain NUL.',
        });
        if (isPipelinePath(name) || connectorProfileName(name) !== undefined)
          leaveOutUnreadable(name, { reason: 'line 1: it is not a text file', line: 1 });
        return undefined;
      }
      retain(name, bytes);
      if (connectorProfileName(name) !== undefined) return storeProfile(name, bytes);
      return isPipelinePath(name) ? storePipeline(name, bytes) : store(name, bytes);
    },
    leaveOut(name, reason) {
      ignored.push({ name, reason });
    },
    async finish() {
      requireNoFileAsFolder(names);
      const blobs = batches.finish();
      // Reported where `kept` is awaited.
      blobs.catch(() => undefined);
      ignored.push(...gitFiles.listIgnored());
      return { manifest: buildManifest(files), pipelines, ignored, unreadable, blobs: await blobs };
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

type ProfileFile =
  | { outline: ProfileOutline; fault?: undefined }
  | { outline?: undefined; fault: Unreadable };

/**
 * What pipelines name in a connector profile, or why it cannot be used. A run uses the profile of its version, so
 * it must be readable.
 */
function readProfileFile(bytes: Buffer): ProfileFile {
  if (bytes.length > connectorProfileBytes) {
    const reason = `it has ${bytes.length} bytes; a connector profile has at most ${connectorProfileBytes}`;
    return { fault: { reason, line: 1 } };
  }
  const { profile, findings } = readProfileText(bytes.toString('utf8'));
  if (profile !== undefined) return { outline: outlineProfile(profile) };
  const [first = { path: '', message: 'it cannot be read' }] = findings;
  const more = findings.length === 1 ? '' : ` (and ${findings.length - 1} more)`;
  const reason = describeProfileFinding(first);
  // A fault of the syntax says where it is.
  const line = Number(/\(line (\d+) /.exec(reason)?.[1] ?? 1);
  return { fault: { reason: `${reason}${more}`, line } };
}
