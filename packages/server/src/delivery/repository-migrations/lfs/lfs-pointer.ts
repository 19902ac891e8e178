/**
 * Pointers of Git LFS: small files in place of large ones (git-lfs docs/spec.md). A pointer names its object
 * by SHA-256 and size.
 */

export interface LfsPointer {
  oid: string;
  size: number;
}

/** A pointer is smaller than this. */
export const largestPointer = 1_024;
/** A version line, an oid line and a size line. */
export const smallestPointer = 100;

const version = /^version https?:\/\/(?:git-lfs\.github\.com|hawser\.github\.com)\/spec\/v\d+$/;

/** Undefined for any other file. */
export function parsePointer(content: Buffer): LfsPointer | undefined {
  if (content.length >= largestPointer) return undefined;
  const [first = '', ...rest] = content.toString('latin1').split('\n');
  if (!version.test(first)) return undefined;
  let oid: string | undefined;
  let size: number | undefined;
  for (const line of rest) {
    oid ??= /^oid sha256:([0-9a-f]{64})$/.exec(line)?.[1];
    const digits = /^size (\d{1,15})$/.exec(line)?.[1];
    if (digits !== undefined) size ??= Number(digits);
  }
  return oid === undefined || size === undefined ? undefined : { oid, size };
}
