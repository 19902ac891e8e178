/** Reads an upload: turns the parts of a multipart form into blobs and manifest entries as they arrive. */
import type { IncomingMessage } from 'node:http';
import { setImmediate as breath } from 'node:timers/promises';
import { decodeContent } from '../../../kernel/http/content-encoding.ts';
import { problem } from '../../../kernel/http/problems.ts';
import type { BlobWriter } from '../../blobs/index.ts';
import type { PipelineChecks } from '../reading/pipeline-checks.ts';
import { createCollection, type Upload } from './collection.ts';
import { createFormParser, type FormPart } from './form-parser.ts';
import { createTooLargeProblem, createUnreadableProblem } from './form-problems.ts';
import { isGitFile } from './git-files.ts';

export interface UploadLimits {
  parts: number;
  partBytes: number;
  requestBytes: number;
}

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
  const collected = createCollection(writer, checks);
  await readParts(request, limits, (name, bytes) => collected.add(name, bytes));
  return collected.finish();
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
