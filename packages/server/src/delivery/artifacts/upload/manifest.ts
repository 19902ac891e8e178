/**
 * The list of a version's files, in chunks that versions share: if one of 2,000 files changes, only its
 * chunk is written (docs/adr/0027).
 */
import { createHash, hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { byPath, canonicalLine } from '@headgate/contract';

export interface ManifestFile {
  path: string;
  sha256: string;
  size: number;
}

export interface ManifestChunk {
  /** SHA-256, in hexadecimal, of its part of the manifest's canonical form. */
  digest: string;
  files: ManifestFile[];
}

export interface Manifest {
  /** SHA-256, in hexadecimal, of its canonical form. */
  digest: string;
  /** Sorted by path. */
  files: ManifestFile[];
  chunks: ManifestChunk[];
}

/** On average, one path of this many ends a chunk. */
const usualChunkFiles = 64;
const mostChunkFiles = 256;

/** @param files in any order; sorted here */
export function buildManifest(files: ManifestFile[]): Manifest {
  files.sort(byPath);
  const whole = createHash('sha256');
  const chunks: ManifestChunk[] = [];
  let open: ManifestFile[] = [];
  let text = '';
  for (const [index, file] of files.entries()) {
    open.push(file);
    text += canonicalLine(file);
    if (index < files.length - 1 && !isLast(file, open)) continue;
    whole.update(text);
    chunks.push({ digest: hash('sha256', text, 'hex'), files: open });
    open = [];
    text = '';
  }
  return { digest: whole.digest('hex'), files, chunks };
}

/** Whether the file ends its chunk. Adding or removing a file moves only the chunk ends beside it. */
function isLast({ path }: ManifestFile, chunk: readonly ManifestFile[]): boolean {
  return chunk.length === mostChunkFiles || crc32(path) % usualChunkFiles === 0;
}
