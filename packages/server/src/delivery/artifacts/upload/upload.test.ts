/** Each file is stored as it was sent, for any chunks of the request. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as later } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { buildMultipart, multipartBoundary, type Part } from '../../../../testing/project.ts';
import type { BlobWriter } from '../../blobs/index.ts';
import { createPipelineChecks } from '../reading/pipeline-checks.ts';
import { createPipelineReader } from '../reading/pipeline-reader.ts';
import { readUpload } from './upload.ts';

const limits = { parts: 10_000, partBytes: 8_000_000, requestBytes: 64_000_000 };
const readPipeline = createPipelineReader();

const hashBytes = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Reads the bytes of each file as late as possible. */
function createLateWriter(): BlobWriter & { kept: Map<string, string> } {
  const kept = new Map<string, string>();
  return {
    kept,
    async keep(files) {
      await later();
      for (const { digest, bytes } of files) kept.set(digest, hashBytes(bytes));
    },
    async finish() {
      const base = { removals: 0, chunks: new Set<string>(), blobs: new Set<string>() };
      return { base, unplaced: [], objects: [], stored: Promise.resolve(), markTaken: () => undefined };
    },
  };
}

/** Each chunk has its own memory, as chunks of a connection do. */
function* splitIntoChunks(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const size = Math.min(sizes[index % sizes.length] ?? 1, bytes.length - at);
    const chunk = Buffer.allocUnsafeSlow(size);
    bytes.copy(chunk, 0, at, at + size);
    yield chunk;
    at += size;
  }
}

async function upload(parts: readonly Part[], sizes: readonly number[], isCompressed: boolean) {
  const form = buildMultipart(parts);
  const headers = {
    'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
    ...(isCompressed && { 'content-encoding': 'gzip' }),
  };
  const body = isCompressed ? gzipSync(form) : form;
  const request = Object.assign(Readable.from(splitIntoChunks(body, sizes)), {
    headers,
  }) as unknown as IncomingMessage;
  const writer = createLateWriter();
  const read = await readUpload(request, limits, writer, createPipelineChecks(readPipeline, 'account'));
  return { files: read.manifest.files, ignored: read.ignored, kept: writer.kept };
}

// Some files are larger than a batch, and some are ignored.
const length = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 9_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 40_000, max: 300_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1_900_000, max: 3_000_000 }) },
);
const kinds = fc.constantFrom<('text' | 'binary')[]>('text', 'text', 'text', 'binary');

test('each file is stored as it was sent', { timeout: 600_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(length, kinds), { minLength: 1, maxLength: 60 }),
      fc.array(fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 20_000, max: 150_000 })), {
        minLength: 1,
        maxLength: 12,
      }),
      fc.boolean(),
      async (described, sizes, isCompressed) => {
        const parts = described.map(([bytes, kind], index) => ({
          name: `f${index}`,
          content: `${kind === 'binary' ? '\0' : ''}${`${index} `.repeat(bytes).slice(0, bytes)}`,
        }));
        const { files, ignored, kept } = await upload(parts, sizes, isCompressed);
        const texts = parts.filter((_, index) => described[index]?.[1] === 'text');
        assert.equal(ignored.length, parts.length - texts.length);
        assert.deepEqual(
          new Map(files.map((file) => [file.path, file.sha256])),
          new Map(texts.map(({ name, content }) => [name, hashBytes(Buffer.from(content ?? ''))])),
        );
        for (const [digest, found] of kept) assert.equal(found, digest);
        assert.deepEqual(new Set(kept.keys()), new Set(files.map((file) => file.sha256)));
      },
    ),
    { numRuns: 8 },
  );
});
