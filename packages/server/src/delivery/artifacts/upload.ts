/**
 * Reading an upload: the parts of a multipart form become blobs and the entries of a manifest, one at a time; at most one file is in memory.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { canonicalManifest, type IgnoredResource } from '@headgate/contract';
import {
  MaxFileSizeExceededError,
  MaxPartsExceededError,
  MaxTotalSizeExceededError,
  MultipartParseError,
  MultipartParser,
} from '@remix-run/multipart-parser';
import { decodedContent } from '../../kernel/content-encoding.ts';
import { problem } from '../../kernel/problems.ts';
import { assetNameFault, sameNameKey } from './asset-name.ts';
import type { PipelineChecks } from './pipeline-checks.ts';
import { isPipelinePath, type PipelineDescription } from './pipeline-description.ts';

export interface UploadLimits {
  parts: number;
  partBytes: number;
  requestBytes: number;
}

export interface ManifestFile {
  path: string;
  sha256: string;
  size: number;
}

export interface Upload {
  /** SHA-256 of the manifest's canonical form. */
  digest: string;
  files: ManifestFile[];
  pipelines: PipelineDescription[];
  ignored: IgnoredResource[];
}

export type KeepBlob = (digest: string, bytes: Buffer) => Promise<void>;

/** Throws the problems `unsupported-media-type`, `invalid-upload`, `invalid-asset-name` and `body-too-large`. */
export async function readUpload(
  request: IncomingMessage,
  limits: UploadLimits,
  keep: KeepBlob,
  checks: PipelineChecks,
): Promise<Upload> {
  const collected = createCollection(keep, checks);
  await eachPart(request, limits, (name, bytes) => collected.add(name, bytes));
  return collected.finish();
}

function createCollection(keep: KeepBlob, checks: PipelineChecks) {
  const files: ManifestFile[] = [];
  const pipelines: PipelineDescription[] = [];
  const ignored: IgnoredResource[] = [];
  const names = new Set<string>();

  return {
    async add(name: string, bytes: Buffer): Promise<void> {
      const key = sameNameKey(name);
      if (names.has(key))
        throw problem('invalid-asset-name', { name, reason: 'another part has the same name.' });
      names.add(key);
      const text = asText(bytes);
      if (text === undefined) {
        ignored.push({ name, reason: 'It is not a text file: its bytes are not UTF-8, or hold NUL.' });
        return;
      }
      if (isPipelinePath(name)) {
        const { pipeline, fault } = await checks.take(name, text);
        if (pipeline === undefined) {
          ignored.push({ name, reason: fault });
          return;
        }
        pipelines.push(pipeline);
      }
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      await keep(sha256, bytes);
      files.push({ path: name, sha256, size: bytes.length });
    },
    finish(): Upload {
      files.sort((one, other) => (one.path < other.path ? -1 : 1));
      const digest = createHash('sha256').update(canonicalManifest(files)).digest('hex');
      return { digest, files, pipelines, ignored };
    },
  };
}

/** Whether bytes are text is decided by the bytes (decisions.md E10): UTF-8 without NUL. */
function asText(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Calls `take` for the parts one after another, in the order of the form; the request waits meanwhile. */
async function eachPart(
  request: IncomingMessage,
  limits: UploadLimits,
  take: (name: string, bytes: Buffer) => Promise<void>,
): Promise<void> {
  const parser = new MultipartParser(boundaryOf(request), {
    maxHeaderSize: longestPartHeaderBytes,
    maxFileSize: limits.partBytes,
    maxParts: limits.parts,
    maxTotalSize: limits.requestBytes,
  });
  let received = 0;
  let partsRead = 0;
  try {
    for await (const chunk of decodedContent(request)) {
      received += chunk.length;
      if (received > limits.requestBytes)
        throw tooLarge(`a request holds ${limits.requestBytes} bytes at most`);
      for (const part of parser.write(chunk)) {
        const name = nameOf(part.headers['content-disposition']);
        const fault = assetNameFault(name);
        if (fault !== undefined) throw problem('invalid-asset-name', { name, reason: fault });
        await take(name, Buffer.concat(part.content));
        partsRead += 1;
      }
    }
    parser.finish();
  } catch (failure) {
    // What is left of the request is read and dropped, so that the client reads the answer.
    request.resume();
    throw inWords(failure, limits, partsRead);
  }
}

const longestPartHeaderBytes = 16_384;

function boundaryOf(request: IncomingMessage): string {
  const match = /^multipart\/form-data\s*;.*\bboundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(
    request.headers['content-type'] ?? '',
  );
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined)
    throw problem('unsupported-media-type', { expected: 'multipart/form-data; boundary=…' });
  return boundary;
}

/**
 * The name in a part's Content-Disposition (RFC 7578 §4.2), exactly as it was sent; only `\"` and `\\` are unescaped, so that
 * any other backslash is seen and refused.
 */
function nameOf(disposition: string | undefined): string {
  if (disposition === undefined || !/^form-data\s*(;|$)/i.test(disposition)) {
    throw problem('invalid-upload', { reason: 'a part has no `Content-Disposition: form-data` header.' });
  }
  const match = /;\s*name=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(disposition);
  return match?.[1]?.replaceAll(/\\(["\\])/g, '$1') ?? match?.[2] ?? '';
}

function inWords(failure: unknown, limits: UploadLimits, partsRead: number): unknown {
  if (failure instanceof MaxFileSizeExceededError)
    return tooLarge(`the part number ${partsRead + 1} is larger than ${limits.partBytes} bytes`);
  if (failure instanceof MaxTotalSizeExceededError)
    return tooLarge(`a request holds ${limits.requestBytes} bytes at most`);
  if (failure instanceof MaxPartsExceededError)
    return tooLarge(`an upload has ${limits.parts} parts at most`);
  if (failure instanceof MultipartParseError)
    return problem('invalid-upload', { reason: `${failure.message}.` });
  // The connection ended before the form did.
  if (failure instanceof Error && 'code' in failure && failure.code === 'ECONNRESET') {
    return problem('invalid-upload', { reason: 'the client went away.' });
  }
  return failure;
}

function tooLarge(limit: string) {
  return problem('body-too-large', { limit });
}
